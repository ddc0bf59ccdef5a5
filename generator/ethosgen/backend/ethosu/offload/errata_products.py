"""Errata of matrix products whose scales Vela multiplies in single precision.

Regor does so for BATCH_MATMUL, and for FULLY_CONNECTED whose weights have one scale
(compiler/tflite_graph_optimiser.cpp, ConvertQuantizationToExplicit; tflite/tflite_scaling.cpp).
TFLite Micro multiplies them in double precision. The factors nearly always differ, in their last
bits; results differ only where a sum is next to a bound between two of them.
"""

import numpy as np

from ethosgen.backend.ethosu.offload.rewording import products_weights
from ethosgen.backend.ethosu.offload.rounding import Array, Factor, differ, factor_of
from ethosgen.backend.ethosu.offload.site import OperatorSite, reach_of, scale_of

_LIMIT_32 = (1 << 31) - 1
_BESIDE = np.arange(-4, 5)
"""Two roundings move a bound by at most two sums."""


def connects_in_single(site: OperatorSite) -> bool:
    """Return whether single precision changes a result of a FULLY_CONNECTED.

    Constant weights that nothing else reads have a scale for each channel when Vela gets them
    (rewording.py), and Vela multiplies these in double precision.
    """
    if site.code != "FULLY_CONNECTED":
        return False
    weights = site.inputs[1]
    known = weights.quantization
    if known is None or not known.is_per_tensor or weights.index in products_weights(site.graph):
        return False
    return _differs(site, weights.shape[-1])


def multiplies_in_single(site: OperatorSite) -> bool:
    """Return whether single precision changes a result of a BATCH_MATMUL."""
    if site.code != "BATCH_MATMUL":
        return False
    return _differs(site, site.inputs[0].shape[-2 if site.operator.options.get("adj_x") else -1])


def _differs(site: OperatorSite, depth: int) -> bool:
    """Return whether some sum of this many products has another result in single precision."""
    x, y = site.inputs[:2]
    if x.dtype not in ("int8", "int16") or site.dtype != x.dtype:
        return False
    x_scale, other = np.float32(scale_of(x)), np.float32(scale_of(y))
    over = float(np.float32(scale_of(site.output)))
    in_double = factor_of(float(x_scale) * float(other) / over)
    in_single = factor_of(float(np.float32(x_scale * other)) / over)
    if x.dtype == "int16":  # both then take the mantissa's upper 16 bits
        return _reduced(in_double) != _reduced(in_single)
    reach = min(depth * reach_of(x) * reach_of(y) + _largest_bias(site), _LIMIT_32)
    most = int(np.iinfo(site.dtype).max) - int(np.iinfo(site.dtype).min) + 1
    return differ(_sums_at_bounds(in_double, most, reach), in_double, in_single, most)


def _sums_at_bounds(factor: Factor, most: int, reach: int) -> Array:
    """Return the sums of at most `reach` next to the bounds of results up to `most`."""
    mantissa, shift = factor
    bounds = (np.arange(-most, most) + 0.5) / np.ldexp(float(mantissa), shift - 31)
    bounds = np.round(bounds[abs(bounds) <= reach + _BESIDE[-1]]).astype(np.int64)
    sums = (bounds[:, np.newaxis] + _BESIDE).reshape(-1)
    return np.asarray(sums[abs(sums) <= reach])


def _largest_bias(site: OperatorSite) -> int:
    if site.code != "FULLY_CONNECTED" or len(site.inputs) < 3:
        return 0
    bias = site.inputs[2]
    return (
        _LIMIT_32 if bias.data is None else int(abs(bias.array().astype(np.int64)).max(initial=0))
    )


def _reduced(factor: Factor) -> tuple[int, int]:
    return min((factor[0] + (1 << 15)) >> 16, 0x7FFF), factor[1]
