"""Backends: families of accelerators that run parts of a network instead of the CPU.

Nobody but this registry imports one. A family is loaded on first use, its compiler and its
simulator only when a plan needs them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from ethosgen.values.accelerator import Accelerator
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown


@dataclass(frozen=True)
class Memories:
    """A board's memories as compilers know them.

    `mode` is the memory mode, `near_bytes` the size of the SRAM in which the accelerator works: the
    one that is reserved for it, or else the arena's.
    """

    mode: str
    near_bytes: int


class Backend(Protocol):
    """What the stages ask of a family of accelerators."""

    @property
    def family(self) -> str:
        """The name of the family, as in Accelerator.family."""

    @property
    def accelerators(self) -> Mapping[str, Accelerator]:
        """Its accelerators by name, in the order in which users see them."""

    @property
    def default(self) -> str:
        """The accelerator's name if neither the user nor a board nor a compiled file has one."""

    def objection(self, accelerator: Accelerator, memory_mode: str) -> str:
        """Return why an accelerator does not support a memory mode, "" if it does."""

    def firmware_facts(self, accelerator: Accelerator, memories: Memories) -> Mapping[str, Any]:
        """Return the values for the project's templates."""


@cache
def backends() -> Sequence[Backend]:
    """Return all backends; the first one's default is the default."""
    from ethosgen.backend.ethosu.family import ETHOS_U

    return (ETHOS_U,)


def backend_of(accelerator: Accelerator) -> Backend:
    """Return the backend that compiles for an accelerator and simulates it."""
    return next(one for one in backends() if one.family == accelerator.family)


def accelerators() -> Mapping[str, Accelerator]:
    """Return all accelerators by name, in the order in which users see them."""
    return {name: known for one in backends() for name, known in one.accelerators.items()}


def default_accelerator() -> Accelerator:
    """Return the accelerator if neither the user nor a board nor a compiled file names one."""
    first = backends()[0]
    return first.accelerators[first.default]


def find_accelerator(name: str) -> Accelerator:
    """Return the accelerator of that name; InputError lists the known ones."""
    known = accelerators()
    if name not in known:
        raise InputError(unknown("NPU", name, known))
    return known[name]
