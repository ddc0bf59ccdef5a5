"""Convolutions and products."""

from collections.abc import Sequence
from typing import Any

from tests.support.onnx_networks import OnnxNetwork
from tests.support.onnx_operators.rows import Inputs, row


@row("Conv")
def convolutions(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def conv(shape: Sequence[int], kernel: Sequence[int], bias: bool = True, **more: Any) -> str:
        weights = [net.weights(*kernel), *([net.weights(kernel[0])] if bias else [])]
        return net.add("Conv", [x(*shape), *weights], **more)

    return [
        conv((1, 3, 9, 11), (8, 3, 3, 3), pads=[1, 1, 1, 1]),
        conv((1, 3, 9, 11), (8, 3, 3, 3), bias=False, strides=[2, 2]),
        conv((1, 4, 10, 10), (6, 4, 3, 3), pads=[0, 1, 2, 0], strides=[2, 1]),
        conv((1, 4, 12, 12), (6, 4, 3, 3), dilations=[2, 2], pads=[2, 2, 2, 2]),
        conv((1, 6, 8, 8), (8, 3, 3, 3), group=2, pads=[1, 1, 1, 1]),
        conv((1, 6, 8, 8), (6, 1, 3, 3), group=6, pads=[1, 1, 1, 1]),
        conv((1, 6, 8, 8), (12, 1, 3, 3), group=6, strides=[2, 2], auto_pad="SAME_UPPER"),
        conv((1, 6, 8, 8), (6, 1, 5, 5), group=6, strides=[2, 2], auto_pad="SAME_LOWER"),
        conv((1, 4, 20), (8, 4, 3), pads=[1, 1]),
        conv((1, 4, 20), (4, 1, 5), group=4, strides=[2]),
        conv((2, 3, 6, 6), (4, 3, 1, 1)),
        conv((1, 1, 49, 10), (8, 1, 10, 4), strides=[2, 2], pads=[4, 1, 5, 1]),
    ]


@row("Conv + Relu", "Conv", "Relu", "Clip")
def clamped_convolutions(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def conv(depth: int = 3, **more: Any) -> str:
        weights = net.weights(8, depth // more.get("group", 1), 3, 3), net.weights(8)
        return net.add("Conv", [x(1, depth, 8, 8), *weights], pads=[1, 1, 1, 1], **more)

    def clip(value: str, *bounds: float) -> str:
        return net.add("Clip", [value, *[net.constant(bound) for bound in bounds]])

    return [
        net.add("Relu", [conv()]),
        clip(conv(), 0.0, 6.0),
        clip(conv(8, group=8), 0.0, 0.5),
        clip(conv(), -0.3, 0.4),
        net.add("Clip", [conv(), net.constant(-0.2)]),
    ]


@row("ConvTranspose")
def transposed_convolutions(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def conv(shape: Sequence[int], kernel: Sequence[int], **more: Any) -> str:
        weights = net.weights(*kernel), net.weights(kernel[1] * more.get("group", 1))
        return net.add("ConvTranspose", [x(*shape), *weights], **more)

    return [
        conv((1, 4, 5, 6), (4, 6, 3, 3)),
        conv((1, 4, 5, 6), (4, 6, 2, 2), strides=[2, 2]),
        conv((1, 4, 5, 6), (4, 6, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1]),
        conv((1, 4, 5, 6), (4, 6, 4, 4), strides=[2, 2], pads=[1, 1, 1, 1]),
        conv((1, 4, 5, 6), (4, 6, 3, 3), strides=[2, 2], pads=[0, 0, 1, 1]),
        conv((1, 4, 5, 6), (4, 6, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1],
             output_padding=[1, 1]),
        conv((1, 4, 9), (4, 6, 3), strides=[2]),
    ]  # fmt: skip


@row("Gemm")
def gemms(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [
        net.add("Gemm", [x(1, 20), net.weights(10, 20), net.weights(10)], transB=1),
        net.add("Gemm", [x(3, 20), net.weights(20, 10), net.weights(10)]),
        net.add("Gemm", [x(20, 3), net.weights(10, 20), net.weights(10)], transA=1, transB=1),
        net.add("Gemm", [x(20, 3), net.weights(20, 10)], transA=1),
        net.add("Gemm", [x(2, 8), net.weights(8, 4), net.weights(4)], alpha=0.5, beta=2.0),
    ]


@row("MatMul")
def products(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [
        net.add("MatMul", [x(1, 16), net.weights(16, 10)]),
        net.add("MatMul", [x(2, 5, 16), net.weights(16, 10)]),
        net.add("Add", [net.add("MatMul", [x(4, 16), net.weights(16, 10)]), net.weights(10)]),
        net.add("MatMul", [x(5, 8), x(8, 6)]),
        net.add("MatMul", [x(2, 3, 5, 8), x(2, 3, 8, 6)]),
        net.add("MatMul", [x(2, 3, 5, 8), x(8, 6)]),
        net.add("MatMul", [x(2, 5, 8), net.constant(net.random.standard_normal((2, 8, 4)))]),
    ]


@row("MatMul transposed", "MatMul", "Transpose")
def transposed_products(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    keys = net.add("Transpose", [x(2, 5, 8)], perm=[0, 2, 1])
    heads = [net.add("Transpose", [x(1, 6, 2, 4)], perm=[0, 2, 1, 3]) for _ in range(2)]
    turned = net.add("Transpose", [heads[1]], perm=[0, 1, 3, 2])
    return [net.add("MatMul", [x(2, 3, 8), keys]), net.add("MatMul", [heads[0], turned])]
