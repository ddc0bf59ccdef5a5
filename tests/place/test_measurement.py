"""How sure a measured period is."""

import numpy as np
import pytest

from ethosgen_place.measurement import Simulated

SAMPLES = 200


def measured(periods_s: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Simulated:
    """Return a run in which the samples leave after such periods; the least one is 1 s."""
    left_s = np.cumsum(periods_s)
    return Simulated(
        *(np.zeros(SAMPLES), left_s, left_s, slice(0, SAMPLES), True, False),
        *(1.0, np.zeros(1), 0),
    )


def test_a_constant_period_is_certain() -> None:
    run = measured(np.full(SAMPLES, 1.25))
    assert run.period_s == pytest.approx(1.25)
    assert run.uncertainty == pytest.approx(0.0, abs=1e-9)


def test_the_interval_is_that_of_ten_batches() -> None:
    """Five batches of 20 samples take 1.1 s each, five 1.3 s: a deviation of 0.1 * sqrt(10 / 9)."""
    run = measured(np.repeat([1.1, 1.3] * 5, SAMPLES // 10))
    half = 2.262 * 0.1 * np.sqrt(10 / 9) / np.sqrt(10)
    assert run.uncertainty * run.period_s == pytest.approx(half, rel=1e-3)


def test_the_interval_covers_the_mean_19_times_of_20() -> None:
    rng = np.random.default_rng(30)
    hits = 0
    for _ in range(300):
        run = measured(1.0 + rng.exponential(0.5, SAMPLES))
        hits += abs(run.period_s - 1.5) <= run.uncertainty * run.period_s
    assert 0.85 < hits / 300 < 1.0


def test_too_few_samples_say_nothing() -> None:
    times = np.arange(9.0)
    few = Simulated(times, times, times, slice(0, 9), True, False, 1.0, np.zeros(1), 0)
    assert np.isnan(few.uncertainty)
