"""TFLite's rescaling parameters: multipliers and shifts, and the bounds of activations.

Formulas are those of TFLite's kernels/internal (quantization_util.cc) and kernel_util.cc.
"""

import math
from dataclasses import dataclass

import numpy as np

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

RANGES: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
"""Lower and upper bound of each fused activation, None if unbounded."""


@dataclass(frozen=True)
class Multiplier:
    """A positive factor `mantissa` * 2**(`shift` - 31), mantissa in [2**30, 2**31)."""

    mantissa: int
    shift: int


def scale_of(tensor: Tensor) -> float:
    """Return a tensor's only scale; UnsupportedError if it has none or several."""
    quantization = tensor.quantization
    if quantization is None or not quantization.scale:
        raise UnsupportedError(
            f"tensor '{tensor.name}' is {tensor.dtype} without a scale, and this operator computes "
            f"with real values; quantize the network, so that its tensors have scales"
        )
    if len(quantization.scale) != 1:
        raise UnsupportedError(f"tensor '{tensor.name}' must have exactly one scale")
    return quantization.scale[0]


def zero_point_of(tensor: Tensor) -> int:
    """Return a tensor's only zero point; UnsupportedError if it has none or several."""
    scale_of(tensor)
    return tensor.first_zero_point


def limits(dtype: str) -> tuple[int, int]:
    """Return the smallest and largest value of an integer type."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def quantize_multiplier(real: float) -> Multiplier:
    """Return a float as mantissa and shift (QuantizeMultiplier).

    UnsupportedError if TFLite would shift an int32 by more than 31 bits.
    """
    if real == 0:
        return Multiplier(0, 0)
    fraction, shift = math.frexp(real)
    mantissa = _round_half_away(fraction * (1 << 31))
    if mantissa == 1 << 31:
        mantissa //= 2
        shift += 1
    if shift > 31:
        raise UnsupportedError(
            f"its output scale is too small: values are multiplied by {real:.0e}, for which TFLite "
            "shifts an int32 left by more than 31 bits, which is undefined in C"
        )
    return Multiplier(0, 0) if shift < -31 else Multiplier(mantissa, shift)


def activation_range(operator: Operator, output: Tensor) -> tuple[int, int]:
    """Return the bounds of a fused activation (CalculateActivationRangeQuantized)."""
    low, high = limits(output.dtype)
    lower, upper = real_bounds(operator)
    if lower is not None:
        low = max(low, quantize(lower, output))
    if upper is not None:
        high = min(high, quantize(upper, output))
    return low, high


def plain_range(op: Operator, dtype: str) -> tuple[float, float]:
    """Return the bounds of a fused activation for int32 or float32 (CalculateActivationRange)."""
    info = np.finfo(dtype) if dtype == "float32" else np.iinfo(dtype)
    low, high = real_bounds(op)
    return (
        float(info.min) if low is None else low,
        float(info.max) if high is None else high,
    )


def real_bounds(op: Operator) -> tuple[float | None, float | None]:
    """Return the real bounds of a fused activation; UnsupportedError if it is unknown."""
    activation = str(op.options.get("fused_activation_function", "NONE"))
    if activation not in RANGES:
        raise UnsupportedError(f"the fused activation {activation} is unknown")
    return RANGES[activation]


def quantize(real: float, tensor: Tensor) -> int:
    """Return a float's quantized value, unclamped, as TFLite computes it in single precision."""
    quotient = np.float32(real) / np.float32(scale_of(tensor))
    return zero_point_of(tensor) + _round_half_away(float(quotient))


def _round_half_away(real: float) -> int:
    return int(math.copysign(math.floor(abs(real) + 0.5), real))
