"""Regor's format of tensor scales: a signed 32-bit mantissa and a right shift of up to 63.

Source: common/scaling.cpp, QuantizedScale, to which tflite_reader.cpp converts every scale.
"""

import math
from collections.abc import Iterator

import numpy as np

from ethosgen.backend.ethosu.offload.site import OperatorSite, scale_of

_MOST_SHIFT = 63
_QUANTIZED = ("int8", "uint8", "int16")
_SMALLEST_FACTOR = 2.0**-32
"""TFLite Micro replaces smaller multipliers of sums by 0 (QuantizeMultiplier). On the NPU a 32-bit
sum times such a multiplier rounds to 0 as well."""


def held_scale(scale: float) -> float:
    """Return Regor's value of a finite scale.

    From 2**31 to 2**32 it shifts the mantissa's highest bit into the sign.
    """
    fraction, exponent = math.frexp(scale)
    mantissa, shift = math.floor(fraction * 2.0**31 + 0.5), 31 - exponent
    if shift > _MOST_SHIFT:
        mantissa, shift = mantissa >> (shift - _MOST_SHIFT), _MOST_SHIFT
    elif shift < 0 and mantissa < 2.0 ** (shift + 32):
        mantissa, shift = _signed(mantissa << -shift), 0
    return math.ldexp(mantissa, -shift)


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >= 1 << 31 else bits


def loses_scale(site: OperatorSite) -> bool:
    """Return whether Regor's value of a scale that affects an operator's result is wrong."""
    scales = (float(np.float32(scale)) for scale in _deciding(site))  # as in the file
    return any(held_scale(scale) != scale for scale in scales if math.isfinite(scale))


def _deciding(site: OperatorSite) -> Iterator[float]:
    """Yield the scales of an operator's inputs and outputs, except biases.

    A constant's scale that is too small to change the output is omitted: converters write such
    scales for channels whose weights are all 0.
    """
    tensors = [*site.inputs, *(site.graph.tensors[i] for i in site.operator.outputs)]
    quantized = [t for t in tensors if t.dtype in _QUANTIZED and t.quantization]
    gain = max((scale_of(t) for t in quantized if t.data is None), default=1.0)
    gain = max(1.0, gain) / scale_of(site.output)
    for tensor in quantized:
        for scale in tensor.scales:
            if tensor.data is None or scale * gain >= _SMALLEST_FACTOR:
                yield scale
