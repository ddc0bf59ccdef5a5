"""BATCH_MATMUL of int8: some columns are packed at a time, and multiplied by all rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tvm import tirx

from ethosgen.aot.libraries.dsp import cost, order
from ethosgen.aot.libraries.dsp.matrix import MATRIX, whole_steps
from ethosgen.aot.libraries.dsp.shapes import DspProduct
from ethosgen.aot.libraries.framework.core import CoreScale
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import leading, merged_sizes
from ethosgen.aot.libraries.framework.scales import channel_scale
from ethosgen.aot.loops.layer import multipliers_of
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, broadcast
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.values.network import Operator, Tensor

PRODUCT = MATRIX | {"ethosgen_dsp_product.c"}
VECTOR = frozenset({"ethosgen_dsp_vector.c"})
MOST_DEPTH = 124
"""Products of two values without zero points, and a place more, whose sum has at most 24 bits."""
MOST_PRODUCT = 255 * 255
MOST_PANEL, MOST_PANEL_BYTES = 32, 4096
"""Columns that are packed at a time, and their size; at least 2 are."""
ROW_BYTES, SCALE_BYTES = 32, 16


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
        return -(-self.depth // MOST_DEPTH)

    @property
    def part_depth(self) -> int:
        """The places in each part."""
        return -(-self.depth // self.parts)

    @property
    def part(self) -> int:
        """The steps of each part; if there are several, they are whole rounds."""
        steps = -(-(self.part_depth + self.has_zero) // order.STEP)
        return steps if self.parts == 1 else -(-steps // order.ROUND) * order.ROUND

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
        steps, pairs = -(-self.depth // order.STEP), -(-self.columns // 2)
        rest = 50 if self.depth % order.STEP else 0
        return 50 + self.rows * (50 + 60 * steps + pairs * (46 + rest + 17.0 * steps))

    @property
    def _packed_cycles(self) -> float:
        panels = -(-self.columns // self.panel)
        packed_steps = self.steps * self.columns * (14.0 if self.is_turned else 7.0)
        made = cost.products(self.rows, order.STEP * self.steps, min(self.panel, self.columns))
        return 250 + 6 * self.panel + packed_steps + panels * (100 + made + self.rows * 90)


def _sizes(op: Operator, tensors: Sequence[Tensor]) -> tuple[tuple[int, ...], ProductSizes]:
    """Return the batches, and the sizes of each product."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    batches, (rows, columns, depth) = merged_sizes(op, first, second, target)
    is_turned = bool(op.options.get("adj_y"))
    return batches, ProductSizes(rows, columns, depth, is_turned, zero_point_of(second) != 0)


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    batches, sizes = _sizes(op, tensors)
    return prod(batches) * sizes.cycles / max(tensors[op.outputs[0]].elements, 1)


@packed("BATCH_MATMUL", cycles=estimate)
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    if second.dtype != "int8" or min(target.elements, first.elements) == 0:
        return None
    batches, sizes = _sizes(op, tensors)
    product = _shape(op, (first, second, target), sizes)
    if product is None:
        return None
    leads = [leading(tensor, batches) for tensor in (first, second)]
    nest = Nest()
    a = nest.read("first", first, (*leads[0], sizes.rows * sizes.depth))
    b = nest.read("second", second, (*leads[1], sizes.columns * sizes.depth))
    shape = nest.table("shape", product)
    y = nest.write("output", target, (*batches, sizes.rows * sizes.columns))
    room = nest.room("room", sizes.bytes)
    with nest.loops(batches) as batch:
        ends = [
            tirx.address_of(matrix[(*broadcast(batch, lead), 0)])
            for matrix, lead in zip((a, b), leads, strict=True)
        ]
        place = tirx.address_of(y[(*batch, 0)])
        name = "vector" if sizes.is_vector else "product"
        nest.call(f"ethosgen_dsp_{name}_s8", place, *ends, room.data, shape.data)
    return nest.kernel(VECTOR if sizes.is_vector else PRODUCT)


def _shape(
    op: Operator, tensors: tuple[Tensor, Tensor, Tensor], sizes: ProductSizes
) -> DspProduct | None:
    """Return the struct of a product, None if the kernel does not cover it."""
    first, second, target = tensors
    (multiplier,) = multipliers_of(first, second, target)
    row = (0, multiplier.mantissa, multiplier.shift)
    scale = channel_scale(row, sizes.depth * MOST_PRODUCT, zero_point_of(target))
    if scale is None:
        return None
    rows = (sizes.rows, 1) if op.options.get("adj_x") else (1, sizes.depth)
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
