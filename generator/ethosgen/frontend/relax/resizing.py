"""Resizing of planes."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import Value
from ethosgen.frontend.relax.layers import spatial
from ethosgen.frontend.relax.pools import placed
from ethosgen.frontend.relax.site import NoIntegerForm, Site, translates
from ethosgen.values.errors import UnsupportedError

_LINEAR = {
    "half_pixel": (False, True),
    "pytorch_half_pixel": (False, True),
    "align_corners": (True, False),
    "asymmetric": (False, False),
}
"""align_corners and half_pixel_centers of TFLite by the coordinates' name in ONNX."""
_MOST_STEPS = 255
"""The largest difference of two elements in int8."""
_FLAGS = ((False, False), (False, True), (True, False))


@translates("image.resize2d")
def resize(site: Site) -> Value:
    """Translate to RESIZE_BILINEAR or RESIZE_NEAREST_NEIGHBOR; GATHER for other neighbours.

    In int8, TensorFlow Lite rounds the distance between results to 1/1024 of an element, so the
    error of a position grows along an axis. If that could change a result by half a step, the
    operator stays in float32.
    """
    attributes = site.attributes
    layout = str(attributes.layout)
    is_linear = str(attributes.method) == "linear"
    operand = site.value(0)
    if is_linear and operand.dtype == "int16":
        if site.is_quantized:
            raise NoIntegerForm("RESIZE_BILINEAR of int16 interpolates with 10 bits")
        operand = site.draft.real(operand)
    source = spatial(site, operand, layout)
    target = [site.shape[layout.index(letter)] for letter in "HW"]
    sizes = source.shape[1:3]
    if is_linear:
        flags = _linear(str(attributes.coordinate_transformation_mode), sizes, target)
        if site.is_quantized and _error(sizes, target, flags[0]) * _MOST_STEPS >= Fraction(1, 2):
            raise NoIntegerForm("RESIZE_BILINEAR of int8 rounds positions to 10 bits")
        return _resized(site, "RESIZE_BILINEAR", source, target, flags)
    if str(attributes.method) != "nearest_neighbor":
        raise UnsupportedError(f"its interpolation is {attributes.method}")
    maps = [_nearest(site, size, out) for size, out in zip(sizes, target, strict=True)]
    for flags in _FLAGS:
        theirs = [_tflites(size, out, flags) for size, out in zip(sizes, target, strict=True)]
        if all(np.array_equal(a, b) for a, b in zip(maps, theirs, strict=True)):
            return _resized(site, "RESIZE_NEAREST_NEIGHBOR", source, target, flags)
    return _gathered(site, source, maps, layout)


def _linear(mode: str, sizes: Sequence[int], target: Sequence[int]) -> tuple[bool, bool]:
    if mode not in _LINEAR:
        raise UnsupportedError(f"its coordinates are {mode}")
    if mode == "pytorch_half_pixel" and 1 in target:
        raise UnsupportedError("its coordinates are pytorch_half_pixel, and its result of size 1")
    if tuple(sizes) == tuple(target):
        return False, False
    return _LINEAR[mode]


def _error(sizes: Sequence[int], target: Sequence[int], align_corners: bool) -> Fraction:
    """Return the largest error of a position in int8, both axes together, in elements.

    TensorFlow Lite, kernels/internal/reference/resize_bilinear.h, has distances of 10 bits.
    """
    error = Fraction()
    for size, out in zip(sizes, target, strict=True):
        few = int(align_corners and out > 1)
        distance = Fraction(size - few, out - few)
        error += (out - 1) * abs(distance - Fraction(round(distance * 1024), 1024))
    return error


def _resized(
    site: Site, code: str, source: Value, target: Sequence[int], flags: tuple[bool, bool]
) -> Value:
    options = dict(zip(("align_corners", "half_pixel_centers"), flags, strict=True))
    size = site.draft.add_constant(np.array(target, np.int32))
    layout = str(site.attributes.layout)
    shape = (source.shape[0], *target, source.shape[3])
    resized = site.draft.add_operator(
        code, (source.tensor, size), shape, source.dtype, source.scale, options
    )
    return placed(site, resized, source, layout)


def _gathered(site: Site, source: Value, maps: Sequence[Any], layout: str) -> Value:
    operand = source
    for axis, places in zip((1, 2), maps, strict=True):
        shape = list(operand.shape)
        shape[axis] = len(places)
        index = site.draft.add_constant(places.astype(np.int32))
        options = {"axis": axis, "batch_dims": 0}
        inputs = (operand.tensor, index)
        gathered = site.draft.add_operator(
            "GATHER", inputs, shape, source.dtype, source.scale, options
        )
        operand = replace(gathered, is_real=source.is_real)
    return placed(site, operand, source, layout)


def _nearest(site: Site, size: int, out: int) -> Any:
    """Return each element's neighbour, as ONNX defines it."""
    mode = str(site.attributes.coordinate_transformation_mode)
    places = np.arange(out, dtype=np.float32)
    ratio = np.float32(size) / np.float32(out)
    if mode in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"):
        at = (places + np.float32(0.5)) * ratio - np.float32(0.5)
        if mode == "pytorch_half_pixel" and out == 1:
            at = np.zeros_like(places)
    elif mode == "align_corners":
        at = places * np.float32(size - 1) / np.float32(max(out - 1, 1))
    elif mode == "asymmetric":
        at = places * ratio
    else:
        raise UnsupportedError(f"its coordinates are {mode}")
    rounding = str(site.attributes.rounding_method)
    if rounding not in _ROUNDINGS:
        raise UnsupportedError(f"its neighbours are rounded by {rounding}")
    return np.clip(_ROUNDINGS[rounding](at), 0, size - 1).astype(np.int64)


_ROUNDINGS: dict[str, Any] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "round_prefer_floor": lambda at: np.ceil(at - np.float32(0.5)),
    "round_prefer_ceil": lambda at: np.floor(at + np.float32(0.5)),
}


def _tflites(size: int, out: int, flags: tuple[bool, bool]) -> Any:
    """Return each element's neighbour, as TFLite's operator takes it."""
    aligned, half = flags
    between = aligned and out > 1
    ratio = np.float32(size - 1 if between else size) / np.float32(out - 1 if between else out)
    at = (np.arange(out, dtype=np.float32) + np.float32(0.5 if half else 0.0)) * ratio
    rounded = np.floor(at + np.float32(0.5)) if aligned else np.floor(at)
    return np.clip(rounded, 0, size - 1).astype(np.int64)
