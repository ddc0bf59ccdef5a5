"""The CPU's operators: one module per family, one function per operator.

To add one: write a function from (Operator, tensors) to a Kernel, decorate it with `@operator`, and
name its module in `_FAMILIES` below. Nothing else needs to know of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ethosgen.aot.cost import Cycles, total
from ethosgen.values.errors import InternalError
from ethosgen.values.model import ABSENT, Operator, Tensor

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
    "variable",
    "weighted",
)
"""Modules of this package; importing one imports tvm, so it happens on the first look-up."""


@dataclass(frozen=True)
class Kernel:
    """An operator as TIR.

    `function` is a PrimFunc whose parameters are typed pointers, in this order: one for each tensor
    index of `inputs` (constants of the model among them), one for each array of `constants` (made
    here: multipliers, tables, packed weights), one for each output of the operator, one for each
    of `variables`, which it reads and leaves with their values for the next inference, and one
    more, of int8, where `workspace_bytes` is not 0. It writes all of its outputs and nothing else.
    The parameters' names are what the C shows; one that the body does not use is left out there.
    `micro_kernels` names the C files of templates/kernels whose functions it calls, `callees` are
    functions made for this kernel alone, each before those that call it.
    """

    function: Any
    inputs: tuple[int, ...]
    constants: tuple[np.ndarray[Any, Any], ...] = ()
    workspace_bytes: int = 0
    variables: tuple[int, ...] = ()
    micro_kernels: frozenset[str] = frozenset()
    callees: tuple["Callee", ...] = ()


@dataclass(frozen=True)
class Callee:
    """A PrimFunc that a kernel calls: its C name, and what the C says above it."""

    name: str
    function: Any
    comment: str


UNSIGNED = "ethosgen_unsigned"
"""An option of ours: an int8 operator was uint8 (see twins.py), and LiteRT's reference kernel for
that is the measure."""


Build = Callable[[Operator, Sequence[Tensor]], Kernel]
"""An operator's function: from the operator and all tensors of its graph to a Kernel."""

OUTPUT = -1
"""For `decided_by`: the type of the first output decides."""


@dataclass(frozen=True)
class Registration:
    """An operator's function for one dtype, and the declarations about it (see `operator`)."""

    code: str
    dtype: str
    build: Build
    ulp: int
    litert: bool
    decided_by: int | None
    cycles: Cycles | None


def operator(
    *codes: str,
    dtypes: tuple[str, ...],
    ulp: int = 0,
    litert: bool = False,
    decided_by: int | None = None,
    cycles: Cycles | None = None,
) -> Callable[[Build], Build]:
    """Register the decorated function for these operators and dtypes.

    The dtype is that of the first input, else of the present input number `decided_by`, or of the
    output (OUTPUT). `ulp` is the greatest difference from the oracle's results, in numbers of their
    type. The oracle is TFLite Micro, or with `litert` LiteRT's reference kernels, for what TFLite
    Micro lacks. `cycles` estimates the cost. `decided_by` and `cycles` hold for all dtypes of a
    code; one of its registrations declares them.
    """

    def declare(build: Build) -> Build:
        found = [
            Registration(code, dtype, build, ulp, litert, decided_by, cycles)
            for code in codes
            for dtype in dtypes
        ]
        build.registrations = [*getattr(build, "registrations", ()), *found]  # type: ignore[attr-defined]
        return build

    return declare


LIBRARY_ULP = 4
"""For functions of the C library (expf, tanhf), which may round either way."""


def code_of(op: Operator) -> str:
    """Return the name by which an operator is registered: TFLite's, or that of a custom one."""
    return op.custom_code or op.code


def deciding_dtype(op: Operator, tensors: Sequence[Tensor]) -> str:
    """Return the dtype by which an operator's function is found; "no input" if it has none."""
    position = _by_code()[0].get(op.code, 0)
    if position == OUTPUT:
        return tensors[op.outputs[0]].dtype
    present = [i for i in op.inputs if i != ABSENT]
    return tensors[present[position]].dtype if position < len(present) else "no input"


def estimate_cycles(op: Operator, tensors: Sequence[Tensor]) -> int | None:
    """Return the estimated cycles of one run on the CPU; None if nobody counted this operator's."""
    cycles = _by_code()[1].get(op.code)
    return total(cycles, op, tensors) if cycles is not None and op.outputs else None


@cache
def registry() -> dict[tuple[str, str], Registration]:
    """Return every registration by (code, dtype), read from what `@operator` marked."""
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


@cache
def _by_code() -> tuple[dict[str, int], dict[str, Cycles]]:
    """Return what holds for an operator in all dtypes: the deciding input, and the cost."""
    deciding: dict[str, int] = {}
    costs: dict[str, Cycles] = {}
    for (code, dtype), one in registry().items():
        decided_by = one.decided_by
        if decided_by is not None and deciding.setdefault(code, decided_by) != decided_by:
            raise InternalError(f"{code} of {dtype} names a second deciding input")
        if one.cycles and costs.setdefault(code, one.cycles) is not one.cycles:
            raise InternalError(f"{code} of {dtype} declares a second estimate of its cycles")
    return deciding, costs
