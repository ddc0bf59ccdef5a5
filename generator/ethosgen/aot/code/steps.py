"""The steps of the generated C, as a profile counts them: calls of entries, in order.

A subgraph's entry has steps, too. Kernels are built before their steps have numbers, so hooks
contain marks until the whole program is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ethosgen.aot.code.comments import name_codes
from ethosgen.aot.code.entry import Body, makers
from ethosgen.aot.code.module import waited_name
from ethosgen.aot.code.passes import mark
from ethosgen.aot.graph.routine import behind
from ethosgen.aot.schedule.schedule import StepSchedule
from ethosgen.aot.tir.kernel import MarkedStep
from ethosgen.values.plan import CPU
from ethosgen.values.profile import NPU, ProgramStep


def describe_steps(body: Body, symbol: str, calls: Sequence[str]) -> tuple[MarkedStep, ...]:
    """Return the steps of the entry `symbol`, each followed by those in its subgraphs.

    `calls` has the first variable that each call makes.
    """
    schedule = body.schedule
    waits = {waited_name(index): index for index in schedule.waits}
    made_by = makers(body)
    marked: list[MarkedStep] = []
    for number, variable in enumerate(map(str, calls), 1):
        index = waits[variable] if variable in waits else made_by[variable]
        marked.append(MarkedStep(symbol, number, _describe(schedule, index, variable in waits)))
        named = body.kernels.get(index)
        inner = named.kernel.steps if named else ()
        place = len(marked)
        marked += (replace(s, step=behind(s.step, place)) for s in inner)
    return tuple(marked)


def number_marks(steps: Sequence[MarkedStep], symbol: str) -> Mapping[str, int]:
    """Return the number of each mark in the entry `symbol` and in the entries of subgraphs.

    After its last step, a subgraph continues with the step that runs it.
    """
    numbers = {mark(symbol): 0}
    for number, marked in enumerate(steps, 1):
        numbers |= {
            mark(marked.entry, marked.number): number,
            mark(marked.entry): marked.step.inside,
        }
    return numbers


def _describe(schedule: StepSchedule, index: int, is_wait: bool = False) -> ProgramStep:
    step = schedule.steps[index]
    partition, tensors = step.partition, schedule.graph.tensors
    written = schedule.writes(step) or schedule.updates(step)
    return ProgramStep(
        name=partition.name if partition else name_codes(step),
        output=tensors[written[0]].name if written else "",
        on=CPU if partition is None else partition.backend or NPU,
        is_wait=is_wait,
    )
