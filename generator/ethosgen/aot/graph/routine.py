"""A subgraph as a C function, for the kernel of the operator that runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ethosgen.aot.graph.subgraphs import Subgraph
from ethosgen.aot.tir.kernel import Callee, MarkedStep
from ethosgen.values.profile import ProgramStep
from ethosgen.values.program import Constant

WORKSPACE = "workspace"


@dataclass(frozen=True)
class Routine:
    """A subgraph's function and its parameters.

    The parameters are pointers, named by role in `parameters`: "input 0", "constant 0", "output 0",
    "variable 0", "workspace", numbered within each kind; unused ones are omitted. `types` are their
    types. `direct` are the outputs that can overwrite the inputs that they replace. `steps` are its
    calls, and those in nested subgraphs after the step that runs them.
    """

    name: str
    parameters: tuple[str, ...]
    types: Mapping[str, Any]
    constants: tuple[Constant, ...]
    workspace_bytes: int
    callees: tuple[Callee, ...]
    direct: frozenset[int]
    sources: frozenset[str]
    steps: tuple[MarkedStep, ...]


class CompileRoutine(Protocol):
    """Compiles a subgraph; a kernel that runs one gets the function in its option COMPILE."""

    def __call__(
        self, subgraph: Subgraph, name: str, place: str, *, replaces: Sequence[int] = ()
    ) -> Routine:
        """Compile a subgraph to a function `name`; messages call it `place`.

        `replaces` gives, for each output, the number of the input that it replaces in the next
        iteration; it is empty outside of loops. UnsupportedError names an operator without code.
        """


COMPILE = "compile"
"""Option with a CompileRoutine, added to a lifted operator before its kernel is built."""


def within(
    steps: Sequence[MarkedStep], before: int, branch: str, subgraph: str
) -> list[MarkedStep]:
    """Return a routine's steps as part of a kernel that already has `before` steps."""

    def moved(step: ProgramStep) -> ProgramStep:
        if step.inside:
            return behind(step, before)
        return replace(step, branch=branch, subgraph=subgraph)

    return [replace(marked, step=moved(marked.step)) for marked in steps]


def behind(step: ProgramStep, by: int) -> ProgramStep:
    """Return a subgraph's step, renumbered to follow `by` other steps."""
    return replace(step, inside=step.inside + by)
