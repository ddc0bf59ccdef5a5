"""Elementwise operators with one or two feature maps."""

import dataclasses
from typing import Any

import numpy as np

from tests.corpus.choices import Choices
from tests.corpus.draft import ACTIVATIONS, WHOLE, Case, Draft, Generator


def arithmetic(code: str) -> Generator:
    """Return a generator of ADD, SUB or MUL."""

    def draw(choices: Choices, dtype: str) -> Case:
        net = Draft(choices, dtype)
        x, y = operands(net)
        activation = choices.pick(ACTIVATIONS) if dtype != "int32" else "NONE"
        method = {"ADD": net.add, "SUB": net.sub, "MUL": net.mul}[code]
        if dtype != "int32":
            return net.case(net.maybe_after(net.requantized(method(x, y, activation))))
        _narrow(net, x, y, 15 if code == "MUL" else 30)
        output = method(x, y, activation)
        scale = choices.pick((None, None, 1.0, choices.real(1e-3, 1e3)))
        several = code == "MUL" and choices.chance(3)  # Vela rescales sums of several
        for index in (x, y, output):  # TFLite ignores them
            own = choices.real(1e-3, 1e3) if several else scale
            net.tensors[index] = dataclasses.replace(net.tensors[index], scale=own)
        return net.case(output)

    draw.__doc__ = f"Draw {code}."
    return draw


add, sub, mul = (arithmetic(code) for code in ("ADD", "SUB", "MUL"))


def _narrow(net: Draft, x: int, y: int, bits: int) -> None:
    """Limit 32-bit operands in two of three networks, so that they do not overflow."""
    if net.choices.chance(3):
        return
    for index in (x, y):
        spec = net.tensors[index]
        if spec.data is None:
            net.limit(index, -(1 << bits), (1 << bits) - 1)
        else:
            values = np.frombuffer(spec.data, np.int32) % (1 << bits)
            net.tensors[index] = dataclasses.replace(spec, data=values.tobytes())


def extreme(code: str) -> Generator:
    """Return a generator of MINIMUM or MAXIMUM; one quantization for all three tensors."""

    def draw(choices: Choices, dtype: str) -> Case:
        net = Draft(choices, dtype)
        return net.case(net.apply(code, *operands(net, same=True)))

    draw.__doc__ = f"Draw {code}."
    return draw


minimum, maximum = extreme("MINIMUM"), extreme("MAXIMUM")


def squared_difference(choices: Choices, dtype: str) -> Case:
    """Draw SQUARED_DIFFERENCE."""
    net = Draft(choices, dtype)
    x, y = operands(net)
    out = net.apply("SQUARED_DIFFERENCE", x, y)
    return net.case(net.requantized(out, net.scale_of(x) * (20000 if dtype == "int16" else 80)))


def div(choices: Choices, dtype: str) -> Case:
    """Draw DIV by numbers of one sign: TFLite does not define a division by 0, or -2**31 by -1."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    x = net.feed(shape)
    other = choices.pick((shape, shape, (1,) * len(shape)))
    y = net.feed(other)
    spec = net.tensors[y]
    assert isinstance(spec.zero_point, int)
    info = np.iinfo(dtype)
    below, above = (info.min, spec.zero_point - 2), (spec.zero_point + 1, info.max)
    if dtype == "int32" and not choices.chance(3):
        below, above = (-99, -2), (1, 99)
    net.limit(y, *(above if above[1] - above[0] > below[1] - below[0] else below))
    if choices.chance(3):
        low, high = net.ranges.pop(spec.name or "")
        values = net.random.integers(low, high, other, endpoint=True).astype(dtype)
        net.tensors[y] = dataclasses.replace(spec, data=values.tobytes())
        net.inputs.remove(y)
    quotient = net.apply("DIV", x, y)
    if dtype == "int32":
        return net.case(quotient)
    return net.case(net.requantized(quotient, choices.real(0.05, 20) / net.scale_of(y)))


def prelu(choices: Choices, dtype: str) -> Case:
    """Draw PRELU with a slope for each channel, or one for all."""
    net = Draft(choices, dtype)
    shape = net.image()
    x = net.maybe_before(net.feed(shape))
    slopes = choices.pick(((1, 1, shape[3]), (1, 1, shape[3]), (1, 1, 1), shape[1:]))
    kind = "int8" if dtype == "int16" else dtype  # the slopes' type in LiteRT's 16-bit kernel
    point = 0 if dtype == "int16" else net.zero_point()
    alpha = net.constant(net.random_integers(slopes, kind), kind, choices.real(2e-4, 0.02), point)
    return net.case(net.requantized(net.apply("PRELU", x, alpha)))


def absolute(choices: Choices, dtype: str) -> Case:
    """Draw ABS."""
    net = Draft(choices, dtype)
    y = net.unary("ABS", net.maybe_before(net.feed(net.any_shape())))
    if choices.chance(2):
        net.requantized(y)
    return net.case(y)


def negative(choices: Choices, dtype: str) -> Case:
    """Draw NEG of tensors without zero point: TFLite negates the stored integers."""
    net = Draft(choices, dtype)
    x = net.feed(net.any_shape(), zero_point=0)
    return net.case(net.unary("NEG", x))


def operands(net: Draft, same: bool = False) -> tuple[int, int]:
    """Choose two operands: equal shapes, broadcast ones, a constant, or a scalar."""
    choices = net.choices
    shape = net.any_shape()
    other = choices.pick((shape, shape, _broadcast(choices, shape), (), (1,)))
    if choices.chance(6):  # each repeats along some axes of the other
        other, shape = _broadcast(choices, shape), _broadcast(choices, shape)
    elif choices.chance(6):
        other = shape[choices.integer(0, len(shape) - 1) :]
    x = net.feed(shape)
    spec = net.tensors[x]
    quantization: dict[str, Any] = {"scale": spec.scale, "zero_point": spec.zero_point}
    if not same and not choices.chance(3):
        scale = net.scale() if net.dtype not in WHOLE else None
        quantization = {"scale": scale, "zero_point": net.zero_point()}
        if choices.chance(4):
            quantization["scale"] = spec.scale
    if choices.chance(3) or not other:
        values = net.random_integers(other, net.dtype)
        y = net.constant(values, net.dtype, **quantization)
    else:
        y = net.feed(other, **quantization)
    return (y, x) if choices.chance(3) else (x, y)


def _broadcast(choices: Choices, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if choices.chance(2) else extent for extent in shape)
