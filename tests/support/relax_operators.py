"""One small Relax module for each composite, in int8: its inputs, its result and its operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op

from tests.support.relax_networks import Given, Make, Quantized, operator, weights

X, OUT = Quantized(0.05, 3), Quantized(0.06, -5)
POSITIVE = Quantized(0.05, -128)
PER_CHANNEL = Quantized([0.01, 0.02, 0.005, 0.03, 0.01, 0.02, 0.004, 0.011], axis=0)
IMAGE, SIGNAL, ROWS = Given((1, 4, 9, 8), X), Given((1, 4, 9), X), Given((2, 16), X)
OTHER = Given((1, 4, 9, 8), Quantized(0.04, -7))


@dataclass(frozen=True)
class Case:
    """An operator on inputs; `refusal` is a part of the reason where the NPU does not run it."""

    givens: tuple[Given, ...]
    make: Make
    to: Quantized = OUT
    refusal: str = ""

    def module(self) -> Any:
        return operator(self.givens, self.to, self.make)


def _unary(make: Make, to: Quantized = OUT, refusal: str = "") -> Case:
    return Case((IMAGE,), make, to, refusal)


def _binary(make: Make, refusal: str = "") -> Case:
    return Case((IMAGE, OTHER), make, refusal=refusal)


def _move(make: Make, port: Given = IMAGE) -> Case:
    return Case((port,), make, port.how)


def _bias(scale: float = 0.0005) -> Any:
    return dequantize_constant((1, 8, 1, 1), Quantized(scale, dtype="int32"))


def dequantize_constant(shape: tuple[int, ...], how: Quantized) -> Any:
    return weights(shape, how, seed=7)


def _convolved(x: Any, **options: Any) -> Any:
    return op.nn.conv2d(x, weights((8, 4, 3, 3), PER_CHANNEL), **options)


def _hard_swish(x: Any) -> Any:
    inner = op.clip(op.add(x, relax.const(np.float32(3.0))), 0.0, 6.0)
    return op.multiply(x, op.divide(inner, relax.const(np.float32(6.0))))


CASES: Mapping[str, Case] = {
    "conv1d": Case((SIGNAL,), lambda x: op.nn.conv1d(x, weights((8, 4, 3), PER_CHANNEL))),
    "conv2d": _unary(_convolved),
    "conv2d pad": _unary(lambda x: _convolved(x, padding=1)),
    "conv2d pad strides": _unary(lambda x: _convolved(x, padding=(1, 1, 1, 1), strides=2)),
    "conv2d bias": _unary(lambda x: op.add(_convolved(x), _bias())),
    "conv2d relu": _unary(lambda x: op.nn.relu(_convolved(x)), Quantized(0.04, -128)),
    "conv2d bias clip": _unary(
        lambda x: op.clip(op.add(_convolved(x), _bias()), 0.0, 6.0), Quantized(6 / 255, -128)
    ),
    "conv2d pad bias clip apart": _unary(
        lambda x: op.clip(op.add(_convolved(x, padding=1), _bias()), -1.0, 2.5)
    ),
    "conv2d depthwise": _unary(
        lambda x: op.nn.conv2d(x, weights((4, 1, 3, 3), Quantized(0.02)), padding=1, groups=4)
    ),
    "conv1d_transpose": Case(
        (SIGNAL,), lambda x: op.nn.conv1d_transpose(x, weights((4, 8, 2), Quantized(0.01)), 2)
    ),
    "conv2d_transpose": _unary(
        lambda x: op.nn.conv2d_transpose(x, weights((4, 8, 2, 2), Quantized(0.01)), (2, 2))
    ),
    "matmul": Case((ROWS,), lambda x: op.matmul(x, weights((16, 8), Quantized(0.01)))),
    "matmul bias relu": Case(
        (ROWS,),
        lambda x: op.nn.relu(
            op.add(
                op.matmul(x, weights((16, 8), Quantized(0.01))),
                dequantize_constant((8,), Quantized(0.0005, dtype="int32")),
            )
        ),
    ),
    "matmul of two": Case(
        (Given((1, 2, 6, 16), X), Given((1, 2, 16, 5), Quantized(0.04, -3))),
        op.matmul,
        Quantized(0.1, 2),
    ),
    "add": _binary(op.add),
    "add constant": _unary(lambda x: op.add(x, weights((1, 4, 1, 1), Quantized(0.02)))),
    "add relu": _binary(lambda x, y: op.nn.relu(op.add(x, y))),
    "subtract": _binary(op.subtract),
    "multiply": _binary(op.multiply),
    "divide": _binary(op.divide, "DIV has no integer form"),
    "minimum": _binary(op.minimum),
    "maximum": _binary(op.maximum),
    "power": _binary(op.power, "POW has no integer form"),
    "avg_pool1d": Case((SIGNAL,), lambda x: op.nn.avg_pool1d(x, 3, 2)),
    "avg_pool2d": _unary(lambda x: op.nn.avg_pool2d(x, (3, 2), (2, 2))),
    "max_pool1d": Case((SIGNAL,), lambda x: op.nn.max_pool1d(x, 3, 2)),
    "max_pool2d": _unary(lambda x: op.nn.max_pool2d(x, (3, 2), (2, 2))),
    "adaptive_avg_pool1d": Case((SIGNAL,), lambda x: op.nn.adaptive_avg_pool1d(x, 1)),
    "adaptive_avg_pool2d": _unary(lambda x: op.nn.adaptive_avg_pool2d(x, 1)),
    "mean": _unary(lambda x: op.mean(x, [2, 3], True)),
    "sum": _unary(lambda x: op.sum(x, [1], True), refusal="erratum sum-rounding"),
    "sum of two axes": _unary(lambda x: op.sum(x, [2, 3]), refusal="erratum sum-several-axes"),
    "max": _unary(lambda x: op.max(x, [2, 3], True)),
    "min": _unary(lambda x: op.min(x, [2, 3], True)),
    "softmax": Case((ROWS,), op.nn.softmax, Quantized(1 / 256, -128)),
    "log_softmax": Case(
        (ROWS,), op.nn.log_softmax, Quantized(16 / 256, 127), "the NPU has no such operation"
    ),
    "sigmoid": _unary(op.sigmoid, Quantized(1 / 256, -128)),
    "tanh": _unary(op.tanh, Quantized(1 / 128)),
    "leakyrelu": _unary(lambda x: op.nn.leakyrelu(x, 0.1)),
    "gelu": _unary(op.nn.gelu, Quantized(0.05, 3)),
    "gelu_tanh": _unary(op.nn.gelu_tanh, Quantized(0.05, 3)),
    "exp": _unary(op.exp, Quantized(0.5, -128)),
    "log": Case((Given((1, 64), POSITIVE),), op.log),
    "sqrt": _unary(op.sqrt, refusal="SQRT has no form in int8"),
    "rsqrt": Case((Given((1, 64), POSITIVE),), op.rsqrt, refusal="RSQRT has no form in int8"),
    "abs": _unary(op.abs),
    "negative": _unary(op.negative),
    "square": _unary(op.square),
    "sin": _unary(op.sin, refusal="SIN has no form in int8"),
    "cos": _unary(op.cos, refusal="COS has no form in int8"),
    "erf": _unary(op.erf, refusal="ERF has no integer form"),
    "silu": _unary(op.nn.silu),
    "relu": _unary(op.nn.relu),
    "clip": _unary(lambda x: op.clip(x, -1.0, 2.0)),
    "image.resize2d": _unary(
        lambda x: op.image.resize2d(x, (18, 16), layout="NCHW", method="nearest_neighbor")
    ),
    "hard_swish": _unary(_hard_swish, Quantized(0.05, -20)),
    "prelu": _unary(lambda x: op.nn.prelu(x, weights((4,), Quantized(0.01)), 1)),
    "where": Case(
        (Given((1, 4, 9, 8), Quantized(1.0, dtype="bool")), IMAGE, OTHER),
        op.where,
        refusal="the NPU does not compute in bool",
    ),
    "concat": _binary(lambda x, y: op.concat([x, y], 1)),
    "concat of three": _binary(lambda x, y: op.concat([x, y, x], 3)),
    "reshape": _move(lambda x: op.reshape(x, (2, 144))),
    "permute_dims": _move(lambda x: op.permute_dims(x, (0, 2, 3, 1))),
    "squeeze": _move(lambda x: op.squeeze(x, [0])),
    "expand_dims": _move(lambda x: op.expand_dims(x, [0]), ROWS),
    "flatten": _move(op.flatten),
    "batch_flatten": _move(op.nn.batch_flatten),
    "pad": _move(lambda x: op.nn.pad(x, (0, 0, 0, 0, 1, 2, 1, 0))),
    "strided_slice": _move(lambda x: op.strided_slice(x, [2, 3], [1, 0], [7, 8], [2, 1])),
    "quantize": _unary(lambda x: x),
}
"""The first word is the composite's name without its prefix."""


def composite_of(case: str) -> str:
    """Return the name of a case's composite."""
    return "ethosu." + case.split(maxsplit=1)[0]
