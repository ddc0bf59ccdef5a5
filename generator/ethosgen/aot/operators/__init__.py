"""The CPU operators: one module per family, one function per operator.

To add one, write a function from (Operator, tensors) to a Kernel, decorate it with `@operator`, and
name its module in `_FAMILIES` below. Nothing else needs to change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ethosgen.aot.cost import Cycles, TwoForms, total
from ethosgen.values.errors import InternalError
from ethosgen.values.network import ABSENT, Operator, Tensor
from ethosgen.values.profile import ProgramStep

_FAMILIES = (
    "activation",
    "arithmetic",
    "comparison",
    "constant",
    "control",
    "conversion",
    "copy",
    "detection",
    "division",
    "fft",
    "filter_bank",
    "function",
    "gelu",
    "layout",
    "matmul",
    "normalization",
    "pooling",
    "ranking",
    "rearrangement",
    "recurrent",
    "reduction",
    "resize",
    "selection",
    "signal",
    "softmax",
    "stream",
    "tosa.layers",
    "tosa.moves",
    "tosa.pointwise",
    "tosa.windows",
    "variable",
    "weighted",
)
"""Modules of this package. Importing one imports tvm, so the first lookup does it."""


@dataclass(frozen=True)
class Kernel:
    """An operator as TIR.

    `function` is a PrimFunc whose parameters are typed pointers, in this order: one for each tensor
    index in `inputs` (including constants of the network), one for each array in `constants`
    (generated here: multipliers, tables, packed weights), one for each output of the operator, one
    for each tensor in `variables`, which it reads and updates for the next inference, and an int8
    pointer if `workspace_bytes` is not 0. It writes all of its outputs and nothing else.
    The C code uses the parameters' names and omits parameters that the body does not use.
    `sources` names the C files of libraries whose functions it calls. `callees` are
    functions generated for this kernel only, each before its callers. `steps` are the operators of
    its subgraphs.
    """

    function: Any
    inputs: tuple[int, ...]
    constants: tuple[np.ndarray[Any, Any], ...] = ()
    workspace_bytes: int = 0
    variables: tuple[int, ...] = ()
    sources: frozenset[str] = frozenset()
    callees: tuple["Callee", ...] = ()
    steps: tuple["MarkedStep", ...] = ()


@dataclass(frozen=True)
class Callee:
    """A PrimFunc that a kernel calls, its C name, and the comment above it in the C code."""

    name: str
    function: Any
    comment: str


@dataclass(frozen=True)
class MarkedStep:
    """A step of the generated C: call `number`, from 1, of the function `entry`.

    In a kernel or a routine, `inside` counts from its own first step; 0 is itself.
    """

    entry: str
    number: int
    step: ProgramStep


UNSIGNED = "ethosgen_unsigned"
"""An option that ethosgen adds: this int8 operator was uint8 in the network (see twins.py), so
LiteRT's uint8 reference kernel is the oracle."""


Build = Callable[[Operator, Sequence[Tensor]], Kernel]
"""Builds a Kernel from an operator and all tensors of its graph."""

OUTPUT = -1
"""Value of `decided_by`: the dtype of the first output selects the build."""


@dataclass(frozen=True)
class Registration:
    """An operator's build function for one dtype, with its declarations (see `operator`)."""

    code: str
    dtype: str
    build: Build
    ulp: int
    litert: bool
    decided_by: int | None
    cycles: Cycles | None
    in_place: bool


def operator(
    *codes: str,
    dtypes: tuple[str, ...],
    ulp: int = 0,
    litert: bool = False,
    decided_by: int | None = None,
    cycles: Cycles | None = None,
    in_place: bool = False,
) -> Callable[[Build], Build]:
    """Register the decorated function for these operators and dtypes.

    The dtype is that of the first input, of the present input number `decided_by`, or of the first
    output (OUTPUT). `ulp` is the largest allowed difference from the oracle's results in units in
    the last place. The oracle is TFLite Micro or, with `litert` (for operators that TFLite Micro
    lacks), LiteRT's reference kernels. `cycles` estimates the cost. An operator that is `in_place`
    goes element by element: it reads an input as large as the output for the last time before it
    writes that element, so that both may have one address. `decided_by`, `cycles` and `in_place`
    apply to all dtypes of a code; one of its registrations declares them.
    """

    def declare(build: Build) -> Build:
        found = [
            Registration(code, dtype, build, ulp, litert, decided_by, cycles, in_place)
            for code in codes
            for dtype in dtypes
        ]
        build.registrations = [*getattr(build, "registrations", ()), *found]  # type: ignore[attr-defined]
        return build

    return declare


LIBRARY_ULP = 4
"""The tolerance for C library functions (expf, tanhf), which can round up or down."""


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
        for family in _FAMILIES
        for value in vars(import_module(f"{__name__}.{family}")).values()
    ]
    return {
        (one.code, one.dtype): one
        for function in functions
        for one in getattr(function, "registrations", ())
    }


def goes_in_place(op: Operator) -> bool:
    """Return whether an operator's output may take the place of an input of the same size."""
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
    for (code, dtype), one in registry().items():
        decided_by = one.decided_by
        if decided_by is not None and deciding.setdefault(code, decided_by) != decided_by:
            raise InternalError(f"{code} of {dtype} names a second deciding input")
        if one.cycles and costs.setdefault(code, one.cycles) is not one.cycles:
            raise InternalError(f"{code} of {dtype} declares a second estimate of its cycles")
    in_place = frozenset(code for (code, _), one in registry().items() if one.in_place)
    return _ByCode(deciding, costs, in_place)
