"""The processor's share of a plan by stored costs, where nothing counts instructions."""

from collections.abc import Mapping

from ethosgen.cycles.pace import PACE, SOURCE
from ethosgen.values.plan import Plan
from ethosgen.values.program import Program
from ethosgen.values.time import CpuTime


def stored_time(plan: Plan, core: str, hz: int | None, start_cycles: int = 0) -> CpuTime | None:
    """Return the share of a plan's operators on a core, None for a core without a pace.

    `start_cycles` are for the start of each of the NPU's partitions. The sum leaves out the work of
    users' accelerators.
    """
    if core not in PACE:
        return None
    costs = stored_costs(plan)
    starts = start_cycles * sum(partition.on_npu for partition in plan.partitions)
    cycles = paced(core, starts + sum(filter(None, costs.values())))
    unknown = tuple(dict.fromkeys(unknown_operators(plan, costs)))
    return CpuTime(cycles, hz, SOURCE, is_counted=False, unknown=unknown)


def slice_time(program: Program, core: str, hz: int | None) -> CpuTime | None:
    """Return the share of the longest slice, None without slices or for a core without a pace."""
    if core not in PACE or not program.slices:
        return None
    costs = stored_costs(program.plan)
    most = max(
        sum(share * (costs.get(index) or 0) for index, share in step.shares.items())
        for step in program.slices
    )
    return CpuTime(paced(core, round(most)), hz, SOURCE, is_counted=False)


def paced(core: str, instructions: int) -> int:
    """Return the cycles of instructions on a core; one each if its pace is unknown."""
    return round(PACE.get(core, 1.0) * instructions)


def unknown_operators(plan: Plan, costs: Mapping[int, int | None]) -> list[str]:
    """Return the names of the CPU operators that have no stored cost."""
    names = {op.index: op.title for op in plan.residual.operators}
    return [names[index] for index, cost in costs.items() if cost is None]


def stored_costs(plan: Plan) -> dict[int, int | None]:
    """Return the estimated instructions of each CPU operator by index, None where unknown."""
    on_cpu = {cpu.operator for cpu in plan.cpu_operators}
    operators = [op for op in plan.residual.operators if op.index in on_cpu]
    if not operators:
        return {}
    from ethosgen.aot import cpu_cycles  # it imports TVM

    return {op.index: cpu_cycles(op, plan.residual, plan.extension) for op in operators}
