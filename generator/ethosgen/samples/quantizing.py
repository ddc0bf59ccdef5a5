"""Quantizes floats as TFLite does, and the reverse."""

from typing import Any

import numpy as np

from ethosgen.values.errors import InputError
from ethosgen.values.network import Tensor

Array = np.ndarray[Any, Any]


def quantized(array: Array, tensor: Tensor) -> Array:
    """Return floats in a tensor's integer type; an array of its own type is returned unchanged.

    Like TFLite's QUANTIZE: the quotient in float32, rounded to the nearest integer, halves away
    from zero, plus the zero point, saturated (TFLite's cast leaves values beyond int32 undefined;
    they saturate here). InputError for NaN, for other integers, or for a tensor without a scale.
    """
    if array.dtype == np.dtype(tensor.dtype):
        return array
    if array.dtype.kind != "f":
        raise InputError(
            f"input '{tensor.name}' is {array.dtype}, but must be {tensor.dtype}, or floats to "
            "quantize"
        )
    if np.dtype(tensor.dtype).kind == "f":
        return array.astype(tensor.dtype)
    if np.isnan(array).any():
        raise InputError(f"input '{tensor.name}' has NaN, which cannot be quantized; remove it")
    scale, zero_point = _scale_of(tensor)
    quotient = array.astype(np.float32) / np.float32(scale)
    whole = np.trunc(quotient)
    with np.errstate(invalid="ignore"):  # infinity minus infinity; it saturates
        away = np.abs(quotient - whole) >= 0.5
    rounded = whole.astype(np.float64) + np.where(away, np.sign(quotient), 0) + zero_point
    limits = np.iinfo(tensor.dtype)
    return np.asarray(np.clip(rounded, limits.min, limits.max), tensor.dtype)


def real(array: Array, tensor: Tensor) -> Array:
    """Return the values that a tensor's integers represent; floats are returned unchanged."""
    if np.dtype(tensor.dtype).kind == "f":
        return array
    scale, zero_point = _scale_of(tensor)
    return np.asarray((array.astype(np.float64) - zero_point) * scale)


def _scale_of(tensor: Tensor) -> tuple[float, int]:
    quantization = tensor.quantization
    if quantization is None or not quantization.is_per_tensor:
        raise InputError(
            f"'{tensor.name}' has no scale, so floats cannot be quantized for it; pass "
            f"{tensor.dtype} data"
        )
    return quantization.scale[0], quantization.zero_point[0]
