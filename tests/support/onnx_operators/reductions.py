"""Pools and reductions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.onnx_networks import OnnxNetwork
from tests.support.onnx_operators.rows import Build, Inputs, row


@row("MaxPool")
def max_pools(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def pool(*shape: int, **more: Any) -> str:
        return net.add("MaxPool", [x(*shape)], **more)

    return [
        pool(1, 3, 8, 8, kernel_shape=[2, 2], strides=[2, 2]),
        pool(1, 3, 9, 9, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        pool(1, 3, 8, 8, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1]),
        pool(1, 3, 8, 8, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        pool(1, 4, 20, kernel_shape=[2], strides=[2]),
        pool(1, 3, 9, 9, kernel_shape=[3, 3], dilations=[2, 2]),
    ]


@row("AveragePool")
def average_pools(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def pool(*shape: int, **more: Any) -> str:
        return net.add("AveragePool", [x(*shape)], **more)

    return [
        pool(1, 3, 8, 8, kernel_shape=[2, 2], strides=[2, 2]),
        pool(1, 3, 9, 9, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        pool(1, 3, 9, 9, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        pool(1, 3, 8, 8, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        pool(1, 3, 8, 8, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        pool(1, 4, 20, kernel_shape=[2], strides=[2]),
        pool(1, 3, 7, 5, kernel_shape=[7, 5]),
    ]


@row("GlobalAveragePool")
def global_pools(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [net.add("GlobalAveragePool", [x(*s)]) for s in ((1, 6, 7, 7), (2, 4, 5, 3), (1, 4, 20))]


@row("GlobalMaxPool")
def global_max_pools(net: OnnxNetwork) -> list[str]:
    return [net.add("GlobalMaxPool", [Inputs(net)(1, 6, 7, 7)])]


def _reduction(op: str) -> Build:
    def build(net: OnnxNetwork) -> list[str]:
        x = Inputs(net)

        def reduce(*shape: int, axes: Sequence[int] | None, keepdims: int) -> str:
            along = [] if axes is None else [net.constant(axes, np.int64)]
            return net.add(op, [x(*shape), *along], keepdims=keepdims)

        return [
            reduce(1, 4, 5, 6, axes=[2, 3], keepdims=1),
            reduce(1, 4, 5, 6, axes=[2, 3], keepdims=0),
            reduce(2, 5, 8, axes=[-1], keepdims=1),
            reduce(2, 5, 8, axes=[1], keepdims=0),
            reduce(1, 4, 5, 6, axes=[1], keepdims=1),
            reduce(2, 9, axes=None, keepdims=1),
        ]

    return build


for _op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
    row(_op)(_reduction(_op))
