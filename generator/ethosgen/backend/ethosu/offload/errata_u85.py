"""Conditions of errata on U85: comparisons and DIV, which only U85 runs, and scales.

TFLite scales quantized operands before it compares them: it shifts them left by 8 bits, multiplies
them by their scale and rounds twice (comparisons.h, left_shift = 8). Regor takes 8 from the shift
instead, but leaves the first rounding in place, so it is coarser by 8 bits.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.backend.ethosu.offload.errata_conditions import is_u85
from ethosgen.backend.ethosu.offload.errata_rescaling import sums_32_bits
from ethosgen.backend.ethosu.offload.rounding import Array, double_factor, rescaled
from ethosgen.backend.ethosu.offload.site import OperatorSite, scale_of, stored_values
from ethosgen.values.network import Tensor

COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
_COPIES = frozenset(
    """
    REVERSE_V2 TILE SLICE STRIDED_SLICE CONCATENATION PAD PADV2 PACK UNPACK SPLIT SPLIT_V RESHAPE
    SQUEEZE EXPAND_DIMS
    """.split()
)
_QUANTIZED = ("int8", "uint8", "int16")
_LEFT_SHIFT = 8
_MANTISSA_BITS = 31
_STORED = 1 << 15
_MOVING_GAP = 2
"""Rows or columns between two windows; half of fewer is 0."""
_INPUTS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 0, "FULLY_CONNECTED": 0, "TRANSPOSE_CONV": 2}
"""The position of a layer's input; a bias comes last."""
_MOST_PAIRS = 1 << 16
"""Most pairs of values to compare one by one."""
_MOST_STRIDE = 3
"""The longest stride of the NPU; Regor makes several operations of a longer one."""


def compares_otherwise(site: OperatorSite) -> bool:
    """Return whether rounding changes a comparison of two values that the inputs can have."""
    if not is_u85(site) or site.code not in COMPARISONS or _is_stored(site):
        return False
    if site.inputs[0].dtype not in _QUANTIZED:
        return False
    values = [stored_values(tensor) for tensor in site.inputs]
    theirs, ours = (
        [scale(v, t) for v, t in zip(values, site.inputs, strict=True)]
        for scale in (_scaled_by_tflite, scaled_by_regor)
    )
    if values[0].size * values[1].size > _MOST_PAIRS:
        return any(not np.array_equal(a, b) for a, b in zip(theirs, ours, strict=True))
    first, second = (np.sign(np.subtract.outer(*pair)) for pair in (theirs, ours))
    return not np.array_equal(first, second)


def scales_16_bits(site: OperatorSite) -> bool:
    """Return whether scales change the order of stored 16-bit values, which TFLite compares."""
    if not is_u85(site) or not _is_stored(site):
        return False
    x, y = site.inputs
    scaled = scaled_by_regor(np.arange(-_STORED, _STORED), x)
    return scale_of(x) != scale_of(y) or not np.diff(scaled).all()


def scales_integers(site: OperatorSite) -> bool:
    """Return whether a comparison in int32 has operands of different scales, or only one scale."""
    if not is_u85(site) or site.code not in COMPARISONS or site.inputs[0].dtype != "int32":
        return False
    first, second = (tensor.scales for tensor in site.inputs)
    return first != second


def _is_stored(site: OperatorSite) -> bool:
    """Return whether TFLite compares stored values: LiteRT does so for the order of int16."""
    return site.code in COMPARISONS[2:] and site.inputs[0].dtype == "int16"


def divides_stored_values(site: OperatorSite) -> bool:
    """Return whether the operator is a DIV of quantized tensors."""
    return is_u85(site) and site.code == "DIV" and site.dtype in _QUANTIZED


def clips_wide_quotient(site: OperatorSite) -> bool:
    """Return whether the operator is a DIV of int32 whose RELU has no upper bound."""
    activation = site.operator.options.get("fused_activation_function")
    return is_u85(site) and site.code == "DIV" and site.dtype == "int32" and activation == "RELU"


def scales_quotient(site: OperatorSite) -> bool:
    """Return whether a DIV of int32 has an operand with a scale, and a quotient without one."""
    if not is_u85(site) or site.code != "DIV" or site.dtype != "int32" or site.output.scales:
        return False
    return any(tensor.scales not in ((), (1.0,)) for tensor in site.inputs)


