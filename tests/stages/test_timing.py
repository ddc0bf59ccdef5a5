"""Schedules: throughput and latency of pipelines that can be worked out by hand."""

from collections.abc import Sequence

import pytest

from ethosgen.stages.timing import PipelineTiming, Times, Way, busiest_link_s, schedule
from ethosgen.values.mesh import ElementMesh
from ethosgen.values.wiring import HOST, StageEdge, Wiring


def chain(elements: Sequence[Times], latency: float = 0.0) -> PipelineTiming:
    """Return the schedule of a linear pipeline; `latency` is the first link's."""
    ways = [Way(k, k + 1, 0.0 if k else latency) for k in range(len(elements) - 1)]
    return schedule([[times] for times in elements], ways)


def test_one_element() -> None:
    planned = chain([Times(3, 1)])
    assert (planned.interval, planned.latency, planned.full_latency) == (4, 4, 4)


def test_the_slowest_element_gives_the_interval() -> None:
    planned = chain([Times(2, 1), Times(6, 1), Times(1, 1)])
    assert planned.interval == 7
    assert planned.latency == 12


def test_a_full_pipeline_takes_longer_before_a_slow_element() -> None:
    # Two frames wait at the slow element: one in work, one behind it.
    planned = chain([Times(1, 0), Times(10, 0)])
    assert planned.interval == 10
    assert planned.latency == 11
    assert planned.full_latency == pytest.approx(21, abs=10)
    assert planned.full_latency > planned.latency


def test_a_links_latency_adds_to_the_way_and_not_to_the_interval() -> None:
    planned = chain([Times(2, 1), Times(2, 1)], latency=1)
    assert (planned.interval, planned.latency) == (3, 7)


def test_room_for_two_frames_limits_a_long_link() -> None:
    # Every second frame waits for its room: 1 to send it, 5 on the way, 3 until it is handed on.
    planned = chain([Times(2, 1), Times(2, 1)], latency=5)
    assert planned.interval == (1 + 5 + 3) / 2
    assert planned.latency == 11


def test_the_slowest_of_unequal_replicas_gives_the_interval() -> None:
    # One takes four for each second sample, the other two: outputs keep their order.
    planned = schedule([[Times(4, 0), Times(2, 0)]], [])
    assert (planned.interval, planned.latency, planned.full_latency) == (2, 4, 4)


def test_a_join_waits_for_its_slowest_way() -> None:
    # The first sends to both; the last needs both. The short way holds a sample more.
    ways = [Way(0, 1), Way(1, 2), Way(0, 2, room=3)]
    planned = schedule([[Times(2, 0)], [Times(3, 0)], [Times(1, 0)]], ways)
    assert (planned.interval, planned.latency) == (3, 6)


def test_a_short_way_without_room_delays_the_long_one() -> None:
    # With room for one sample on the short way, the first ends a sample when the last has the one
    # before; the second and the last then take four.
    ways = [Way(0, 1), Way(1, 2), Way(0, 2, room=1)]
    planned = schedule([[Times(2, 0)], [Times(3, 0)], [Times(1, 0)]], ways)
    assert planned.interval == 4


def test_two_branches_run_at_the_same_time() -> None:
    ways = [Way(0, 1), Way(0, 2), Way(1, 3), Way(2, 3)]
    planned = schedule([[Times(1, 0)], [Times(5, 0)], [Times(4, 0)], [Times(1, 0)]], ways)
    assert (planned.interval, planned.latency) == (5, 7)


def test_replicas_share_the_samples() -> None:
    slow = [Times(6, 0)]
    for count, interval in ((1, 6), (2, 3), (3, 2), (4, 1.5)):
        ways = [Way(0, 1, room=4 * count), Way(1, 2, room=4 * count)]
        planned = schedule([[Times(1, 0)], slow * count, [Times(1, 0)]], ways)
        assert planned.interval == pytest.approx(interval, rel=0.05)
        assert planned.latency == 8


def test_hand_overs_share_a_link_of_a_mesh() -> None:
    # A frame of 28 bytes has 64 with header and end, which a packet carries in 70.
    ends = ((HOST, 0), (0, 1), (0, 2), (1, 2), (2, HOST))
    edges = tuple(StageEdge(a, b, (0,), 28) for a, b in ends)
    # In a row: the host's frames for 0; from 0 to 1, also those for 2; back, those for the host.
    assert busiest_link_s(ElementMesh(3, 1, 3), Wiring((1, 1, 1), edges), 1000) == pytest.approx(
        0.14
    )
    # In a column of two replicas of 1, the second one's share passes the first.
    shared = busiest_link_s(ElementMesh(1, 4, 4), Wiring((1, 2, 1), edges), 1000)
    assert shared == pytest.approx(0.14)
