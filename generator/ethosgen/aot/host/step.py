"""One step of the residual graph on this machine: a function on the values by tensor index."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Run = Callable[[Mapping[int, Array]], None]
"""Runs a step: reads and writes arrays by tensor index."""


class NotReadyError(Exception):
    """A CIRCULAR_BUFFER waits for more inputs, and the inference ends at it."""
