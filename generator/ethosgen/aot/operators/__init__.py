"""The CPU operators: one module per family, one function per operator.

To add one, write a function from (Operator, tensors) to a Kernel, decorate it with `@operator`, and
name its module in `FAMILIES` of `ethosgen.aot.registry`. Nothing else needs to change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ethosgen.aot.cost import Cycles
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

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


@dataclass(frozen=True)
class Registered:
    """A build function, and its registrations."""

    build: Build
    registrations: tuple[Registration, ...]

    def __call__(self, operator: Operator, tensors: Sequence[Tensor]) -> Kernel:
        """Build the kernel of an operator."""
        return self.build(operator, tensors)


def operator(
    *codes: str,
    dtypes: tuple[str, ...],
    ulp: int = 0,
    litert: bool = False,
    decided_by: int | None = None,
    cycles: Cycles | None = None,
    in_place: bool = False,
) -> Callable[[Build], Registered]:
    """Register the decorated function for these operators and dtypes.

    The dtype is that of the first input, of the present input number `decided_by`, or of the first
    output (OUTPUT). `ulp` is the largest allowed difference from the oracle's results in units in
    the last place. The oracle is TFLite Micro or, with `litert` (for operators that TFLite Micro
    lacks), LiteRT's reference kernels. `cycles` estimates the cost. An `in_place` operator works
    element by element: it reads an element of an equally large input for the last time before it
    writes that of the output, so both may have one address. `decided_by`, `cycles` and `in_place`
    apply to all dtypes of a code; one of its registrations declares them.
    """

    def declare(build: Build) -> Registered:
        known = build if isinstance(build, Registered) else Registered(build, ())
        more = tuple(
            Registration(code, dtype, known.build, ulp, litert, decided_by, cycles, in_place)
            for code in codes
            for dtype in dtypes
        )
        return Registered(known.build, (*known.registrations, *more))

    return declare


LIBRARY_ULP = 4
"""The tolerance for C library functions (expf, tanhf), which can round up or down."""
