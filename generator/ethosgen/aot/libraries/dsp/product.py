"""BATCH_MATMUL of int8 and int16.

For int8, some columns at a time are packed and multiplied by all rows; for int16, two rows are
multiplied by two columns at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ethosgen.aot.libraries.dsp import cost, order, order_s16
from ethosgen.aot.libraries.dsp.matrix import MATRIX, whole_steps
from ethosgen.aot.libraries.dsp.shapes import DspProduct, DspProductS16
from ethosgen.aot.libraries.framework.core import CoreScale
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import Matrices, read_matrices, room_of
from ethosgen.aot.libraries.framework.scales import channel_scale
from ethosgen.aot.loops.layer import multipliers_of
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.values.multiples import pieces, rounded_up
from ethosgen.values.network import Operator, Tensor

PRODUCT = MATRIX | {"ethosgen_dsp_product.c"}
VECTOR = frozenset({"ethosgen_dsp_vector.c"})
MOST_DEPTH = 124
"""Products of two values without zero points, and a place more, whose sum has at most 24 bits."""
MOST_PRODUCT = 255 * 255
MOST_PANEL, MOST_PANEL_BYTES = 32, 4096
"""Columns that are packed at a time, and their size; at least 2 are."""
ROW_BYTES, SCALE_BYTES = 32, 16
UINT32_MAX = (1 << 32) - 1
PRODUCT_S16 = frozenset({"ethosgen_dsp_product_s16.c"})
ROOM_S16 = 8
"""Bytes of temporary memory for each pair of places: those of two columns."""


@dataclass(frozen=True)
class ProductSizes:
    """The sizes of a product, and how its depth is split."""

    rows: int
    columns: int
    depth: int
    is_turned: bool
    """Whether the columns of the second matrix are contiguous."""
    has_zero: bool
    """Whether the second matrix has a zero point, for which parts have a place more."""

    @property
    def parts(self) -> int:
        """The parts of the depth."""
        return pieces(self.depth, MOST_DEPTH)

    @property
    def part_depth(self) -> int:
        """The places in each part."""
        return pieces(self.depth, self.parts)

    @property
    def part(self) -> int:
        """The steps of each part; if there are several, they are whole rounds."""
        steps = pieces(self.part_depth + self.has_zero, order.STEP)
        return steps if self.parts == 1 else rounded_up(steps, order.ROUND)

    @property
    def steps(self) -> int:
        """The steps of all parts."""
        return self.parts * self.part

    @property
    def panel(self) -> int:
        """The columns that are packed at a time."""
        most = min(MOST_PANEL, MOST_PANEL_BYTES // (order.STEP * self.steps)) // 4 * 4
        return min(max(most, 2), (self.columns + 1) // 2 * 2)

    @property
    def is_vector(self) -> bool:
        """Whether rows are so few that packing columns does not pay."""
        return self.is_turned and self._vector_cycles < self._packed_cycles

    @property
    def bytes(self) -> int:
        """The temporary memory."""
        if self.is_vector:
            return 2 * whole_steps(self.depth)
        column = SCALE_BYTES + order.STEP * self.steps
        return ROW_BYTES * self.steps + self.panel * column

    @property
    def cycles(self) -> float:
        """The estimated cycles of a product."""
        return self._vector_cycles if self.is_vector else self._packed_cycles

    @property
    def _vector_cycles(self) -> float:
        steps, pairs = pieces(self.depth, order.STEP), pieces(self.columns, 2)
        rest = 50 if self.depth % order.STEP else 0
        return 50 + self.rows * (50 + 60 * steps + pairs * (46 + rest + 17.0 * steps))

    @property
    def _packed_cycles(self) -> float:
        panels = pieces(self.columns, self.panel)
        packed_steps = self.steps * self.columns * (14.0 if self.is_turned else 7.0)
        multiplied = cost.products(
            self.rows, order.STEP * self.steps, min(self.panel, self.columns)
        )
        return 250 + 6 * self.panel + packed_steps + panels * (100 + multiplied + self.rows * 90)


def _sizes(matrices: Matrices) -> ProductSizes:
    """Return the sizes of each product."""
    has_zero = zero_point_of(matrices.second) != 0
    return ProductSizes(
        matrices.rows, matrices.columns, matrices.depth, matrices.has_rows, has_zero
    )


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    matrices = read_matrices(op, tensors)
    return matrices.each(_sizes(matrices).cycles)


@packed("BATCH_MATMUL", cycles=estimate)
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call."""
    matrices = read_matrices(op, tensors)
    if matrices.second.dtype != "int8" or 0 in (matrices.target.elements, matrices.first.elements):
        return None
    sizes = _sizes(matrices)
    product = _shape(matrices, sizes)
    if product is None:
        return None
    nest, name = Nest(), "vector" if sizes.is_vector else "product"
    with matrices.products(nest, product, room_of(nest, sizes.bytes)) as (places, constants):
        nest.call(f"ethosgen_dsp_{name}_s8", *places, *constants)
    return nest.kernel(VECTOR if sizes.is_vector else PRODUCT)


