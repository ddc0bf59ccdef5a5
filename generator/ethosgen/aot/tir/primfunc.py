"""PrimFuncs with typed pointers, the input of TVM's C generator."""

from typing import Any

from ethosgen.aot.tvm import ir, tirx

READS = "ethosgen.reads"
"""PrimFunc attribute: the number of leading parameters that are read-only."""

STRUCTS = "ethosgen.structs"
"""PrimFunc attribute: the C types of parameters that point to structs, by their names."""

SAME_BYTES = "ethosgen.same_bytes"
"""PrimFunc attribute: the function copies its input to its output."""


def pointer(name: str, dtype: str) -> Any:
    """Return a pointer variable to elements of `dtype`, which can be "void"."""
    return tirx.Var(name, ir.PointerType(ir.PrimType(dtype), "global"))


def is_void_pointer(variable: Any) -> bool:
    """Return whether a variable is a void*."""
    return bool(variable.ty == pointer("", "void").ty)


def drop_unused_parameters(function: Any) -> tuple[Any, list[int]]:
    """Return a PrimFunc without unused parameters, and the positions of the remaining ones."""
    body = _without_unused_views(function.body)
    used = tirx.analysis.undefined_vars(body, [])
    kept = [i for i, parameter in enumerate(function.params) if _contains(used, parameter)]
    parameters = [function.params[i] for i in kept]
    trimmed = tirx.PrimFunc(parameters, body, function.ret_type, function.attrs)
    reads = sum(position < int((function.attrs or {}).get(READS, 0)) for position in kept)
    return trimmed.with_attr(READS, reads), kept


def _without_unused_views(body: Any) -> Any:
    """Return a body without its unused buffer declarations."""
    if not isinstance(body, tirx.SeqStmt):
        return body
    rest = [s for s in body.seq if not isinstance(s, tirx.DeclBuffer)]
    used = tirx.analysis.undefined_vars(tirx.stmt_seq(*rest), [])
    return tirx.stmt_seq(
        *(s for s in body.seq if not isinstance(s, tirx.DeclBuffer) or _contains(used, s.buffer))
    )


def _contains(variables: Any, wanted: Any) -> bool:
    return any(wanted.same_as(variable) for variable in variables)
