"""An operator in its network, as conditions and predictions get it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.offload.site import OperatorSite, scale_of

__all__ = ["FAULT", "LITERT", "TFLM", "Array", "OperatorSite", "Values", "scale_of"]

TFLM, LITERT, FAULT = "tflm", "litert", "fault"

Array = np.ndarray[Any, Any]


Values = Sequence[Array]
"""The inputs of an operator, including constants, or its outputs, for one sample."""
