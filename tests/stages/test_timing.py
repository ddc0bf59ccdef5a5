"""Schedules: throughput and latency of pipelines that can be worked out by hand."""

import pytest

from ethosgen.stages.timing import Times, schedule


def test_one_element() -> None:
    planned = schedule([Times(3, 1)])
    assert (planned.interval, planned.latency, planned.full_latency) == (4, 4, 4)


def test_the_slowest_element_gives_the_interval() -> None:
    planned = schedule([Times(2, 1), Times(6, 1), Times(1, 1)])
    assert planned.interval == 7
    assert planned.latency == 12


def test_a_full_pipeline_takes_longer_before_a_slow_element() -> None:
    # Two frames wait at the slow element: one in work, one behind it.
    planned = schedule([Times(1, 0), Times(10, 0)])
    assert planned.interval == 10
    assert planned.latency == 11
    assert planned.full_latency == pytest.approx(21, abs=10)
    assert planned.full_latency > planned.latency


def test_a_links_latency_adds_to_the_way_and_not_to_the_interval() -> None:
    planned = schedule([Times(2, 1, latency=1), Times(2, 1)])
    assert (planned.interval, planned.latency) == (3, 7)


def test_room_for_two_frames_limits_a_long_link() -> None:
    # Every second frame waits for its room: 1 to send it, 5 on the way, 3 until it is handed on.
    planned = schedule([Times(2, 1, latency=5), Times(2, 1)])
    assert planned.interval == (1 + 5 + 3) / 2
    assert planned.latency == 11
