"""The work of NPU, DMA and CPU over time, on one axis of cycles."""

from collections.abc import Iterator, Sequence

from ethosgen.report.calls import CallFacts
from ethosgen.report.content import Event
from ethosgen.values.plan import CPU


def make_timeline(calls: Sequence[CallFacts]) -> tuple[Event, ...]:
    """Return the events of one inference.

    The operators of a subgraph have their own events, after that of the operator that runs it.
    """
    return tuple(event for call in calls for event in _events(call))


def _events(call: CallFacts) -> Iterator[Event]:
    step, now = call.step, call.npu_start
    if call.cpu_cycles or call.device_cycles:
        lane = CPU if call.partition is None or call.partition.on_npu else call.partition.unit
        lane = CPU if step.is_wait else lane
        name = f"wait for {step.name}" if step.is_wait else step.name
        name = f"start of {step.name}" if call.timeline else name
        is_one = call.partition is None or len(call.operators) == 1
        operator = call.operators[0] if call.operators and is_one else None
        yield Event(lane, name, operator, call.number, call.start, now + call.device_cycles)
    for event in call.timeline.events if call.timeline else ():
        yield Event(
            event.unit,
            event.name,
            call.operator_of(event),
            call.number,
            now + event.start,
            now + event.end,
            event.macs,
            event.read,
            event.written,
        )


def end_of(timeline: Sequence[Event]) -> int:
    """Return the last cycle."""
    return max((event.end for event in timeline), default=0)
