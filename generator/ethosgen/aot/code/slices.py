"""An inference in slices: the entry of C returns after a band of rows, or after an operator.

A C array, NAME_progress, which the entry and its chains share, records where it continues.
"""

from collections.abc import Sequence
from typing import Any

from ethosgen.aot.tir.primfunc import pointer
from ethosgen.aot.tvm import tirx
from ethosgen.values.status import Status

CALL, TURN, FED, LEFT = range(4)
"""What the array has: the call that is next, the turn of its chain, the rows of the input that the
chain has taken, and those at the entry's input that it has not."""
WORDS = 4
"""The elements of the array."""
TURNS = "ethosgen.turns"
"""PrimFunc attribute: a chain, which counts its turns and passes on to the next call itself."""


def progress_symbol(name: str) -> str:
    """Return the C name of a network's array."""
    return f"{name}_progress"


def declare_progress(symbol: str) -> tuple[Any, list[Any]]:
    """Return the array as a buffer, and the statements that declare it."""
    variable = pointer("progress", "int32")
    buffer = tirx.decl_buffer((WORDS,), "int32", "progress_view", data=variable)
    place = tirx.reinterpret(variable.ty, tirx.lookup_param(symbol))
    return buffer, [tirx.Bind(variable, place), tirx.DeclBuffer(buffer, data=variable)]


def sliced(symbol: str, calls: Sequence[tuple[Any, list[Any]]], after: Sequence[Any]) -> list[Any]:
    """Return the body of an entry that makes one of its calls, or one turn of it.

    `calls` are the functions with their statements, `after` the statements after each.
    """
    progress, body = declare_progress(symbol)
    at = tirx.Var("at", "int32")
    body.append(tirx.Bind(at, progress[CALL]))
    for number, (function, statements) in enumerate(calls):
        is_chain = TURNS in (function.attrs or {})
        end = [] if is_chain else [_store(progress, CALL, number + 1)]
        body.append(tirx.IfThenElse(at == number, tirx.stmt_seq(*statements, *end), None))
    more = tirx.Return(tirx.const(int(Status.MORE), "int32"))
    body += [*after, tirx.IfThenElse(progress[CALL] < len(calls), more, None)]
    return [*body, _store(progress, CALL, 0), tirx.Return(tirx.const(0, "int32"))]


def _store(progress: Any, index: int, value: int) -> Any:
    return tirx.BufferStore(progress, tirx.const(value, "int32"), (index,))