def _shape(matrices: Matrices, sizes: ProductSizes) -> DspProduct | None:
    """Return the struct of a product, None if the kernel does not cover it."""
    first, second, target = matrices.first, matrices.second, matrices.target
    (multiplier,) = multipliers_of(first, second, target)
    row = (0, multiplier.mantissa, multiplier.shift)
    scale = channel_scale(row, sizes.depth * MOST_PRODUCT, zero_point_of(target))
    if scale is None:
        return None
    rows = (sizes.rows, 1) if matrices.has_columns else (1, sizes.depth)
    columns = (1, sizes.depth) if sizes.is_turned else (sizes.columns, 1)
    bias, mantissa, addend, shift = scale
    even = CoreScale(bias=bias, mantissa=mantissa, addend=addend, shift=shift)
    return DspProduct(
        rows=sizes.rows,
        depth=sizes.depth,
        columns=sizes.columns,
        first_step=rows[0],
        first_next=rows[1],
        first_zero=zero_point_of(first),
        second_step=columns[0],
        second_next=columns[1],
        second_zero=zero_point_of(second),
        panel=sizes.panel,
        parts=sizes.parts,
        part_depth=sizes.part_depth,
        part=sizes.part,
        scales=(even, replace(even, bias=bias * 2)),
    )


def cycles_s16(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    matrices = read_matrices(op, tensors)
    columns, depth = matrices.columns, matrices.depth
    if matrices.rows == 1 and matrices.has_rows:
        return matrices.each(60 + columns * (45 + 2.0 * depth))
    heights, widths = pieces(matrices.rows, 2), pieces(columns, 2)
    return matrices.each(60 + widths * (50 + 6.0 * depth + heights * (115 + 4.0 * depth)))


@packed("BATCH_MATMUL", dtype="int16", cycles=cycles_s16)
def batch_matmul_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call."""
    matrices = read_matrices(op, tensors)
    three = matrices.first, matrices.second, matrices.target
    if matrices.second.dtype != "int16" or matrices.has_columns or any(map(zero_point_of, three)):
        return None
    columns, depth = matrices.columns, matrices.depth
    (multiplier,) = multipliers_of(*three)
    scale = order_s16.scale(0, multiplier, depth * order_s16.MOST_INPUT**2)
    if matrices.is_empty or scale is None or scale[3] < 0:
        return None
    place_step, column_step = (1, depth) if matrices.has_rows else (columns, 1)
    product = DspProductS16(
        rows=matrices.rows,
        depth=depth,
        columns=columns,
        place_step=place_step,
        column_step=column_step,
        low=scale[0] & UINT32_MAX,
        high=scale[1],
        mantissa=scale[2],
        shift=scale[3],
    )
    nest, room = Nest(), ROOM_S16 * pieces(depth, order_s16.PAIR)
    with matrices.products(nest, product, room_of(nest, room)) as (
        places,
        constants,
    ):
        nest.call("ethosgen_dsp_product_s16", *places, *constants)
    return nest.kernel(PRODUCT_S16)
