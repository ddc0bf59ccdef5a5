"""A whole mesh of 7,296 elements, within its time."""

import time

import matplotlib  # noqa: F401 - the tests are skipped without it
import pymetis  # noqa: F401
import pytest
import simpy  # noqa: F401

from bench.placement import MESH, pipeline
from ethosgen.values.watch import Watch
from ethosgen_place.bound import bound_of
from ethosgen_place.picture import draw
from ethosgen_place.placer import place
from ethosgen_place.report import report_of
from ethosgen_place.simulation import simulate_steadily
from ethosgen_place.system import MeshSystem

MOST_S = 60.0


@pytest.mark.slow
def test_7296_elements_are_placed_and_simulated_in_a_minute() -> None:
    """Only the time of the process counts: other tests run beside this one."""
    started = time.process_time()
    placed = place(pipeline(24, 0), MeshSystem(mesh=MESH), None, 0, Watch())
    run = simulate_steadily(placed, Watch())
    picture = draw(report_of(placed, run))
    assert time.process_time() - started < MOST_S
    assert placed.replication.total > 7200
    assert run.is_full
    assert 0.98 < bound_of(placed).period_s / run.period_s <= 1
    assert len(picture) < 50_000
