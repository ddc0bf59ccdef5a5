"""BATCH_MATMUL as products of matrices."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

from ethosgen.aot.loops.layer import multipliers_of
from ethosgen.aot.operators.matmul import full_shape, product_sizes
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, address, broadcast
from ethosgen.aot.tir.quantization import limits, zero_point_of
from ethosgen.aot.tir.structs import Struct
from ethosgen.values.network import Operator, Tensor

PRODUCT = frozenset({"ethosgen_product.c"})
BLOCK = 4
"""Columns that the kernel multiplies at a time."""
MOST_TURNED = 8192
"""Bytes of a row in a matrix that can be turned: 8 rows of them are within an offset of 16 bits."""


class OutputRange(Struct, name="ethosgen_output"):
    """The zero point and the bounds of a layer's outputs."""

    zero_point: int
    low: int
    high: int


class MatrixProduct(Struct, name="ethosgen_product"):
    """The product of two matrices computed at run time: `rows` times `columns` vectors of `depth`
    bytes.

    Byte k of column c of the second is at c * column_step + k * step.
    """

    rows: int
    depth: int
    columns: int
    column_step: int
    step: Annotated[int, "at most 8192"]
    first_zero_point: int
    second_zero_point: int
    mantissa: int
    shift: Annotated[int, "0 or negative"]
    output: OutputRange


@dataclass(frozen=True)
class Matrices:
    """The operands of a BATCH_MATMUL, and the number and sizes of its products.

    `has_columns` means that the rows of the first matrix are stored as columns, `has_rows` that the
    columns of the second are stored as rows.
    """

    first: Tensor
    second: Tensor
    target: Tensor
    batches: tuple[int, ...]
    rows: int
    columns: int
    depth: int
    has_columns: bool
    has_rows: bool

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to multiply."""
        return min(self.target.elements, self.depth) == 0

    def each(self, cycles: float) -> float:
        """Return the cycles for each output, from the cycles of a product."""
        return prod(self.batches) * cycles / max(self.target.elements, 1)

    @contextmanager
    def products(
        self, nest: Nest, struct: Struct, declare: Callable[[Any], list[Any]] = lambda _: []
    ) -> Iterator[tuple[list[Any], list[Any]]]:
        """Open loops over the products.

        Yield the addresses of outputs and both matrices, the pointers to temporary memory that
        `declare` returns, and the pointer to the struct.
        """
        leads = [_leading(tensor, self.batches) for tensor in (self.first, self.second)]
        a = nest.read("first", self.first, (*leads[0], self.rows * self.depth))
        b = nest.read("second", self.second, (*leads[1], self.columns * self.depth))
        shape = nest.table("shape", struct)
        y = nest.write("output", self.target, (*self.batches, self.rows * self.columns))
        constants = [*declare(y), shape.data]
        with nest.loops(self.batches) as batch:
            operands = [
                address(matrix, *broadcast(batch, lead), 0)
                for matrix, lead in zip((a, b), leads, strict=True)
            ]
            yield [address(y, *batch, 0), *operands], constants


def room_of(nest: Nest, count: int) -> Callable[[Any], list[Any]]:
    """Return a function that declares this many bytes as a kernel's only temporary memory."""
    return lambda _output: [nest.room("room", count).data]


def read_matrices(op: Operator, tensors: Sequence[Tensor]) -> Matrices:
    """Return the operands of a BATCH_MATMUL.

    If all batches have the same second matrix, their rows become those of one product.
    """
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    batches, (rows, columns, depth) = product_sizes(op, first, second, target)
    stored = bool(op.options.get("adj_x")), bool(op.options.get("adj_y"))
    if prod(second.shape[:-2]) <= 1 and not stored[0]:
        batches, rows = (), rows * prod(batches)
    return Matrices(first, second, target, batches, rows, columns, depth, *stored)


def _leading(tensor: Tensor, batches: tuple[int, ...]) -> tuple[int, ...]:
    """Return the leading dimensions of all batches."""
    return full_shape(tensor, len(batches))[:-2] if batches else ()


def product_kernel(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call."""
    matrices = read_matrices(op, tensors)
    if matrices.second.dtype != "int8":
        return None
    rows, depth, columns = matrices.rows, matrices.depth, matrices.columns
    (multiplier,) = multipliers_of(matrices.first, matrices.second, matrices.target)
    steps = (depth, 1) if matrices.has_rows else (1, columns)
    widest = max(steps[1], rows if matrices.has_columns else 1)
    if multiplier.shift > 0 or matrices.is_empty or widest > MOST_TURNED:
        return None
    low, high = limits("int8")
    product = MatrixProduct(
        rows=rows,
        depth=depth,
        columns=columns,
        column_step=steps[0],
        step=steps[1],
        first_zero_point=zero_point_of(matrices.first),
        second_zero_point=zero_point_of(matrices.second),
        mantissa=multiplier.mantissa,
        shift=multiplier.shift,
        output=OutputRange(zero_point=zero_point_of(matrices.target), low=low, high=high),
    )
    nest = Nest()

    def declare(output: Any) -> list[Any]:
        terms = nest.workspace("terms", "int32", (rows,)).data
        # With steps of 1 there is nothing to turn.
        if steps[1] == 1:
            return [terms, output.data]
        return [terms, nest.workspace("turned", "int8", (BLOCK * depth,)).data]

    with matrices.products(nest, product, declare) as (places, constants):
        place, left, right = places
        if matrices.has_columns:
            left = turned_matrix(nest, "first_turned", left, (depth, rows))
        nest.call("ethosgen_product_s8", place, left, right, *constants)
    return nest.kernel(PRODUCT)


def turned_matrix(
    nest: Nest, name: str, matrix: Any, shape: tuple[int, int], dtype: str = "int8"
) -> Any:
    """Return the place of a matrix's columns, one after another; `dtype` is int8 or int16."""
    if 1 in shape:
        return matrix
    turned = nest.workspace(name, dtype, (prod(shape),))
    suffix = {"int8": "s8", "int16": "s16"}[dtype]
    nest.call(f"ethosgen_turn_{suffix}", turned.data, matrix, *shape)
    return turned.data
