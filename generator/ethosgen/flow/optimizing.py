"""The optimizer in the flow: between reading a network and planning it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ethosgen.backend import compiler_of
from ethosgen.backend.protocol import CpuSide
from ethosgen.flow.wrapping import estimate
from ethosgen.optimizer import Optimized, optimize
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import FREE
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.optimization import DEFECT
from ethosgen.values.plan import OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.equality import difference
from ethosgen.verdict.planner import Planner


@dataclass(frozen=True)
class Costing:
    """The basis of a plan's estimate: the CPU's side, and the cycles that start a partition.

    `arena_bytes` compiles a plan and returns its arena's size.
    """

    cpu: CpuSide
    start: int
    arena_bytes: Callable[[Plan], int]

    @classmethod
    def of(
        cls, cpu: CpuSide, accelerator: Accelerator | None, arena_bytes: Callable[[Plan], int]
    ) -> "Costing":
        """Return it for an NPU, or for none."""
        start = compiler_of(accelerator).start_cycles if accelerator else 0
        return cls(cpu, start, arena_bytes)

    def cycles(self, plan: Plan | None) -> "Cycles":
        """Estimate an inference, without the check's corrections; None if it is refused."""
        try:
            return None if plan is None else estimate(plan, self.cpu, self.start)
        except UnsupportedError:
            return None


def optimized_for(
    network: Network, options: OffloadOptions, planner: Planner, costing: Costing, watch: Watch
) -> Optimized | None:
    """Return the optimizer's result, None if it found nothing or is not used.

    Its network is the one to plan: the original, with the reason, if the changed one is estimated
    to need more cycles, because kernels and the NPU work in blocks of channels, if it saves less
    than the estimate's error, if its arena grows by more than the cycles shrink, or if an oracle
    computes other outputs from it.
    """
    if not options.optimize:
        return None
    with watch.phase("optimize", "looking for what cannot change the outputs"):
        optimized = optimize(network)
        if optimized is None:
            return None
        changed = optimized.network
        plans = _planned(network, planner), _planned(changed, planner)
        was, now = costing.cycles(plans[0]), costing.cycles(plans[1])
        doubt = _dearer(was, now) or _too_little(optimized, network, was, now)
        if optimized.facts.has_fewer_channels and not doubt:
            doubt = _larger(costing, plans, was, now)
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


def _larger(
    costing: Costing, plans: tuple[Plan | None, Plan | None], was: Cycles, now: Cycles
) -> str:
    """Return that the arena grows by a larger part than the cycles shrink, else "".

    Rows of bands and of outputs over inputs consist of whole words: a channel less can end them.
    """
    before, after = plans
    if before is None or after is None or not was or not now or not was[1]:
        return ""
    try:
        old, new = costing.arena_bytes(before), costing.arena_bytes(after)
    except UnsupportedError:
        return ""  # whoever compiles the plan says so
    if new <= old or new / max(old, 1) - 1 <= 1 - now[1] / was[1]:
        return ""
    return f"the arena would have {counted(new - old, 'byte')} more"


def _planned(network: Network, planner: Planner) -> Plan | None:
    try:
        return planner.plan(network, FREE)
    except UnsupportedError:
        return None
