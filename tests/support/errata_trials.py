"""Whether the plan of a network differs from its oracle."""

from collections.abc import Mapping

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import SchedulerGoal, offload
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.allocation import FREE, Kept, OperatorIndex
from ethosgen.values.errors import NpuFault
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer
from tests.support.errata_networks import OPTIMISE, npu_of


def compiled(
    name: str,
    network: Network,
    allocation: Mapping[OperatorIndex, Kept] = FREE,
    npu: str | None = None,
    *,
    is_trusted: bool = False,
) -> Plan:
    """Return Vela's plan, compiled as the erratum of this name needs it, or for another NPU."""
    schedule = SchedulerGoal(OPTIMISE.get(name, "Performance"))
    accelerator = find_accelerator(npu or npu_of(name))
    return offload(
        network, accelerator, allocation=allocation, schedule=schedule, is_trusted=is_trusted
    )


def differs(network: Network, plan: Plan) -> bool:
    """Return whether the plan's outputs differ from the oracle's, or the NPU model faults."""
    samples = draw_samples(network, 10, 1)
    golden = golden_answer(network, samples)
    try:
        return golden.compared(simulate_samples(plan, samples, Watch())).mismatches > 0
    except NpuFault:
        return True
