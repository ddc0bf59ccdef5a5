"""PrimFuncs with typed pointers, which are what TVM's C generator takes."""

from typing import Any

from tvm import ir, tirx

READS = "ethosgen.reads"
"""PrimFunc attribute: how many of the parameters, from the first on, are only read."""

SAME_BYTES = "ethosgen.same_bytes"
"""PrimFunc attribute: it copies its input to its output, unchanged."""


def pointer(name: str, dtype: str) -> Any:
    """Return a variable that points to elements of a type, or to "void"."""
    return tirx.Var(name, ir.PointerType(ir.PrimType(dtype), "global"))


def is_void_pointer(variable: Any) -> bool:
    """Say whether a variable is a void*."""
    return bool(variable.ty == pointer("", "void").ty)


def drop_unused_parameters(function: Any) -> tuple[Any, list[int]]:
    """Return a PrimFunc without the parameters that it does not use, and the positions it kept."""
    used = tirx.analysis.undefined_vars(function.body, [])
    kept = [i for i, p in enumerate(function.params) if any(p.same_as(var) for var in used)]
    parameters = [function.params[i] for i in kept]
    trimmed = tirx.PrimFunc(parameters, function.body, function.ret_type, function.attrs)
    reads = sum(position < int((function.attrs or {}).get(READS, 0)) for position in kept)
    return trimmed.with_attr(READS, reads), kept
