"""A PrimFunc of a user's as a C function: its blocks and buffers become loops and pointers."""

from collections.abc import Sequence
from typing import Any

from ethosgen.aot.code.emission import emit
from ethosgen.aot.code.passes import lowering
from ethosgen.aot.tir.primfunc import pointer
from ethosgen.aot.tvm import s_tir, tirx, tvm
from ethosgen.values.c_types import C_TYPES

_NAME = "ethosgen_function"
_END = "}\n"


def c_function(function: Any, kinds: Sequence[str]) -> str:
    """Return a PrimFunc as C: parameters and body of a function that returns an int32_t.

    `kinds` are the C types with which it is called. ValueError says why it cannot be C, or why its
    parameters do not fit.
    """
    if not isinstance(function, tirx.PrimFunc):
        raise ValueError(f"it is no PrimFunc, but {type(function).__name__}")
    own = [_c_type(parameter) for parameter in function.params]
    if own != [kind.removeprefix("const ") for kind in kinds]:
        raise ValueError(
            f"its parameters are ({', '.join(own)}), but `arguments` gives ({', '.join(kinds)})"
        )
    try:
        emitted = emit(_lowered(function), {})
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ValueError(f"TVM cannot make C of it: {lines[-1] if lines else error!r}") from None
    text = emitted.functions[_NAME]
    names = [parameter.split()[-1].lstrip("*") for parameter in text.parameters]
    typed = (kind if kind.endswith("*") else f"{kind} " for kind in kinds)
    parameters = ", ".join(f"{kind}{name}" for kind, name in zip(typed, names, strict=True))
    body = text.body
    if text.returns == "void":
        body = f"{body.removesuffix(_END)}  return 0;\n{_END}"
    return f"({parameters or 'void'})\n{{\n{body.lstrip(chr(10))}"


def _lowered(function: Any) -> Any:
    """Return a module with the function, whose parameters are pointers and numbers."""
    blocks = [
        s_tir.transform.CanonicalizeLoop(),
        s_tir.transform.LowerInitBlock(),
        s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir.transform.ConvertBlocksToOpaque(),
        s_tir.transform.CompactBufferAllocation(),
        s_tir.transform.LowerMatchBuffer(),
        s_tir.transform.StmtSimplify(),
        s_tir.transform.LowerOpaqueBlock(),
    ]
    module = tvm.IRModule({_NAME: function.with_attr("global_symbol", _NAME)})
    module = tvm.transform.Sequential(blocks)(module)
    flat = tvm.IRModule({_NAME: _with_pointers(module[_NAME])})
    # A vector's loop becomes a plain one: vectors in C are the user's intrinsics.
    first, *rest = lowering()
    passes = [first, rest[0], tirx.transform.VectorizeLoop(False), *rest[1:]]
    passes += [tirx.transform.StmtSimplify(), tirx.transform.RemoveNoOp()]
    return tvm.transform.Sequential(passes)(flat)


def _with_pointers(function: Any) -> Any:
    """Return a function whose buffers are declared at the pointers that are its parameters."""
    parameters, buffers = [], []
    for parameter in function.params:
        if dtype := _element(parameter):
            address = pointer(parameter.name, dtype)
            buffers.append(tirx.DeclBuffer(parameter, data=address))
            parameters.append(address)
        else:
            parameters.append(parameter)
    body = tirx.SeqStmt([*buffers, function.body]) if buffers else function.body
    return tirx.PrimFunc(parameters, body, function.ret_type, function.attrs)


def _element(parameter: Any) -> str:
    """Return the type of a buffer's elements, "" if a parameter is no buffer."""
    kind = parameter.ty
    return str(kind.dtype) if hasattr(kind, "shape") and hasattr(kind, "dtype") else ""


def _c_type(parameter: Any) -> str:
    """Return a parameter's type in C without const, or TVM's text of one that has none."""
    kind = parameter.ty
    if dtype := _element(parameter):
        return f"{C_TYPES.get(dtype, dtype)} *"
    if element := getattr(kind, "element_type", None):
        dtype = str(getattr(element, "dtype", element))
        return f"{C_TYPES.get(dtype, dtype)} *"
    dtype = str(getattr(kind, "dtype", kind))
    return C_TYPES.get(dtype, dtype)
