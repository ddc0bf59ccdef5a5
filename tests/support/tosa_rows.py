"""What becomes of TOSA's operators: on which NPU, and exact or not."""

from dataclasses import dataclass

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests.support.tosa_cases import CASES
from tests.support.tosa_networks import TosaBuilder
from tests.support.trials import Trial, plan_for, try_network

U85 = "ethos-u85-256"
INSTANCES = 8
SAMPLES = 3


@dataclass(frozen=True)
class TosaRow:
    """A trial with U55-128 and without an NPU; `on_u85` counts the operators on a U85-256."""

    trial: Trial
    on_u85: int


def case_network(name: str, instances: int = INSTANCES) -> tuple[Network, list[Arrays]]:
    """Return a network with random instances of an operator, and samples for it."""
    net = TosaBuilder(name.lower(), seed=sum(map(ord, name)))
    network = net.network(*(CASES[name](net) for _ in range(instances)))
    return network, [net.sample() for _ in range(SAMPLES)]


def operator_row(name: str) -> TosaRow:
    """Return an operator's row; U85 gets each instance as a network of its own."""
    network, samples = case_network(name)
    trial = try_network(network, name, samples, None, "TOSA's reference model")
    net = TosaBuilder(name.lower(), seed=sum(map(ord, name)))
    taken = 0
    for _ in range(INSTANCES):
        alone = TosaBuilder(name.lower())
        alone.random = net.random  # the same instances again
        taken += on_u85(alone.network(CASES[name](alone)))
    return TosaRow(trial, taken)


def on_u85(network: Network) -> int:
    """Return the number of operators that a U85 runs: none if Vela does not take them at once."""
    try:
        return plan_for(network, U85).npu_operators or 0
    except UnsupportedError:
        return 0
