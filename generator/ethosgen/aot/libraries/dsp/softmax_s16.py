"""SOFTMAX of int16."""

from collections.abc import Sequence

from tvm import tirx

from ethosgen.aot.libraries.dsp.shapes import DspSoftmaxS16
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.recurrent import multiplier_of
from ethosgen.aot.operators.softmax import read_softmax_s16
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor

SOFTMAX = frozenset({"ethosgen_dsp_softmax_s16.c"})
MOST_DISTANCE = (1 << 16) - 1
MOST_DEPTH = 1 << 16
"""Exponentials whose sum fits into 32 bits."""


def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    return 34.0 + 80 / max(tensors[op.outputs[0]].shape[-1], 1)


@packed("SOFTMAX", dtype="int16", cycles=cycles)
def softmax(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all rows by one call."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    found = read_softmax_s16(op, tensors)
    rows, depth = found.shape
    scale = multiplier_of(found.multiplier, MOST_DISTANCE)
    if scale is None or not 0 < depth <= MOST_DEPTH:
        return None
    nest = Nest()
    x = nest.read("input", source, (source.elements,))
    tables = [
        nest.table("exponentials", found.exponentials),
        nest.table("reciprocals", found.reciprocals),
        nest.table("shape", DspSoftmaxS16(depth=depth, scale=scale)),
    ]
    y = nest.write("output", target, (source.elements,))
    places = tirx.address_of(y[0]), tirx.address_of(x[0])
    nest.call("ethosgen_dsp_softmax_s16", *places, rows, *(table.data for table in tables))
    return nest.kernel(SOFTMAX)
