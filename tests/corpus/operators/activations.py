"""Activations, and other functions of one value."""

import math
from collections.abc import Callable
from typing import Any

from tests.corpus.choices import Choices
from tests.corpus.draft import FLOORS, Case, Draft, Generator

Options = dict[str, Any]


def unary(code: str, draw_options: Callable[[Choices], Options] | None = None) -> Generator:
    """Return a generator of an activation, with options that are drawn."""

    def draw(choices: Choices, dtype: str) -> Case:
        options = draw_options(choices) if draw_options else {}
        net = Draft(choices, dtype)
        y = net.unary(code, net.maybe_before(net.feed(net.any_shape())), options)
        if choices.chance(2):
            net.requantized(y)
        return net.case(net.maybe_after(y))

    draw.__doc__ = f"Draw {code}."
    return draw


def _slopes(choices: Choices) -> Options:
    """Draw slopes on both sides of 1, and negative ones."""
    slopes = (choices.real(0.001, 0.9),) * 3 + (choices.real(1.0, 2.0), -0.3, 0.0, 1.0)
    return {"alpha": choices.pick(slopes)}


leaky_relu = unary("LEAKY_RELU", _slopes)
gelu = unary("GELU", lambda choices: {"approximate": choices.chance(2)})
relu = unary("RELU")


def logistic(choices: Choices, dtype: str) -> Case:
    """Draw LOGISTIC."""
    net = Draft(choices, dtype)
    return net.case(net.maybe_after(net.logistic(_fed(net))))


def tanh(choices: Choices, dtype: str) -> Case:
    """Draw TANH."""
    net = Draft(choices, dtype)
    return net.case(net.maybe_after(net.tanh(_fed(net))))


def softmax(choices: Choices, dtype: str) -> Case:
    """Draw SOFTMAX."""
    net = Draft(choices, dtype)
    x = net.feed(net.any_shape(1, 4))
    beta = choices.pick((1.0, 1.0, choices.real(0.2, 4.0)))
    return net.case(net.softmax(x, beta))


def _fed(net: Draft) -> int:
    """Feed 16-bit values whose scale may be a power of two; TFLite accepts both."""
    if net.dtype != "int16":
        return net.maybe_before(net.feed(net.any_shape()))
    power = 2.0 ** -net.choices.integer(10, 15)
    scale = net.choices.pick((power, 2.0**-12, net.choices.real(1e-5, 1e-3)))
    return net.feed(net.any_shape(), scale=scale)


def exp(choices: Choices, dtype: str) -> Case:
    """Draw EXP; the output's scale fits the largest value."""
    net = Draft(choices, dtype)
    wide = dtype == "int16"
    x = net.feed(
        net.any_shape(), scale=net.choices.real(1e-5, 1e-4) if wide else choices.real(0.005, 0.03)
    )
    largest = _largest(net, x)
    steps = 65535 if wide else 255
    scale = math.exp(largest) / steps * choices.real(0.7, 1.5)
    return net.case(net.unary("EXP", x, scale=scale, zero_point=0 if wide else FLOORS[dtype]))


def log(choices: Choices, dtype: str) -> Case:
    """Draw LOG of positive values."""
    net, x = _positive(choices, dtype)
    y = net.unary("LOG", x)
    return net.case(net.requantized(y, 0.5))


def rsqrt(choices: Choices, dtype: str) -> Case:
    """Draw RSQRT of positive values."""
    net, x = _positive(choices, dtype)
    smallest = 1 / math.sqrt(net.scale_of(x))
    steps = 32767 if dtype == "int16" else 255
    point = 0 if dtype == "int16" else choices.integer(-128, 0)
    return net.case(
        net.unary("RSQRT", x, scale=smallest / steps * choices.real(0.3, 1.2), zero_point=point)
    )


def _positive(choices: Choices, dtype: str) -> tuple[Draft, int]:
    """Feed only values above 0: TFLite refuses others."""
    net = Draft(choices, dtype)
    low = -32768 if dtype == "int16" else -128
    point = 0 if dtype == "int16" else choices.pick((low, low, choices.integer(low, 0)))
    x = net.feed(net.any_shape(), scale=net.scale(), zero_point=point)
    net.limit(x, point + 1, -low - 1)
    return net, x


def _largest(net: Draft, x: int) -> float:
    spec = net.tensors[x]
    assert isinstance(spec.zero_point, int)
    return (net.largest() - spec.zero_point) * net.scale_of(x)


def quantize(choices: Choices, dtype: str) -> Case:
    """Draw QUANTIZE from one 8-bit or 16-bit type to another, or to another scale."""
    net = Draft(choices, dtype)
    x = net.maybe_before(net.feed(net.any_shape()))
    targets = {
        "int8": ("int8", "int8", "uint8", "int16"),
        "uint8": ("uint8", "int8"),
        "int16": ("int16", "int8"),
    }
    target = choices.pick(targets[dtype])
    scale = net.scale_of(x)
    gain = {("int8", "int16"): 1 / 256, ("int16", "int8"): 256.0}.get((dtype, target), 1.0)
    factor = choices.pick((1.0, choices.real(0.3, 3.0), choices.real(0.3, 3.0)))
    return net.case(net.quantize(x, target, scale * gain * factor, net.zero_point(target)))
