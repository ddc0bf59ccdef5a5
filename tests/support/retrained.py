"""Networks with the same layers and other weights, as training again would make them."""

from typing import Any

import numpy as np
import tflite

LARGEST_CHANGE = 6
_SMALLEST_BYTES = 16
"""Shorter constants are shapes and axes."""


def retrained(data: bytes, seed: int = 1) -> bytes:
    """Return a .tflite file whose int8 weights have other values, in the same places."""
    changed: Any = np.frombuffer(bytearray(data), np.uint8)
    model = tflite.Model.GetRootAs(data, 0)
    graph = model.Subgraphs(0)
    random = np.random.default_rng(seed)
    tensors = [graph.Tensors(i) for i in range(graph.TensorsLength())]
    for number in {t.Buffer() for t in tensors if t.Type() == tflite.TensorType.INT8}:
        buffer = model.Buffers(number)
        if buffer.DataLength() < _SMALLEST_BYTES:
            continue
        weights = np.frombuffer(buffer.DataAsNumpy().tobytes(), np.int8)
        start = data.find(weights.tobytes())
        moved = weights + random.integers(-LARGEST_CHANGE, LARGEST_CHANGE + 1, len(weights))
        new = np.clip(moved, -127, 127).astype(np.int8)
        changed[start : start + len(new)] = new.view(np.uint8)
    result: bytes = changed.tobytes()
    return result
