"""BATCH_MATMUL of int16, two rows times two columns at a time."""

from collections.abc import Sequence
from math import prod

from tvm import tirx

from ethosgen.aot.libraries.dsp import order_s16 as order
from ethosgen.aot.libraries.dsp.shapes import DspProductS16
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import leading, merged_sizes
from ethosgen.aot.loops.layer import multipliers_of
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, broadcast
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.values.network import Operator, Tensor

UINT32_MAX = (1 << 32) - 1
PRODUCT = frozenset({"ethosgen_dsp_product_s16.c"})
ROOM = 8
"""Bytes of temporary memory for each pair of places: those of two columns."""


def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    batches, (rows, columns, depth) = merged_sizes(op, first, second, target)
    if rows == 1 and op.options.get("adj_y"):
        each: float = columns * (45 + 2.0 * depth)
    else:
        heights, widths = -(-rows // 2), -(-columns // 2)
        each = widths * (50 + 6.0 * depth + heights * (115 + 4.0 * depth))
    return prod(batches) * (60 + each) / max(target.elements, 1)


@packed("BATCH_MATMUL", dtype="int16", cycles=cycles)
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call."""
    first, second, target = three = tuple(tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    if second.dtype != "int16" or op.options.get("adj_x") or any(map(zero_point_of, three)):
        return None
    batches, (rows, columns, depth) = merged_sizes(op, first, second, target)
    (multiplier,) = multipliers_of(first, second, target)
    scale = order.scale(0, multiplier, depth * order.MOST_INPUT**2)
    if min(target.elements, depth) == 0 or scale is None or scale[3] < 0:
        return None
    place_step, column_step = (1, depth) if op.options.get("adj_y") else (columns, 1)
    product = DspProductS16(
        rows=rows,
        depth=depth,
        columns=columns,
        place_step=place_step,
        column_step=column_step,
        low=scale[0] & UINT32_MAX,
        high=scale[1],
        mantissa=scale[2],
        shift=scale[3],
    )
    leads = [leading(tensor, batches) for tensor in (first, second)]
    nest = Nest()
    a = nest.read("first", first, (*leads[0], rows * depth))
    b = nest.read("second", second, (*leads[1], columns * depth))
    shape = nest.table("shape", product)
    y = nest.write("output", target, (*batches, rows * columns))
    room = nest.room("room", ROOM * -(-depth // order.PAIR))
    with nest.loops(batches) as batch:
        left, right = (
            tirx.address_of(matrix[(*broadcast(batch, lead), 0)])
            for matrix, lead in zip((a, b), leads, strict=True)
        )
        place = tirx.address_of(y[(*batch, 0)])
        nest.call("ethosgen_dsp_product_s16", place, left, right, room.data, shape.data)
    return nest.kernel(PRODUCT)
