"""The simulation of sweeps on many workers."""

import pytest

from bench.sweep_model import simulate


def test_a_few_workers_take_what_their_points_take() -> None:
    simulated = simulate(2, 64, 12)
    assert simulated["batches"] == 24
    assert simulated["s"] == pytest.approx(simulated["ideal s"], rel=0.001)


def test_a_scheduler_bounds_many_workers_with_small_batches() -> None:
    small, large = simulate(1000, 16), simulate(1000, 64)
    assert small["of the ideal"] < 0.5 < 0.9 < large["of the ideal"] < 1
