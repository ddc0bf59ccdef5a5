"""SOFTMAX of int8 and int16."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.helium import cost
from ethosgen.aot.libraries.helium.recurrent import multiplier_of
from ethosgen.aot.libraries.helium.shapes import HeliumSoftmaxS16
from ethosgen.aot.operators.softmax import read_softmax, read_softmax_s16
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tvm import tirx
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

SOFTMAX = frozenset({"ethosgen_softmax.c"})
SOFTMAX_S16 = frozenset({"ethosgen_softmax_s16.c", "ethosgen_sums.h"})
MOST_DEPTH = (1 << 16) - 1
"""The most exponentials of at most 2**15 whose sum fits in 32 bits."""


@packed("SOFTMAX", cycles=cost.SOFTMAX)
def softmax(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Look up exponentials and scale them, 4 at a time, in one call for all rows."""
    shape, values = read_softmax(op, tensors)
    nest = Nest()
    x = nest.read("input", tensors[op.inputs[0]], shape)
    table = nest.table("exponentials", values)
    y = nest.write("output", tensors[op.outputs[0]], shape)
    ends = tirx.address_of(y[0, 0]), tirx.address_of(x[0, 0])
    nest.call("ethosgen_softmax_s8", *ends, *shape, table.data)
    return nest.kernel(SOFTMAX)


def _cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    depth = tensors[op.outputs[0]].shape[-1]
    return (110 + 53.0 * pieces(depth, 4)) / max(depth, 1)


@packed("SOFTMAX", dtype="int16", cycles=_cycles, for_helium=True)
def softmax_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Interpolate exponentials and scale them, 4 at a time, in one call for all rows."""
    parameters = read_softmax_s16(op, tensors)
    if not 0 < parameters.shape[1] <= MOST_DEPTH:
        return None
    nest = Nest()
    x = nest.read("input", tensors[op.inputs[0]], parameters.shape)
    rows, depth = parameters.shape
    scale = multiplier_of(parameters.multiplier)
    tables = [
        nest.table("exponentials", parameters.exponentials),
        nest.table("reciprocals", parameters.reciprocals),
        nest.table("shape", HeliumSoftmaxS16(rows=rows, depth=depth, scale=scale)),
    ]
    y = nest.write("output", tensors[op.outputs[0]], parameters.shape)
    places = tirx.address_of(y[0, 0]), tirx.address_of(x[0, 0])
    nest.call("ethosgen_softmax_s16", *places, *(table.data for table in tables))
    return nest.kernel(SOFTMAX_S16)
