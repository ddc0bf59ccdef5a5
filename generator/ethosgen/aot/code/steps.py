"""The steps of an entry, as a profile counts them: its calls, in order."""

from collections.abc import Mapping, Sequence

from ethosgen.aot.code.comments import name_codes
from ethosgen.aot.code.entry import Body
from ethosgen.aot.code.module import value_name, variable_name, waited_name, workspace_name
from ethosgen.aot.graph.schedule import Schedule
from ethosgen.values.plan import CPU
from ethosgen.values.profile import NPU, ProgramStep


def describe_steps(body: Body, calls: Sequence[str]) -> tuple[ProgramStep, ...]:
    """Return the steps of an entry; `calls` has the first variable that each call makes."""
    schedule = body.schedule
    waits = {waited_name(index): index for index in schedule.waits}
    makers = _makers(body)
    return tuple(
        _describe(schedule, waits[made], is_wait=True)
        if made in waits
        else _describe(schedule, makers[made])
        for made in map(str, calls)
    )


def _makers(body: Body) -> Mapping[str, int]:
    """Return the step that makes each variable of the Relax module."""
    makers: dict[str, int] = {}
    for index, step in enumerate(body.schedule.steps):
        kernel = body.kernels[index].kernel if index in body.kernels else None
        makers |= dict.fromkeys(map(value_name, body.schedule.writes(step)), index)
        makers |= {variable_name(i, index): index for i in (kernel.variables if kernel else ())}
        makers[workspace_name(index)] = index
    return makers


def _describe(schedule: Schedule, index: int, is_wait: bool = False) -> ProgramStep:
    step = schedule.steps[index]
    partition, tensors = step.partition, schedule.graph.tensors
    made = schedule.writes(step) or schedule.updates(step)
    return ProgramStep(
        name=partition.name if partition else name_codes(step),
        output=tensors[made[0]].name if made else "",
        on=CPU if partition is None else partition.backend or NPU,
        is_wait=is_wait,
    )
