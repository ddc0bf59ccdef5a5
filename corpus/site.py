"""An operator where it stands: what conditions and predictions are told."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.offload.site import Site, point_of, scale_of

__all__ = ["FAULT", "LITERT", "TFLM", "Array", "Site", "Values", "point_of", "scale_of"]

TFLM, LITERT, FAULT = "tflm", "litert", "fault"

Array = np.ndarray[Any, Any]


Values = Sequence[Array]
"""What an operator reads, constants too, or what it writes, of one sample."""
