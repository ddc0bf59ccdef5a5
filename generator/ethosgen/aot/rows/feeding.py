"""Which networks can take their input by rows, or run in slices; others are refused by name."""

from collections.abc import Sequence

from ethosgen.aot.rows.choice import Cut
from ethosgen.aot.rows.reach import QUANTIZED_FROM, has_rows
from ethosgen.aot.rows.streaming import row_steps
from ethosgen.aot.schedule.schedule import StepSchedule
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.plan import IoStyle


def require_slices(schedule: StepSchedule) -> None:
    """Raise UnsupportedError if the options request slices of a network that cannot have them."""
    asked, graph = schedule.plan.options.schedule, schedule.graph
    if not asked.is_sliced:
        return
    option = "--feed" if asked.feed else "--step"
    if schedule.plan.partitions:
        raise UnsupportedError(
            f"{option} is for networks on the CPU alone, and a part of this one runs on "
            f"an accelerator; use --npu none, or leave out {option}"
        )
    if any(schedule.updates(step) for step in schedule.steps):
        raise UnsupportedError(
            f"{option} is for networks without state between inferences, and this one has some; "
            f"leave out {option}"
        )
    if schedule.plan.io is not IoStyle.ARENA:
        raise UnsupportedError(
            f"{option} needs the outputs in the arena, and --io caller has them in buffers of the "
            f"caller; use --io arena, or leave out {option}"
        )
    if asked.feed and len(graph.inputs) != 1:
        raise UnsupportedError(
            f"--feed is for networks with one input, and this one has {len(graph.inputs)}; "
            "leave out --feed"
        )


def require_first(schedule: StepSchedule) -> None:
    """Raise UnsupportedError unless the step that takes fed rows comes before all others."""
    if schedule.feed and not set(schedule.graph.inputs) & set(schedule.reads(schedule.steps[0])):
        code = schedule.steps[0].operator.code
        raise UnsupportedError(
            f"--feed needs a network that begins at its input, not at {code}; leave out --feed"
        )


def require_feed(schedule: StepSchedule, cuts: Sequence[Cut] | None) -> None:
    """Raise UnsupportedError, with the operator that prevents it, if no chain takes the input."""
    if cuts is not None:
        return
    graph = schedule.graph
    (source,) = graph.input_tensors()
    if not has_rows(source, QUANTIZED_FROM):
        shape = "x".join(map(str, source.shape))
        raise UnsupportedError(
            f"--feed needs an input of one picture, int8, int16, uint8 or float32, with rows of "
            f"whole words of 4 bytes, and '{source.name}' is {source.dtype} {shape}; leave out "
            "--feed"
        )
    readers = [step for step in schedule.steps if source.index in schedule.reads(step)]
    able = dict(zip(map(id, schedule.steps), row_steps(schedule), strict=True))
    culprit = next((step for step in readers if not able[id(step)]), readers[0])
    name = graph.tensors[culprit.operator.outputs[0]].name
    why = "does not compute rows" if not able[id(culprit)] else "cannot be in a chain of rows with"
    rest = "" if not able[id(culprit)] else f" the others of {counted(len(readers), 'reader')}"
    raise UnsupportedError(
        f"--feed needs operators that read the input by rows: {culprit.operator.code} "
        f"(to '{name}') {why}{rest}; leave out --feed"
    )
