"""A second plan where an accelerator could work beside the NPU: with inputs and outputs apart.

The NPU's compiler places a network's tensors in its scratch, and may overwrite what an accelerator
reads. If the NPU's partitions get the address of each input and output, the memory plan places them
where nothing disturbs them. The faster program counts, by estimated cycles, if its arena fits.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.program import Program
from ethosgen.values.watch import Watch

Compile = Callable[[Plan], Program]


def faster_program(
    network: Network, settings: PlanSettings, compile_plan: Compile, watch: Watch
) -> Program:
    """Return the program of a network's usual plan, or of one whose ends are apart."""
    program = compile_plan(make_plan(network, settings, watch))
    if not _may_gain(program.plan):
        return program
    apart = replace(settings, is_apart=True)
    limit = settings.options.schedule.arena_bytes
    with suppress(UnsupportedError):  # the usual program remains valid
        other = compile_plan(make_plan(network, apart.unchecked(), Watch()))
        is_fitting = limit is None or other.arena_bytes <= max(limit, program.arena_bytes)
        if is_fitting and other.cycles < program.cycles:
            return compile_plan(make_plan(network, apart, watch))
    return program


def _may_gain(plan: Plan) -> bool:
    """Return whether a plan has the NPU, and an accelerator that could work beside it."""
    if plan.is_precompiled or plan.io is not IoStyle.ARENA:
        return False
    is_started = any(p.call.awaited and not p.call.copies for p in plan.partitions)
    return is_started and any(partition.on_npu for partition in plan.partitions)
