"""Adds missing output shapes of TFLite_Detection_PostProcess, from its options.

TensorFlow 1's detectors omit them, because TFLite sizes them before it runs. TensorFlow Lite Micro
treats these outputs as scalars, and writes past them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ethosgen.values.dialect import DETECTION
from ethosgen.values.network import Graph, Network, Operator


def lacks_shapes(network: Network) -> bool:
    """Return whether an output of a detection in a network has no shape."""
    return any(missing for graph in network.graphs for missing in _missing(graph))


def give_shapes(network: Network) -> Network:
    """Return the network with the shapes that the options define."""
    shaped = network.edited(*map(_shaped, network.graphs))
    return replace(shaped, source=network.source, compression=network.compression)


def _shaped(graph: Graph) -> Graph:
    shapes = dict(_missing(graph))
    tensors = (replace(t, shape=shapes.get(t.index, t.shape)) for t in graph.tensors)
    return replace(graph, tensors=tuple(tensors))


def _missing(graph: Graph) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each output without a shape, with its shape at run time."""
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
