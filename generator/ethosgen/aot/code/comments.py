"""The comments above the functions in the generated C."""

from collections.abc import Mapping, Sequence

from ethosgen.aot.code.module import partition_name, wait_symbol
from ethosgen.aot.kernels import NamedKernel
from ethosgen.aot.schedule.schedule import Step, StepSchedule


def describe_functions(
    schedule: StepSchedule, kernels: Mapping[int, NamedKernel], name: str
) -> Mapping[str, str]:
    """Return a comment for each static function, in the order of the C file."""
    comments = {}
    for index, step in enumerate(schedule.steps):
        if step.partition:
            symbol = partition_name(schedule, step.partition, name)
            why = step.partition.why_it_ends
            where = step.partition.backend or "NPU"
            comments[symbol] = f"{where}: {step.partition.name}" + (f"; {why}" if why else "")
            if index in schedule.waits:
                awaited = f"{where}: wait for {step.partition.name}"
                comments[wait_symbol(schedule, index, name)] = awaited
        else:
            comments |= {callee.name: callee.comment for callee in kernels[index].kernel.callees}
            comments[kernels[index].name] = describe_step(schedule, index)
    return comments


def describe_step(schedule: StepSchedule, index: int) -> str:
    """Return the comment for a CPU operator."""
    step = schedule.steps[index]

    def ends(indices: Sequence[int]) -> str:
        tensors = (schedule.graph.tensors[i] for i in indices)
        return ", ".join(f"{t.dtype} {'x'.join(map(str, t.shape)) or '1'}" for t in tensors)

    reads, writes = ends(schedule.reads(step)), ends(schedule.writes(step))
    return (
        f"CPU: {name_codes(step)}"
        + (f", {reads}" if reads else "")
        + (f" to {writes}" if writes else "")
    )


def name_codes(step: Step) -> str:
    """Return the codes of a step's operators, including fused ones."""
    return " + ".join(op.custom_code or op.code for op in (step.operator, *step.tail))
