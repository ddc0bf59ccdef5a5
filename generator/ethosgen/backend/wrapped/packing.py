"""Weights in the order that an accelerator declares."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.wrapped.matching import Match
from ethosgen.backend.wrapped.python import Engine
from ethosgen.values.network import Tensor

ORDERS = {
    "CONV_2D": "OHWI",
    "TRANSPOSE_CONV": "OHWI",
    "DEPTHWISE_CONV_2D": "IHWO",
    "FULLY_CONNECTED": "OI",
}
"""TFLite's order of the dimensions of weights: O outputs, H height, W width, I inputs."""


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


def order_fault(code: str, order: str) -> str:
    """Return what is wrong with an order of weights' dimensions, "" if nothing is."""
    own = ORDERS.get(code)
    if own is None:
        return f"{code} has no weights"
    if sorted(order) != sorted(own):
        return f"'{order}' is no order of {code}'s dimensions, which are {own}"
    return ""
