"""What becomes of TOSA's operators: on which NPU, and exact or not."""

from dataclasses import astuple, dataclass

import numpy as np

from ethosgen.values.errors import NpuFault, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer
from tests.support.tosa_cases import CASES
from tests.support.tosa_fused import FUSED
from tests.support.tosa_networks import TosaBuilder
from tests.support.trials import Trial, plan_for, try_network

U85 = "ethos-u85-256"
INSTANCES = 8
SAMPLES = 3


@dataclass(frozen=True)
class U85Row:
    """Operators on a U85-256, and their outputs; `undefined` networks end in a fault instead."""

    operators: int = 0
    elements: int = 0
    mismatches: int = 0
    undefined: int = 0

    def __add__(self, other: "U85Row") -> "U85Row":
        both = zip(astuple(self), astuple(other), strict=True)
        return U85Row(*(count + more for count, more in both))


@dataclass(frozen=True)
class TosaRow:
    """A trial with U55-128 and without an NPU, and what a U85-256 does."""

    trial: Trial
    u85: U85Row


def case_network(name: str, instances: int = INSTANCES) -> tuple[Network, list[Arrays]]:
    """Return a network with random instances of an operator, and samples for it."""
    net = TosaBuilder(name.lower(), seed=sum(map(ord, name)))
    case = (CASES | FUSED)[name]
    network = net.network(*(case(net) for _ in range(instances)))
    return network, [net.sample() for _ in range(SAMPLES)]


def operator_row(name: str) -> TosaRow:
    """Return an operator's row; U85 gets each instance as a network of its own."""
    network, samples = case_network(name)
    trial = try_network(network, name, samples, None, "TOSA's reference model")
    return TosaRow(trial, u85_row(name))


def u85_row(name: str) -> U85Row:
    """Run each instance of an operator on a U85; return the sums."""
    net = TosaBuilder(name.lower(), seed=sum(map(ord, name)))
    total = U85Row()
    for _ in range(INSTANCES):
        alone = TosaBuilder(name.lower())
        alone.random = net.random  # the same instances again
        network = alone.network(CASES[name](alone))
        alone.random = np.random.default_rng(INSTANCES)
        total += _on_u85(network, [alone.sample() for _ in range(SAMPLES)])
    return total


def _on_u85(network: Network, samples: list[Arrays]) -> U85Row:
    plan = _u85_plan(network)
    if plan is None or not plan.npu_operators:
        return U85Row()
    taken = plan.npu_operators
    try:
        outputs = simulate_samples(plan, samples, Watch())
    except NpuFault:
        return U85Row(taken, undefined=1)
    compared = golden_answer(network, samples).against(outputs)
    return U85Row(taken, compared.elements, compared.mismatches)


def on_u85(network: Network) -> int:
    """Return the number of operators that a U85 runs: none if Vela does not take them at once."""
    plan = _u85_plan(network)
    return (plan.npu_operators or 0) if plan else 0


def _u85_plan(network: Network) -> Plan | None:
    try:
        return plan_for(network, U85)
    except UnsupportedError:
        return None
