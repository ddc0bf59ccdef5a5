"""One step of the residual graph on this machine: a function on values by tensor index."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Run = Callable[[Mapping[int, Array]], None]
"""Runs a step, which reads and writes arrays by tensor index."""


class NotReadyError(Exception):
    """The inference ends at a CIRCULAR_BUFFER that waits for more inputs."""
