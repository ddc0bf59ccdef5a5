"""The matrices and curves of layers with state."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.operators.activation import sigmoid_table
from ethosgen.aot.operators.recurrent import (
    Lstm,
)
from ethosgen.values.network import Tensor

MOST_FACTOR = (1 << 16) - 1
"""The largest factor whose product with an int16 fits into 32 bits."""


def gate_matrices(layer: Lstm) -> list[tuple[Tensor, Tensor]]:
    """Return for each gate the weights of the input and of the hidden state, with their rows."""
    return [
        pair
        for first, second in zip(layer.inputs, layer.recurrent, strict=True)
        for pair in ((layer.source, first), (layer.hidden, second))
    ]


Item = TypeVar("Item")


def four(gates: Sequence[Item]) -> tuple[Item, Item, Item, Item]:
    """Return what the four gates have, as a struct takes it."""
    into, forgotten, cell, output = gates
    return into, forgotten, cell, output


def curve_lines() -> Array:
    """Return the sigmoid's upper half minus its middle, as lines between the table's entries."""
    heights = np.append(sigmoid_table(), sigmoid_table()[-1]) - (1 << 15)
    slopes = np.diff(heights)
    starts = heights[:-1] - slopes * np.arange(len(slopes))
    return np.concatenate([starts, slopes]).astype(np.int16)
