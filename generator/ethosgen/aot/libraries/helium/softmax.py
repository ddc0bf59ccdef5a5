"""SOFTMAX of int8."""

from collections.abc import Sequence

from tvm import tirx

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.helium import cost
from ethosgen.aot.operators.softmax import read_softmax
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor

SOFTMAX = frozenset({"ethosgen_softmax.c"})


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
