"""The operators that have code, collected from the decorated functions of their families."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from ethosgen.aot import operators
from ethosgen.aot.cost import Cycles, TwoForms, total
from ethosgen.aot.operators import OUTPUT, Registered, Registration
from ethosgen.values.errors import InternalError
from ethosgen.values.network import ABSENT, Operator, Tensor

FAMILIES = (
    "activation",
    "arithmetic",
    "blocks",
    "constant",
    "control",
    "conversion",
    "copy",
    "detection",
    "fft",
    "filter_bank",
    "function",
    "gelu",
    "matmul",
    "normalization",
    "pooling",
    "quotients",
    "ranking",
    "rearrangement",
    "recurrent",
    "reduction",
    "relations",
    "resize",
    "selection",
    "signal",
    "softmax",
    "streaming",
    "tosa.floats",
    "tosa.layers",
    "tosa.moves",
    "tosa.pointwise",
    "tosa.transforms",
    "tosa.windows",
    "weighted",
)
"""Modules of `ethosgen.aot.operators`. Importing one imports tvm, so the first lookup does it."""


def code_of(op: Operator) -> str:
    """Return the name under which an operator is registered: its custom code or TFLite's code."""
    return op.custom_code or op.code


def deciding_dtype(op: Operator, tensors: Sequence[Tensor]) -> str:
    """Return the dtype that selects an operator's build, "no input" if it has no inputs."""
    position = _by_code().deciding.get(code_of(op), 0)
    if position == OUTPUT:
        return tensors[op.outputs[0]].dtype
    present = [i for i in op.inputs if i != ABSENT]
    return tensors[present[position]].dtype if position < len(present) else "no input"


def estimate_cycles(op: Operator, tensors: Sequence[Tensor], has_helium: bool = True) -> int | None:
    """Return the estimated cycles of one run on the CPU, None if there is no estimate."""
    cycles = _by_code().cycles.get(code_of(op))
    if isinstance(cycles, TwoForms) and not has_helium:
        cycles = cycles.in_c
    return total(cycles, op, tensors) if cycles is not None and op.outputs else None


@cache
def registry() -> dict[tuple[str, str], Registration]:
    """Return every registration by (code, dtype), collected from the decorated functions."""
    functions = [
        value
        for family in FAMILIES
        for value in vars(import_module(f"{operators.__name__}.{family}")).values()
    ]
    return {
        (registration.code, registration.dtype): registration
        for function in functions
        if isinstance(function, Registered)
        for registration in function.registrations
    }


def registration_of(op: Operator, tensors: Sequence[Tensor]) -> Registration | None:
    """Return the registration of an operator for its dtype, None without one."""
    return registry().get((code_of(op), deciding_dtype(op, tensors)))


def goes_in_place(op: Operator) -> bool:
    """Return whether an operator's output may overwrite an input of the same size."""
    return code_of(op) in _by_code().in_place


@dataclass(frozen=True)
class _ByCode:
    """The declarations that apply to all dtypes of a code."""

    deciding: Mapping[str, int]
    cycles: Mapping[str, Cycles]
    in_place: frozenset[str]


@cache
def _by_code() -> _ByCode:
    """Collect them; InternalError if two registrations of a code disagree."""
    deciding: dict[str, int] = {}
    costs: dict[str, Cycles] = {}
    for (code, dtype), registration in registry().items():
        decided_by = registration.decided_by
        if decided_by is not None and deciding.setdefault(code, decided_by) != decided_by:
            raise InternalError(f"{code} of {dtype} names a second deciding input")
        if (
            registration.cycles
            and costs.setdefault(code, registration.cycles) is not registration.cycles
        ):
            raise InternalError(f"{code} of {dtype} declares a second estimate of its cycles")
    in_place = frozenset(
        code for (code, _), registration in registry().items() if registration.in_place
    )
    return _ByCode(deciding, costs, in_place)
