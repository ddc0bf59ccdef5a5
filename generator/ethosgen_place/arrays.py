"""The types of arrays: of elements, replicas, links or tasks, and of their figures."""

from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
