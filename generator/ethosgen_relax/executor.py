"""The executors of partitions: an NPU, or an accelerator or library that a user describes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from ethosgen import aot
from ethosgen.backend import compiler_of, find_accelerator, load_wrapped, require_simulator
from ethosgen.backend import default_accelerator as default_npu
from ethosgen.backend.protocol import DivisionTask, Offer, Wrapped
from ethosgen.flow import PlanSettings, make_plan
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import FREE, Allocation, OperatorIndex
from ethosgen.values.errors import InputError
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import IoStyle, OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.errata import errata_of
from ethosgen.verdict.exactness import exact_plan

ETHOSU = "ethosu"
MOVES = frozenset({"TRANSPOSE", "RESHAPE"})
"""Operators at a partition's ends that arrange data, and may run on the host's CPU."""
CLAMPS = frozenset({"MAXIMUM", "MINIMUM"})
"""Operators that clamp another's result to a constant, and may run there too."""


class Executor(Protocol):
    """An executor of partitions."""

    @property
    def codegen(self) -> str:
        """The name of its external code generator in TVM, without a dot."""

    @property
    def name(self) -> str:
        """The name, or the folder, by which `executor_of` finds it again."""

    @property
    def steps(self) -> float:
        """The steps by which outputs may differ from the oracle's."""

    @property
    def version(self) -> str:
        """The version of the tool that answers `refusals`."""

    @property
    def moves(self) -> frozenset[str]:
        """Operators of a partition that may stay on the CPU."""

    @property
    def clamps(self) -> frozenset[str]:
        """Operators that may stay on the CPU if they clamp the result of another one."""

    def require(self) -> None:
        """Raise UnsupportedError if it cannot run on this machine."""

    def offers(self, network: Network) -> Mapping[OperatorIndex, Offer]:
        """Return an offer or a refusal for each operator of a network that it considers."""

    def plan(self, network: Network, check: bool) -> Plan:
        """Return a network's plan; `check` compares it with the oracle."""


def executor_of(codegen: str, name: str, steps: float) -> Executor:
    """Return the executor that a partition names; InputError for an unknown name."""
    if codegen == ETHOSU:
        return EthosuExecutor(find_accelerator(name))
    return WrappedExecutor(name, steps)


def find_executor(name: str, steps: float) -> Executor:
    """Return the NPU, shipped accelerator or library, or folder with accelerator.toml of a name.

    InputError for an unknown name.
    """
    try:
        return EthosuExecutor(find_accelerator(name))
    except InputError:
        if name.startswith("ethos-"):
            raise
    folder = Path(name)
    return WrappedExecutor(str(folder.resolve()) if folder.is_dir() else name, steps)


def ethosu_executor(npu: str | None) -> Executor:
    """Return an NPU by name, by default the first that ethosgen supports."""
    return EthosuExecutor(find_accelerator(npu) if npu else default_npu())


@dataclass(frozen=True)
class EthosuExecutor:
    """An Ethos-U, whose operators Vela decides."""

    accelerator: Accelerator
    codegen: str = ETHOSU
    moves: frozenset[str] = frozenset()
    clamps: frozenset[str] = frozenset()
    steps: float = 0.0

    @property
    def name(self) -> str:
        """The NPU's name."""
        return self.accelerator.name

    @property
    def version(self) -> str:
        """Vela's version."""
        return compiler_of(self.accelerator).compiler_version()

    def require(self) -> None:
        """Raise UnsupportedError if the NPU has no functional model."""
        require_simulator(self.accelerator)

    def offers(self, network: Network) -> Mapping[OperatorIndex, Offer]:
        """Return Vela's offers without the operators of errata."""
        task = DivisionTask(network, self.accelerator, IoStyle.ARENA, aot)
        return compiler_of(self.accelerator).offers(task, errata_of(task))

    def plan(self, network: Network, check: bool) -> Plan:
        """Return the plan of the whole flow."""
        settings = PlanSettings(self.accelerator, OffloadOptions(check=check))
        return make_plan(network, settings, Watch())


@dataclass(frozen=True)
class WrappedExecutor:
    """A user's accelerator or library, which takes all operators that it can, at any cost."""

    name: str
    steps: float = 0.0
    moves: frozenset[str] = MOVES
    clamps: frozenset[str] = CLAMPS
    version: str = ""

    @cached_property
    def wrapped(self) -> Wrapped:
        """The accelerator, with the operations whose difference in steps the user allows."""
        return load_wrapped(self.name).allowing(self.steps).lowered_by(aot.c_function)

    @property
    def codegen(self) -> str:
        """The accelerator's name as a C identifier."""
        return self.wrapped.name.replace("-", "_")

    def require(self) -> None:
        """Load it: its own C or model runs here, or our kernels instead."""
        assert self.wrapped

    def offers(self, network: Network) -> Mapping[OperatorIndex, Offer]:
        """Return its offers for a network on the CPU."""
        offered = self.wrapped.offers(plan_cpu_only(network, IoStyle.ARENA), Allocation())
        return {OperatorIndex(index): offer for index, offer in offered.items()}

    def plan(self, network: Network, check: bool) -> Plan:
        """Return a plan with all operators that it takes, except those that differ in the check."""
        return exact_plan(
            network, _WrappedPlanner(self.wrapped), OffloadOptions(check=check), Watch()
        )


@dataclass(frozen=True)
class _WrappedPlanner:
    """Plans networks for one accelerator alone."""

    wrapped: Wrapped
    accelerator: None = None

    def plan(self, network: Network, allocation: Allocation[OperatorIndex]) -> Plan:
        plan = plan_cpu_only(network, IoStyle.ARENA)
        held = allocation.everywhere.in_residual(plan.origins)
        return self.wrapped.compile(plan, held)

    def has_code(self, operator: Operator, graph: Graph) -> bool:
        return aot.can_run(operator, graph)

    def errata(self, _network: Network, _oracle: str) -> Allocation[OperatorIndex]:
        return FREE
