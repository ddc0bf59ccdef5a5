"""Operators that move elements, or choose some."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.onnx_networks import OnnxNetwork
from tests.support.onnx_operators.rows import Inputs, row


@row("Concat")
def concats(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    held = net.constant(net.random.standard_normal((1, 2, 4, 5)))
    return [
        net.add("Concat", [x(1, 2, 4, 5), x(1, 3, 4, 5)], axis=1),
        net.add("Concat", [x(1, 2, 4, 5), held], axis=2),
        net.add("Concat", [x(2, 3), x(2, 4), x(2, 5)], axis=-1),
        net.add("Concat", [x(1, 1, 2, 2) for _ in range(10)], axis=1),
    ]


MOVES = ("Relu", "MaxPool")
"""Operators that move elements are quantized only behind an operator that is."""


@row("Split", "Relu", "Split")
def splits(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    outputs = []
    for shape, axis, sizes in (((1, 6, 4, 4), 1, [2, 4]), ((2, 9), 1, [3, 3, 3])):
        parts = [f"part_{axis}_{len(net.nodes)}_{i}" for i in range(len(sizes))]
        source = net.add("Relu", [x(*shape)])
        net.add_node("Split", [source, net.constant(sizes, np.int64)], parts, axis=axis)
        outputs += parts
    return outputs


@row("Slice")
def slices(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def part(shape: Sequence[int], *tables: Sequence[int]) -> str:
        return net.add("Slice", [x(*shape), *[net.constant(t, np.int64) for t in tables]])

    return [
        part((1, 6, 8, 8), [1, 2], [5, 7], [1, 3], [1, 2]),
        part((2, 9), [-4], [-1], [1]),
        part((2, 9), [0], [100], [1], [3]),
        part((2, 9), [8], [-10], [1], [-1]),
    ]


@row("Pad")
def pads(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def pad(shape: Sequence[int], table: Sequence[int], value: float | None, mode: str) -> str:
        more = [] if value is None else [net.constant(value)]
        return net.add("Pad", [x(*shape), net.constant(table, np.int64), *more], mode=mode)

    around = [0, 0, 1, 2, 0, 0, 2, 1]
    return [
        pad((1, 3, 5, 5), around, None, "constant"),
        pad((1, 3, 5, 5), around, 0.0, "constant"),
        pad((1, 3, 5, 5), around, 0.5, "constant"),
        pad((1, 3, 5, 5), [0, 1, 0, 0, 0, 2, 0, 0], None, "constant"),
        pad((1, 3, 5, 5), around, None, "reflect"),
        pad((1, 3, 5, 5), around, None, "edge"),
        pad((2, 6), [0, 1, 0, 2], None, "constant"),
    ]


@row("Resize")
def resizes(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def resize(sizes: Sequence[int], mode: str, coordinates: str, **more: Any) -> str:
        return net.add(
            "Resize",
            [x(1, 3, 6, 5), "", "", net.constant([1, 3, *sizes], np.int64)],
            mode=mode,
            coordinate_transformation_mode=coordinates,
            **more,
        )

    return [
        resize((12, 10), "nearest", "asymmetric", nearest_mode="floor"),
        resize((12, 10), "nearest", "half_pixel", nearest_mode="round_prefer_floor"),
        resize((12, 10), "linear", "half_pixel"),
        resize((12, 10), "linear", "align_corners"),
        resize((12, 10), "linear", "asymmetric"),
        resize((11, 9), "linear", "half_pixel"),
        resize((11, 9), "linear", "align_corners"),
        resize((12, 10), "linear", "pytorch_half_pixel"),
        resize((3, 5), "linear", "half_pixel"),
    ]


@row("Reshape, Flatten, Squeeze, Unsqueeze", "Conv", "Reshape", "Flatten", "Squeeze", "Unsqueeze")
def shapes(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def conv() -> str:
        return net.add("Conv", [x(1, 3, 4, 5), net.weights(6, 3, 1, 1), net.weights(6)])

    def moved(op: str, table: Sequence[int]) -> str:
        return net.add(op, [conv(), net.constant(table, np.int64)])

    pooled = net.add("GlobalAveragePool", [conv()])
    return [
        moved("Reshape", [1, 6, 20]),
        moved("Reshape", [0, 2, -1]),
        net.add("Flatten", [conv()]),
        net.add("Flatten", [conv()], axis=2),
        net.add("Squeeze", [pooled, net.constant([2, 3], np.int64)]),
        moved("Squeeze", [0]),
        moved("Unsqueeze", [1]),
    ]


@row("Transpose", "Conv", "Transpose")
def transposes(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def conv() -> str:
        return net.add("Conv", [x(1, 3, 4, 5), net.weights(6, 3, 1, 1), net.weights(6)])

    return [
        net.add("Transpose", [conv()], perm=[0, 2, 3, 1]),
        net.add("Transpose", [conv()], perm=[0, 3, 1, 2]),
        net.add("Transpose", [net.add("Relu", [x(3, 7)])]),
    ]


@row("Gather", "Relu", "Gather")
def gathers(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def gather(shape: Sequence[int], indices: Any, axis: int) -> str:
        source = net.add("Relu", [x(*shape)])
        return net.add("Gather", [source, net.constant(indices, np.int64)], axis=axis)

    return [
        gather((5, 4), [0, 3, 1], 0),
        gather((2, 5, 4), [[0, -1], [2, 2]], 1),
        gather((2, 5, 4), 1, 1),
        gather((7, 4), [1, 3, 5], 0),
        gather((2, 5, 4), -2, -1),
    ]


@row("Where", "Relu", "Where")
def wheres(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    mask = net.constant(net.random.random((1, 1, 4, 4)) < 0.5, np.bool_)
    first = net.add("Relu", [x(1, 2, 4, 4)])
    second = net.add("Relu", [x(1, 2, 4, 4)])
    greater = net.add("Greater", [first, second])
    return [
        net.add("Where", [mask, first, second]),
        net.add("Where", [greater, first, second]),
        net.add("Where", [mask, first, net.constant(-1.0)]),
    ]


@row("ArgMax", "Relu", "ArgMax")
def arg_maxima(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [
        net.add("ArgMax", [net.add("Relu", [x(2, 9)])], axis=1, keepdims=0),
        net.add("ArgMax", [net.add("Relu", [x(1, 4, 3, 3)])], axis=1, keepdims=1),
    ]


@row("Expand, Tile", "Relu", "Expand", "Tile")
def repeats(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    source = net.add("Relu", [x(1, 3, 1, 4)])
    return [
        net.add("Expand", [source, net.constant([2, 3, 5, 4], np.int64)]),
        net.add("Tile", [net.add("Relu", [x(2, 3)]), net.constant([1, 2], np.int64)]),
    ]


@row("DepthToSpace, SpaceToDepth", "Relu", "DepthToSpace", "SpaceToDepth")
def blocks(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def relu(*shape: int) -> str:
        return net.add("Relu", [x(*shape)])

    return [
        net.add("DepthToSpace", [relu(1, 8, 3, 4)], blocksize=2, mode="DCR"),
        net.add("DepthToSpace", [relu(1, 8, 3, 4)], blocksize=2, mode="CRD"),
        net.add("SpaceToDepth", [relu(1, 3, 4, 6)], blocksize=2),
    ]


@row("CumSum")
def cumulative_sums(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [net.add("CumSum", [x(2, 9), net.constant(1, np.int64)])]


@row("TopK", "Relu", "TopK")
def top_k(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    names = ["values", "places"]
    source = net.add("Relu", [x(2, 9)])
    net.add_node("TopK", [source, net.constant([3], np.int64)], names, axis=1)
    return [names[0]]


@row("GatherElements", "Relu", "GatherElements")
def gathered_elements(net: OnnxNetwork) -> list[str]:
    source = net.add("Relu", [Inputs(net)(3, 4)])
    places = net.constant(net.random.integers(0, 3, (2, 4)), np.int64)
    return [net.add("GatherElements", [source, places], axis=0)]
