"""What a simulation measured: the period, how steady it is, how sure, and the latencies."""

from dataclasses import dataclass

import numpy as np

from ethosgen_place.arrays import Floats

_STEADY = 0.01
"""The change of the period, as a share of it, below which the mesh is steady."""
_BATCHES = 10
_GROUP = 5
"""The samples of a group in which a warm-up ends."""
_STUDENT = 2.262
"""Student's t for 95 % on both sides and one degree of freedom less than there are batches."""


@dataclass(frozen=True)
class Simulated:
    """The result: for each sample, the times in seconds at which it entered and left.

    `steps_s` has for each number the time at which all tasks have done so many samples; in a mesh
    that was empty at first, these are the times at which samples left. `measured` are those that
    count: those before fill the mesh, those after keep it full. `is_full` tells whether there were
    enough of them for that, `was_full` whether the mesh was full from the start: then samples that
    were in it entered without waiting. No sample enters before its turn, which comes every
    `least_period_s`. `link_busy_s` is the sum over all samples.
    """

    entered_s: Floats
    left_s: Floats
    steps_s: Floats
    measured: slice
    is_full: bool
    was_full: bool
    least_period_s: float
    link_busy_s: Floats
    events: int

    @property
    def samples(self) -> int:
        """Their number."""
        return len(self.left_s)

    @property
    def period_s(self) -> float:
        """The mean time between two samples, from the line through their delays.

        Delays vary from sample to sample, and cannot fall for long, as none enters early: a falling
        line means a burst, and then the period is the least one.
        """
        return self.least_period_s + max(0.0, _slope(self._late_s))

    @property
    def unsteadiness(self) -> float:
        """The relative change of the period between the halves of the measured samples."""
        half = len(self._late_s) // 2
        slopes = [_slope(self._late_s[:half]), _slope(self._late_s[half:])]
        return max(max(slopes) - min(slopes), -min(*slopes, 0.0)) / self.period_s

    @property
    def uncertainty(self) -> float:
        """Half the width of the period's 95 % confidence interval, as a share of the period.

        By batch means (Law, Simulation Modeling and Analysis): the periods of ten batches of
        samples. A mesh that reaches the least period has none. NaN for too few samples.
        """
        batches = np.array_split(self._late_s, _BATCHES)
        if min(map(len, batches)) < 2:
            return float("nan")
        periods = [self.least_period_s + max(0.0, _slope(batch)) for batch in batches]
        deviation = float(np.std(periods, ddof=1))
        return _STUDENT * deviation / float(np.sqrt(_BATCHES)) / self.period_s

    @property
    def is_steady(self) -> bool:
        """Whether the mesh was full, and its period no longer changed."""
        return self.is_full and self.unsteadiness <= _STEADY

    @property
    def latencies_s(self) -> Floats:
        """The time from the start on a first task to the end, for each measured sample."""
        return (self.left_s - self.entered_s)[self.measured]

    @property
    def _late_s(self) -> Floats:
        """The delay of each measured step after its turn."""
        turns = np.arange(self.samples) * self.least_period_s
        return (self.steps_s - turns)[self.measured]


def warm_up(steps_s: Floats) -> int:
    """Return the number of steps that are not yet like the others, at most half of them.

    By MSER-5 (White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics",
    2000): without these, the mean of the periods has the least standard error.
    """
    periods = np.diff(steps_s)
    groups = len(periods) // _GROUP
    if groups < 2 * _BATCHES:
        return 0
    means = periods[: groups * _GROUP].reshape(groups, _GROUP).mean(axis=1)[::-1]
    left = np.arange(1, groups + 1)
    squares = np.cumsum(means**2) - np.cumsum(means) ** 2 / left
    errors = (np.maximum(squares, 0) / left**2)[::-1]  # without the first 0, 1, 2, … groups
    return int(np.argmin(errors[: groups // 2 + 1])) * _GROUP


def _slope(values: Floats) -> float:
    """Return the slope of the line through values, 0 for fewer than two."""
    turns = np.arange(len(values)) - (len(values) - 1) / 2
    return float(turns @ (values - values[0]) / (turns @ turns)) if len(values) > 1 else 0.0
