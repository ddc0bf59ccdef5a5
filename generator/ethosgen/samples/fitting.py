"""The check of inputs that every consumer of samples shares."""

from typing import Any

import numpy as np

from ethosgen.values.errors import InputError
from ethosgen.values.network import Tensor
from ethosgen.values.outcome import Arrays


def fitting(sample: Arrays, tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the array for an input, in C order; InputError if it is missing or does not fit."""
    array = sample.get(tensor.name)
    if array is None:
        raise InputError(f"input '{tensor.name}' is missing; found: {', '.join(sample) or 'none'}")
    if array.shape != tensor.shape or array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"input '{tensor.name}' is {array.dtype} {list(array.shape)}, but the network expects "
            f"{tensor.dtype} {list(tensor.shape)}"
        )
    return np.asarray(array, order="C")  # ascontiguousarray makes a scalar one-dimensional
