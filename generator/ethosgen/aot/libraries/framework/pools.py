"""Pools as calls of a C function, window by window."""

from collections.abc import Sequence
from typing import Protocol

from tvm import tirx

from ethosgen.aot.loops.window import pool_bounds, pool_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.structs import Struct
from ethosgen.values.network import Operator, Tensor


class MakePool(Protocol):
    """A library's struct of a pool; `row_step` is from a row of the input to the next."""

    def __call__(self, *, row_step: int, channels: int, low: int, high: int) -> Struct:
        """Return the struct."""


def windows(
    function: str,
    make_pool: MakePool,
    files: frozenset[str],
    op: Operator,
    tensors: Sequence[Tensor],
) -> Kernel:
    """Return a kernel that calls a micro-kernel for each output pixel."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    vertical, horizontal = pool_window(op, tensors)
    _, _, width, channels = source.shape
    low, high = pool_bounds(op, tensors)
    pool = make_pool(row_step=width * channels, channels=channels, low=low, high=high)
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    shape = nest.table("shape", pool)
    with nest.loops(target.shape[:3]) as (n, oy, ox):
        (top, bottom), (left, right) = vertical.inside(oy), horizontal.inside(ox)
        first = x[n, vertical.position(oy, top), horizontal.position(ox, left), 0]
        ends = tirx.address_of(y[n, oy, ox, 0]), tirx.address_of(first)
        nest.call(function, *ends, bottom - top, right - left, shape.data)
    return nest.kernel(files)
