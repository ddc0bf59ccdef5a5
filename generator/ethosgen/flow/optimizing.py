"""The optimizer's place in the flow: between reading a network and planning it."""

from collections.abc import Callable
from dataclasses import replace

from ethosgen.backend import compiler_of, is_compiled
from ethosgen.backend.protocol import DivisionTask
from ethosgen.flow.wrapping import estimate
from ethosgen.optimizer import Optimized, optimize
from ethosgen.values.allocation import FREE
from ethosgen.values.errors import RefusalError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.watch import Watch
from ethosgen.verdict.equality import difference

Task = Callable[[Network], DivisionTask | None]
"""Returns the NPU's task for a network, None without an NPU."""


def optimized_for(
    network: Network, options: OffloadOptions, task: Task, watch: Watch
) -> Optimized | None:
    """Return what the optimizer found, None if it found nothing, or was not asked.

    Its network is the one to plan. That is the original, with the reason, if the NPU needs more
    cycles for the changed one, because it works in blocks of channels, or if an oracle computes
    something else from it. What others compiled is used unchanged.
    """
    if not options.optimize or is_compiled(network):
        return None
    with watch.phase("optimize", "looking for what cannot change the outputs"):
        optimized = optimize(network)
        if optimized is None:
            return None
        doubt = _dearer(task(network), task(optimized.network))
        if options.check and not doubt:
            wrong = difference(network, optimized.network, options.oracle)
            doubt = f"{wrong}, a defect of ethosgen; please report it" if wrong else ""
        if not doubt:
            return optimized
        return Optimized(network, replace(optimized.facts, kept=doubt))


def _dearer(before: DivisionTask | None, after: DivisionTask | None) -> str:
    """Return why the changed network costs more than the original, "" if it does not.

    On the CPU alone fewer products never cost more.
    """
    if before is None or after is None:
        return ""
    was, now = _cycles(before), _cycles(after)
    if was is None:
        return ""
    if now is None:
        return f"{compiler_of(after.accelerator).compiler} refuses the changed network"
    if now <= was:
        return ""
    more = counted(now[1] - was[1], "cycle")
    return f"{after.accelerator.name} and CPU would need {more} more"


def _cycles(task: DivisionTask) -> tuple[int, int] | None:
    """Return the operators of unknown cost and the cycles of the others, None if refused."""
    compiler = compiler_of(task.accelerator)
    try:
        plan = compiler.compile(task, FREE)
    except RefusalError:
        return None
    return estimate(plan, task.cpu, compiler.start_cycles)
