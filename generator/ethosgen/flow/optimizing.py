"""The optimizer in the flow: between reading a network and planning it."""

from dataclasses import dataclass, replace

from ethosgen.backend import compiler_of, is_compiled
from ethosgen.backend.protocol import CpuSide
from ethosgen.flow.wrapping import estimate
from ethosgen.optimizer import Optimized, optimize
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import FREE
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.optimization import DEFECT
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.watch import Watch
from ethosgen.verdict.equality import difference
from ethosgen.verdict.planner import Planner


@dataclass(frozen=True)
class Costing:
    """The basis of a plan's estimate: the CPU's side, and the cycles that start a partition."""

    cpu: CpuSide
    start: int

    @classmethod
    def of(cls, cpu: CpuSide, accelerator: Accelerator | None) -> "Costing":
        """Return it for an NPU, or for none."""
        return cls(cpu, compiler_of(accelerator).start_cycles if accelerator else 0)


def optimized_for(
    network: Network, options: OffloadOptions, planner: Planner, costing: Costing, watch: Watch
) -> Optimized | None:
    """Return the optimizer's result, None if it found nothing or is not used.

    Its network is the one to plan: the original, with the reason, if the changed one is estimated
    to need more cycles, because kernels and the NPU work in blocks of channels, if it saves less
    than the estimate's error, or if an oracle computes other outputs from it. Precompiled networks
    are used unchanged.
    """
    if not options.optimize or is_compiled(network):
        return None
    with watch.phase("optimize", "looking for what cannot change the outputs"):
        optimized = optimize(network)
        if optimized is None:
            return None
        changed = optimized.network
        was, now = _cycles(network, planner, costing), _cycles(changed, planner, costing)
        doubt = _dearer(was, now) or _too_little(optimized, network, was, now)
        if options.check and not doubt:
            wrong = difference(network, changed, options.oracle)
            doubt = f"{wrong}, {DEFECT}" if wrong else ""
        if not doubt:
            return optimized
        return Optimized(network, replace(optimized.facts, kept=doubt))


WORTHWHILE = 0.99
"""The share of cycles or weights that a changed network may still need: estimates are not exact."""
Cycles = tuple[int, int] | None
"""The operators of unknown cost, and the cycles of the others; None if the compiler refuses."""


def _dearer(was: Cycles, now: Cycles) -> str:
    """Return why a changed network costs more than the original, "" if it does not."""
    if was is None or (now is not None and now <= was):
        return ""
    if now is None:
        return "it would be refused"
    if now[0] > was[0]:
        return "the cost of more operators would be unknown"
    return f"an inference would take {counted(now[1] - was[1], 'cycle')} more"


def _too_little(optimized: Optimized, network: Network, was: Cycles, now: Cycles) -> str:
    """Return that a changed network with as many operators saves almost nothing, else ""."""
    facts = optimized.facts
    is_smaller = facts.weights_after < WORTHWHILE * facts.weights_before
    is_quicker = was is not None and now is not None and now[1] < WORTHWHILE * was[1]
    counts = [sum(len(g.operators) for g in n.graphs) for n in (network, optimized.network)]
    if is_smaller or is_quicker or was is None or counts[1] < counts[0]:
        return ""
    return "it would save less than 1 % of the cycles and of the weights"


def _cycles(network: Network, planner: Planner, costing: Costing) -> Cycles:
    """Estimate an inference, without the check's corrections."""
    try:
        return estimate(planner.plan(network, FREE), costing.cpu, costing.start)
    except UnsupportedError:
        return None
