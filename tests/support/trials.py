"""Runs a network on the NPU model and the CPU; compares it with its oracle and its runtime."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ethosgen.backend import find_accelerator
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.values.fidelity import Fidelity, compare_fidelity
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer

NPU = "ethos-u55-128"


@dataclass(frozen=True)
class Trial:
    """The figures of one network: mismatches with the oracle, and fidelity.

    `npu` and `cpu` count elements that differ with the NPU and without, the latter None if it did
    not run; `outputs` are those with the NPU.
    """

    name: str
    npu: int
    cpu: int | None
    elements: int
    fidelity: Fidelity
    oracle: str
    plan: Plan = field(repr=False)
    outputs: Sequence[Arrays] = field(repr=False)
    samples: Sequence[Arrays] = field(repr=False)

    @property
    def on_npu(self) -> int:
        """The number of operators on the NPU."""
        return sum(len(partition.operators) for partition in self.plan.partitions)

    @property
    def on_cpu(self) -> tuple[str, ...]:
        """The operators on the CPU, each with the reason."""
        return tuple(f"{operator.code}: {operator.reason}" for operator in self.plan.cpu_operators)


def try_network(
    network: Network,
    name: str,
    samples: Sequence[Arrays],
    theirs: Sequence[Arrays] | None,
    title: str,
    *,
    alone: bool = True,
) -> Trial:
    """Compare a network with its oracle, and with `theirs`, the outputs of the runtime `title`.

    None as `theirs` means that the oracle is the network's own runtime: fidelity is skipped.
    `alone` runs the network on the CPU alone, too.
    """
    golden = golden_answer(network, samples)
    plan = plan_for(network, NPU)
    outputs = simulate_samples(plan, samples, Watch())
    compared = golden.against(outputs)
    cpu = None
    if alone:
        on_cpu = simulate_samples(plan_for(network, None), samples, Watch())
        cpu = golden.against(on_cpu).mismatches
    fidelity = Fidelity(title, skipped="it is the oracle")
    if theirs is not None:
        fidelity = compare_fidelity(network, outputs, theirs, title, "", None)
    return Trial(
        name,
        compared.mismatches,
        cpu,
        compared.elements,
        fidelity,
        golden.oracle.name,
        plan,
        outputs,
        samples,
    )


def plan_for(network: Network, npu: str | None) -> Plan:
    """Return a network's plan for an NPU, or for the CPU alone."""
    accelerator = find_accelerator(npu) if npu else None
    return make_plan(network, PlanSettings(accelerator, OffloadOptions(check=False)), Watch())
