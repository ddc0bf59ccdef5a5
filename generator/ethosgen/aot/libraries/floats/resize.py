"""RESIZE_BILINEAR of float32."""

from collections.abc import Sequence

from ethosgen.aot.libraries.floats import cost, order
from ethosgen.aot.libraries.floats.matrix import two_forms
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.operators.resize import resize_ends, single_places
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Nest, int32
from ethosgen.aot.tvm import tirx
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

FILES = frozenset({"ethosgen_resize_f32.c"})
PIXEL, BLOCK = 60, {cost.HELIUM: 20.0, cost.IN_C: 80.0}
"""Instructions of a pixel, and of 4 of its channels."""


def _whole(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    target = tensors[op.outputs[0]]
    channels = target.shape[-1]
    return target.elements / channels * (PIXEL + pieces(channels, order.BLOCK) * BLOCK[by])


@packed("RESIZE_BILINEAR", dtype="float32", cycles=two_forms(_whole), for_helium=True)
def resize_bilinear(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Interpolate all channels of a pixel in one call, if there are enough for a call to pay."""
    source, target = resize_ends(op, tensors)
    batch, height, width, channels = target.shape
    if channels < order.BLOCK or op.options.get(UNSIGNED):
        return None
    nest = Nest()
    x = nest.read("input", source)
    rows, columns = (
        [nest.table(f"{name}_{what}", values) for what, values in places.items()]
        for name, places in (
            ("row", single_places(op, source.shape[1], height)),
            ("column", single_places(op, source.shape[2], width)),
        )
    )
    y = nest.write("output", target)
    with nest.loops((batch, height, width), "b oy ox") as (b, oy, ox):
        top, bottom = (int32(table[oy]) for table in rows[:2])
        left, right = (int32(table[ox]) for table in columns[:2])
        corners = [tirx.address_of(x[b, i, j, 0]) for j in (left, right) for i in (top, bottom)]
        place, fractions = tirx.address_of(y[b, oy, ox, 0]), (rows[2][oy], columns[2][ox])
        nest.call("ethosgen_resize_f32", place, *corners, *fractions, channels)
    return nest.kernel(FILES)
