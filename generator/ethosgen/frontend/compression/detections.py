"""Outputs of TFLite_Detection_PostProcess for which a file gives no shape: its options give them.

TensorFlow 1's detectors leave them out, as TFLite sizes them before it runs. TensorFlow Lite Micro
takes them for single numbers, and writes beside them.
"""

import struct
from collections.abc import Iterator
from typing import Any

from ethosgen.frontend.compression.insertion import OldTable
from ethosgen.values.model import Graph, Model, Operator

DETECTION = "TFLite_Detection_PostProcess"
_MODEL_GRAPHS, _GRAPH_TENSORS, _TENSOR_SHAPE = 2, 0, 0
"""Fields of the tables Model, SubGraph and Tensor, by their place in TFLite's schema."""


def lacks_shapes(model: Model) -> bool:
    """Say whether an output of a detection has no shape in a network."""
    return any(missing for graph in model.graphs for missing in _missing(graph))


def give_shapes(model: Model) -> bytes:
    """Return the file with the shapes that the options ask for; one without a place for them stays.

    They are appended, and the tensors lead to them.
    """
    data = bytearray(model.data) + bytes(-len(model.data) % 4)
    root = OldTable(model.data, int.from_bytes(data[:4], "little"))
    tables = [OldTable(model.data, link.place) for link in root.elements(_MODEL_GRAPHS)]
    for table, graph in zip(tables, model.graphs, strict=True):
        tensors = table.elements(_GRAPH_TENSORS)
        for index, shape in _missing(graph):
            slot = OldTable(model.data, tensors[index].place).slot(_TENSOR_SHAPE)
            if slot is not None:
                data[slot : slot + 4] = struct.pack("<I", len(data) - slot)
                data += struct.pack(f"<I{len(shape)}i", len(shape), *shape)
    return bytes(data)


def _missing(graph: Graph) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each output without a shape, and the shape that it has when it runs."""
    for op in graph.operators:
        shapes = _shapes(op) if op.custom_code == DETECTION else ()
        for index, shape in zip(op.outputs, shapes, strict=False):
            if graph.tensors[index].shape == () and graph.tensors[index].data is None:
                yield index, shape


def _shapes(operator: Operator) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of boxes, classes, scores and count (detection_postprocess.cc)."""
    sizes: list[Any] = [
        operator.options.get(f"max_{name}") for name in ("detections", "classes_per_detection")
    ]
    if not all(isinstance(size, int) and 0 < size < 1 << 15 for size in sizes):
        return ()
    most = sizes[0] * sizes[1]
    return ((1, most, 4), (1, most), (1, most), (1,))
