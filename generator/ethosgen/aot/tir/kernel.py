"""The kernel of an operator: a function of TIR, its constants and its memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.values.multiples import rounded_up
from ethosgen.values.profile import ProgramStep
from ethosgen.values.program import Structs

KernelConstant = np.ndarray[Any, Any] | Structs
"""An array, or structs of C."""


@dataclass(frozen=True)
class Kernel:
    """An operator as TIR.

    `function` is a PrimFunc whose parameters are typed pointers, in this order: one for each tensor
    index in `inputs` (including constants of the network), one for each of `constants` (generated
    here: multipliers, tables, packed weights, structs), one for each output of the operator, one
    for each tensor in `variables`, which it reads and updates for the next inference, and an int8
    pointer if `workspace_bytes` is not 0. It writes all of its outputs and nothing else.
    The C code uses the parameters' names and omits parameters that the body does not use.
    `sources` names the C files of libraries whose functions it calls. `callees` are
    functions generated for this kernel only, each before its callers. `steps` are the operators of
    its subgraphs.
    """

    function: Any
    inputs: tuple[int, ...]
    constants: tuple[KernelConstant, ...] = ()
    workspace_bytes: int = 0
    variables: tuple[int, ...] = ()
    sources: frozenset[str] = frozenset()
    callees: tuple["Callee", ...] = ()
    steps: tuple["MarkedStep", ...] = ()
    distance: int | None = None
    """Its output may overlap its first input if it begins so many bytes before it, or more: the
    kernel reads and writes both from start to end. None if they must be apart."""
    is_backward: bool = False
    """It reads and writes from end to start; the input may begin `distance` before the output."""
    distance_unit: int = 1
    """The distance must be a multiple of so many bytes: a pixel, if the kernel computes some
    channels of all pixels at a time."""
    in_place: bool = False
    """Whether its output may be exactly where its first input is, if they have the same size."""
    row_tables: int = 0
    """So many of `constants`, the first ones, have an entry for each row of a whole output; a
    kernel of one row reads the entry at the pointer."""

    def shared_bytes(self, read: int, written: int, alignment: int = 1) -> int:
        """Return the most bytes of an output that may lie over the only input, both of known sizes.

        Not where the output takes the input's place (`in_place`).
        """
        if self.distance is None:
            return 0
        lower, upper = (read, written) if self.is_backward else (written, read)
        return max(0, min(lower - rounded_up(self.distance, alignment), upper))

    @property
    def returns_status(self) -> bool:
        """Whether it returns a status, and so can end an inference."""
        return str(getattr(self.function.ret_type, "dtype", "")) == "int32"

    @property
    def arrays(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The constants except structs."""
        return tuple(constant for constant in self.constants if not isinstance(constant, Structs))


@dataclass(frozen=True)
class Callee:
    """A PrimFunc that a kernel calls, its C name, and the comment above it in the C code."""

    name: str
    function: Any
    comment: str


@dataclass(frozen=True)
class MarkedStep:
    """A step of the generated C: call `number`, from 1, of the function `entry`.

    In a kernel or a routine, `inside` counts from its own first step; 0 is the kernel itself.
    """

    entry: str
    number: int
    step: ProgramStep


UNSIGNED = "ethosgen_unsigned"
"""An option that ethosgen adds: this int8 operator was uint8 in the network (see twins.py), so
LiteRT's uint8 reference kernel is the oracle."""
