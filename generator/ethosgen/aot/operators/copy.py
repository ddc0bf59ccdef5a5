"""Operators that copy bytes: reshapes, and the COPY operators that the schedule adds."""

from collections.abc import Sequence

from ethosgen.aot.cost import per_element
from ethosgen.aot.graph.storage import SAME_BYTES
from ethosgen.aot.operators import operator
from ethosgen.aot.tir import primfunc
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor
from ethosgen.values.tosa import PREFIX

DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")


@operator("TOSA_IDENTITY", dtypes=("int64",))
@operator("TOSA_IDENTITY", "TOSA_RESHAPE", dtypes=("int8", "int16", "int32", "float32", "bool"))
@operator(
    *sorted(code for code in SAME_BYTES if not code.startswith(PREFIX)),
    dtypes=(*DTYPES, "uint32", "uint64"),
    cycles=per_element(0.0, moves=True),
)
def copy(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy bytes; no code is emitted where input and output have the same address."""
    size = tensors[op.inputs[0]].bytes

    source, target = primfunc.pointer("source", "int8"), primfunc.pointer("target", "int8")
    copied = tirx.Evaluate(tirx.call_extern("void", "memcpy", target, source, size))
    function = tirx.PrimFunc([source, target], copied)
    return Kernel(function.with_attr(primfunc.SAME_BYTES, True), (op.inputs[0],))
