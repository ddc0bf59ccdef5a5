"""Weights in the order that an accelerator declares."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.wrapped.matching import Match
from ethosgen.backend.wrapped.python import Engine
from ethosgen.backend.wrapped.site import ORDERS
from ethosgen.values.network import Tensor


def packed_weights(match: Match, tensor: Tensor, engine: Engine) -> NDArray[Any]:
    """Return constant weights as declared: in another order, or as the Python method packs them."""
    operation, site = match.operation, match.site
    array = tensor.array()
    if operation.pack_method:
        return engine.pack(operation.pack_method, site, array)
    if not operation.weights:
        return array
    own = ORDERS[site.main.code]
    return np.ascontiguousarray(array.transpose([own.index(axis) for axis in operation.weights]))
