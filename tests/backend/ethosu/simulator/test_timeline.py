"""When the NPU's operations work, and which bytes they use."""

from itertools import pairwise

import pytest

from ethosgen.backend.timeline import ARENA, DMA_UNIT, NPU_UNIT, WEIGHTS, NpuTimeline
from tests.support.reports import CUT, DIGITS, observe, pmu_cycles

NPUS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")


def timelines(npu: str, cpu_ops: tuple[str, ...] = ()) -> list[NpuTimeline]:
    return list(observe(npu=npu, cpu_ops=cpu_ops).timelines.values())


@pytest.mark.parametrize("npu", NPUS)
def test_cycles_are_those_of_the_performance_monitor(npu: str) -> None:
    both = timelines(npu, CUT)
    assert len(both) == 2
    assert sum(timeline.cycles for timeline in both) == pmu_cycles(DIGITS, npu, CUT)
    for timeline in both:
        assert sum(event.cycles for event in timeline.events) == timeline.cycles


@pytest.mark.parametrize("npu", NPUS)
def test_a_unit_does_one_thing_at_a_time(npu: str) -> None:
    (whole,) = timelines(npu)
    for unit in (NPU_UNIT, DMA_UNIT):
        own = [event for event in whole.events if event.unit == unit]
        assert own, unit
        assert all(event.end <= other.start for event, other in pairwise(own))
    copies = [event for event in whole.events if event.unit == DMA_UNIT]
    work = [event for event in whole.events if event.unit == NPU_UNIT]
    assert any(c.start < w.end and w.start < c.end for c in copies for w in work)


@pytest.mark.parametrize("npu", NPUS)
def test_a_copy_belongs_to_the_operator_that_reads_it(npu: str) -> None:
    (whole,) = timelines(npu)
    assert all(event.operator is not None for event in whole.events)
    copied = {b.operator: b for b in whole.buffers if b.is_copy}
    assert copied
    for operator, buffer in copied.items():
        assert whole.events[buffer.first].unit == DMA_UNIT
        assert whole.events[buffer.first].operator == operator
        assert whole.events[buffer.last].unit == NPU_UNIT
        assert whole.events[buffer.last].operator == operator


def test_live_buffers_share_no_byte() -> None:
    (whole,) = timelines("ethos-u55-128")
    for place, buffer in enumerate(whole.buffers):
        for other in whole.buffers[place + 1 :]:
            both = max(buffer.first, other.first) < min(buffer.last, other.last)
            apart = (
                buffer.offset + buffer.bytes <= other.offset
                or other.offset + other.bytes <= buffer.offset
            )
            assert apart or not both, (buffer, other)
    assert {b.memory for b in whole.buffers} == {ARENA}
    assert whole.buffers[0].is_given and whole.buffers[0].bytes == 64  # the image


def test_encoded_weights_are_all_that_the_convolutions_read() -> None:
    (whole,) = timelines("ethos-u55-128")
    graph = observe().network.graph
    with_weights = {
        op.index
        for op in graph.operators
        if op.code in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
    }
    assert set(whole.encoded) == with_weights
    read = sum(
        event.read.get(WEIGHTS, 0) for event in whole.events if event.operator in with_weights
    )
    assert sum(whole.encoded.values()) == read  # each is read or copied once
