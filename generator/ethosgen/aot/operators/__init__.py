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

_DECIDING_INPUT = {
    "ASSIGN_VARIABLE": 1,
    "EMBEDDING_LOOKUP": 1,
    "FILL": 1,
    "SCATTER_ND": 1,
    "SELECT": 1,
    "SELECT_V2": 1,
    "SPLIT": 1,
    "TRANSPOSE_CONV": 2,
}
"""The input whose type distinguishes builds, if it is not the first."""

_DECIDED_BY_OUTPUT = {"READ_VARIABLE", "VAR_HANDLE"}
"""Operators whose builds go by the output's type."""


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


def operator(
    *codes: str, dtypes: tuple[str, ...], ulp: int = 0, litert: bool = False
) -> Callable[[Build], Build]:
    """Declare that the decorated function builds these operators for these dtypes.

    The dtype is that of `deciding_dtype`: mostly of the first input. `ulp` is by how many numbers
    of their type results may differ from the oracle's; 0 means that they are the same. The oracle
    is TFLite Micro, or with `litert` LiteRT's reference kernels, for what TFLite Micro lacks.
    """

    def declare(build: Build) -> Build:
        builds = [(code, dtype) for code in codes for dtype in dtypes]
        build.builds = [*getattr(build, "builds", ()), *builds]  # type: ignore[attr-defined]
        build.litert = [*litert_builds(build), *(builds if litert else ())]  # type: ignore[attr-defined]
        build.ulp = max(ulp, tolerance_ulp(build))  # type: ignore[attr-defined]
        return build

    return declare


LIBRARY_ULP = 4
"""For functions of the C library (expf, tanhf), which may round either way."""


def tolerance_ulp(build: Build) -> int:
    """Return by how many numbers of their type a function's results may differ from TFLite's."""
    return int(getattr(build, "ulp", 0))


def litert_builds(build: Build) -> list[tuple[str, str]]:
    """Return the operators and dtypes of a function whose oracle is LiteRT."""
    return list(getattr(build, "litert", ()))


def code_of(op: Operator) -> str:
    """Return the name by which an operator is registered: TFLite's, or that of a custom one."""
    return op.custom_code or op.code


def deciding_dtype(op: Operator, tensors: Sequence[Tensor]) -> str:
    """Return the dtype by which an operator's function is found; "no input" if it has none."""
    if op.code in _DECIDED_BY_OUTPUT:
        return tensors[op.outputs[0]].dtype
    present = [i for i in op.inputs if i != ABSENT]
    position = _DECIDING_INPUT.get(op.code, 0)
    return tensors[present[position]].dtype if position < len(present) else "no input"


@cache
def registry() -> dict[tuple[str, str], Build]:
    """Return every operator's function by (code, dtype), read from what `@operator` marked."""
    functions = [
        value
        for family in _FAMILIES
        for value in vars(import_module(f"{__name__}.{family}")).values()
    ]
    return {key: function for function in functions for key in getattr(function, "builds", ())}
