"""Pools of float32, and MEAN over height and width."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.floats import cost, order
from ethosgen.aot.libraries.floats.matrix import two_forms
from ethosgen.aot.libraries.floats.shapes import FloatPool
from ethosgen.aot.libraries.framework.calls import pixels
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.loops.window import pool_window
from ethosgen.aot.operators.blocks import constant
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, address
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor
from ethosgen.values.rescaling import plain_range

FILES = frozenset({"ethosgen_pool_f32.c"})
PIXEL = 60
"""Instructions of an output pixel outside the loop over channels."""
BLOCK = {cost.HELIUM: (40, 10, 6.0), cost.IN_C: (40, 5, 18.0)}
"""Instructions of 4 channels of a pixel: by themselves, for a row of a window, and an element."""


def _pixel(by: cost.Figures, channels: int, height: int, width: int) -> float:
    once, row, element = BLOCK[by]
    return PIXEL + pieces(channels, order.BLOCK) * (once + height * (row + width * element))


def _pool(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    target = tensors[op.outputs[0]]
    taps = int(op.options["filter_height"]), int(op.options["filter_width"])
    channels = target.shape[-1]
    return target.elements / channels * _pixel(by, channels, *taps)


@packed("AVERAGE_POOL_2D", dtype="float32", cycles=two_forms(_pool))
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Average the part of the window inside the input."""
    return _windows("ethosgen_average_pool_f32", op, tensors)


@packed("MAX_POOL_2D", dtype="float32", cycles=two_forms(_pool))
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the largest element in the part of the window inside the input."""
    return _windows("ethosgen_max_pool_f32", op, tensors)


def _shape(width: int, channels: int) -> FloatPool:
    return FloatPool(channels=channels, tap_floats=channels, row_floats=width * channels)


def _windows(function: str, op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    _, _, width, channels = source.shape
    nest = Nest()
    views = nest.read("input", source), nest.write("output", target)
    bounds = np.array(plain_range(op, "float32"), np.float32)
    tables = nest.tables({"bounds": bounds, "shape": _shape(width, channels)})
    with pixels(nest, target, pool_window(op, tensors), views, "n oy ox") as pixel:
        nest.call(function, *pixel.ends, *pixel.taps, *tables)
    return nest.kernel(FILES)


def _reduced(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    batches, height, width, channels = (1, 1, 1, *tensors[op.inputs[0]].shape)[-4:]
    return batches * _pixel(by, channels, height, width)


@packed("MEAN", dtype="float32", cycles=two_forms(_reduced))
def mean(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average all pixels of a picture; other axes have no kernel."""
    source, axes, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    if len(source.shape) != 4 or axes.data is None or target.dtype != source.dtype:
        return None
    if sorted({int(axis) % 4 for axis in constant(axes, "axes").flat}) != [1, 2]:
        return None
    batches, height, width, channels = source.shape
    if not (height * width * channels and target.elements == batches * channels):
        return None
    nest = Nest()
    x = nest.read("input", source)
    y = nest.write("output", target, (batches, channels))
    bounds = np.array((-np.inf, np.inf), np.float32)
    tables = nest.tables({"bounds": bounds, "shape": _shape(width, channels)})
    with nest.loop("n", batches) as n:
        ends = address(y, n, 0), address(x, n, 0, 0, 0)
        nest.call("ethosgen_average_pool_f32", *ends, height, width, *tables)
    return nest.kernel(FILES)