def truncates_scale(site: OperatorSite) -> bool:
    """Return whether a layer with int16 inputs has a 32-bit bias, even if only a declared one."""
    if not is_u85(site) or site.code not in _INPUTS:
        return False
    position = _INPUTS[site.code]
    has_bias = site.inputs[-1].dtype == "int32" or sums_32_bits(site)
    return site.inputs[position].dtype == "int16" and has_bias


def moves_small_window(site: OperatorSite) -> bool:
    """Return whether a TRANSPOSE_CONV leaves two rows or columns or more between its windows.

    TFLite crops the output by the windows' overlap, at least 0 (padding.h, ComputePadding). Regor
    sets no limit, so half of the gap comes before the first window.
    """
    if not is_u85(site) or site.code != "TRANSPOSE_CONV":
        return False
    options, kernel = site.operator.options, site.inputs[1].shape[1:3]
    strides = options["stride_h"], options["stride_w"]
    gaps = [stride - size for stride, size in zip(strides, kernel, strict=True)]
    is_same: bool = options.get("padding", "SAME") == "SAME"
    return is_same and any(gap >= _MOVING_GAP for gap in gaps)


def pools_on_accumulators(site: OperatorSite) -> bool:
    """Return whether a padded maximum has a stride of more than 3.

    Regor emits a maximum for each place within the window, on the accumulators of the ones before.
    Without padding it emits one for each window. A stride has no effect along a single output.
    """
    if not is_u85(site) or site.code not in ("MAX_POOL_2D", "TOSA_MAX_POOL2D"):
        return False
    sizes = zip(site.output.shape[1:3], _pool_strides(site), strict=True)
    return any(n > 1 and stride > _MOST_STRIDE for n, stride in sizes) and _pads_pool(site)


def _pool_strides(site: OperatorSite) -> tuple[int, int]:
    options = site.operator.options
    return tuple(options["stride"]) if "stride" in options else _of_axes(site, "stride_{}", "hw")


def _pads_pool(site: OperatorSite) -> bool:
    options = site.operator.options
    if "pad" in options:
        return any(options["pad"])
    kernel = _of_axes(site, "filter_{}", ("height", "width"))
    shapes = site.inputs[0].shape[1:3], site.output.shape[1:3]
    axes = zip(*shapes, kernel, _pool_strides(site), strict=True)
    return any((after - 1) * stride + size > before for before, after, size, stride in axes)


def _of_axes(site: OperatorSite, option: str, names: Sequence[str]) -> tuple[int, int]:
    """Return an option of both axes, given the parts of its name for height and width."""
    options = site.operator.options
    return options[option.format(names[0])], options[option.format(names[1])]


def copies_int64(site: OperatorSite) -> bool:
    """Return whether the operator is a copy of int64 that Regor computes with accumulators."""
    return is_u85(site) and site.code in _COPIES and site.dtype == "int64"


def selects_rows(site: OperatorSite) -> bool:
    """Return whether the condition of a SELECT has an element for each row of the values."""
    if site.code != "SELECT":
        return False
    condition, values = site.inputs[:2]
    return is_u85(site) and 1 == len(condition.shape) < len(values.shape)


def concerns_no_operator(_site: OperatorSite) -> bool:
    """Return False: the erratum is in the stream, and other options of Vela avoid it."""
    return False


def scaled_by_regor(values: Array, tensor: Tensor) -> Array:
    """Return stored values as the NPU compares them (Regor, graphir_optimiser.cpp, Scale)."""
    mantissa, exponent = double_factor(scale_of(tensor), over=1.0)
    shift = _MANTISSA_BITS - exponent - _LEFT_SHIFT
    wide = values.astype(np.int64) - tensor.first_zero_point
    first = 1 << (_MANTISSA_BITS - 1) if shift > _MANTISSA_BITS else 0
    rounds = (1 << (shift - 1)) + np.where(wide < 0, -first, first)
    return np.asarray((wide * mantissa + rounds) >> shift)


def _scaled_by_tflite(values: Array, tensor: Tensor) -> Array:
    wide = values.astype(np.int64) - tensor.first_zero_point << _LEFT_SHIFT
    return rescaled(wide, double_factor(scale_of(tensor), over=1.0))
