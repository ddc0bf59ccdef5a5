"""Elementwise operators of two inputs as calls of a C function, row by row."""

from collections.abc import Sequence

from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, Table, address, broadcast, input_names
from ethosgen.values.network import Tensor

LEAST_ROW = 8
"""Least elements of a row for which a call is faster."""


def rows_of_two(
    function: str,
    tensors: tuple[Tensor, Tensor, Tensor],
    shapes: Sequence[tuple[int, ...]],
    constant: tuple[str, Table],
    files: frozenset[str],
) -> Kernel:
    """Return a call for each row of the output; both inputs and it have merged `shapes`."""
    nest, full = Nest(), shapes[-1]
    views = [
        nest.read(name, tensor, shape)
        for name, tensor, shape in zip(input_names(2), tensors[:2], shapes[:2], strict=True)
    ]
    y = nest.write("output", tensors[2], full)
    (table,) = nest.tables(dict([constant]))
    with nest.loops(full[:-1]) as index:
        places = [
            address(view, *broadcast((*index, 0), shape))
            for view, shape in zip((y, *views), (full, *shapes[:2]), strict=True)
        ]
        nest.call(function, *places, full[-1], table)
    return nest.kernel(files)
