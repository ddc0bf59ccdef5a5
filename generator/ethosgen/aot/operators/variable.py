"""Variables that a network reads and assigns by name, resolved by `aot.graph.subgraphs`."""

from collections.abc import Sequence
from typing import Any

from tvm import tirx

from ethosgen.aot.operators import OUTPUT, operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.primfunc import pointer
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import HANDLE, Operator, Tensor

DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")


@operator("READ_VARIABLE", dtypes=DTYPES, decided_by=OUTPUT)
def read_variable(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy a variable's bytes."""
    target = pointer("output", tensors[op.outputs[0]].dtype)
    variable = pointer("variable", "int8")
    size = _variable(op, tensors).bytes
    function = tirx.PrimFunc([target, variable], copy_bytes(target, variable, size))
    return Kernel(function, (), variables=op.inputs[:1])


@operator("ASSIGN_VARIABLE", dtypes=DTYPES, decided_by=1)
def assign_variable(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy bytes to a variable, which keeps them until the next assignment or reset."""
    source = pointer("input", tensors[op.inputs[1]].dtype)
    variable = pointer("variable", "int8")
    size = _variable(op, tensors).bytes
    function = tirx.PrimFunc([source, variable], copy_bytes(variable, source, size))
    return Kernel(function, op.inputs[1:], variables=op.inputs[:1])


@operator("VAR_HANDLE", dtypes=(HANDLE,), decided_by=OUTPUT)
def var_handle(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Refuse a handle as a value: handles exist only at compile time."""
    raise UnsupportedError(f"the handle '{tensors[op.outputs[0]].name}' is used as a value")


def copy_bytes(target: Any, source: Any, size: int) -> Any:
    """Return a statement that copies `size` bytes between pointers."""
    return tirx.Evaluate(tirx.call_extern("void", "memcpy", target, source, size))


def _variable(op: Operator, tensors: Sequence[Tensor]) -> Tensor:
    found = tensors[op.inputs[0]]
    if not found.is_variable:
        raise UnsupportedError(f"'{found.name}' is not a variable known at compile time")
    return found
