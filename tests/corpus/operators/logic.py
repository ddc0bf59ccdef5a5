"""Comparisons, operators of bools, selections and casts: on the NPU, only Ethos-U85 has them."""

import dataclasses

import numpy as np

from tests.corpus.choices import Choices
from tests.corpus.draft import WHOLE, Case, Draft, Generator
from tests.corpus.operators.elementwise import operands

_NEAR = 5
"""Operands of WHOLE types are small in most networks, so that some are equal."""


def comparison(code: str) -> Generator:
    """Return a generator of EQUAL, LESS or another comparison."""

    def draw(choices: Choices, dtype: str) -> Case:
        net = Draft(choices, dtype)
        x, y = operands(net, same=choices.chance(2))
        if dtype in WHOLE and dtype != "bool" and not choices.chance(3):
            _close(net, x, y)
        return _followed(net, net.apply(code, x, y))

    draw.__doc__ = f"Draw {code}."
    return draw


def _close(net: Draft, x: int, y: int) -> None:
    for index in (x, y):
        spec = net.tensors[index]
        if spec.data is None:
            net.limit(index, -_NEAR, _NEAR)
        else:
            values = np.frombuffer(spec.data, spec.dtype) % _NEAR
            net.tensors[index] = dataclasses.replace(spec, data=values.tobytes())


def _followed(net: Draft, flags: int) -> Case:
    """Finish with bools as output, negated bools, or a selection between two inputs."""
    shape = net.tensors[flags].shape
    match net.choices.integer(0, 3):
        case 2:
            return net.case(net.apply("LOGICAL_NOT", flags))
        case 3:
            x = net.feed(shape, "int8", scale=0.1, zero_point=0)
            y = net.feed(shape, "int8", scale=0.1, zero_point=0)
            return net.case(net.apply("SELECT_V2", flags, x, y))
    return net.case(flags)


def logical(code: str) -> Generator:
    """Return a generator of LOGICAL_AND or LOGICAL_OR."""

    def draw(choices: Choices, dtype: str) -> Case:
        net = Draft(choices, dtype)
        return net.case(net.apply(code, *operands(net)))

    draw.__doc__ = f"Draw {code}."
    return draw


def logical_not(choices: Choices, dtype: str) -> Case:
    """Draw LOGICAL_NOT."""
    net = Draft(choices, dtype)
    return net.case(net.apply("LOGICAL_NOT", net.feed(net.any_shape())))


def select(choices: Choices, dtype: str) -> Case:
    """Draw SELECT between tensors of one shape."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    x, y = net.feed(shape), _second(net, shape)
    flags = net.feed(shape, "bool")
    return net.case(net.apply("SELECT", flags, x, y))


def select_v2(choices: Choices, dtype: str) -> Case:
    """Draw SELECT_V2, whose condition or values can be broadcast."""
    net = Draft(choices, dtype)
    shape = net.any_shape()
    narrow = tuple(1 if choices.chance(2) else extent for extent in shape)
    of_flags, of_x, of_y = choices.pick(
        ((shape, shape, shape), (narrow, shape, shape), (shape, narrow, shape))
    )
    x = net.feed(of_x)
    y = _second(net, of_y, x)
    flags = net.feed(of_flags, "bool")
    return net.case(net.maybe_after(net.apply("SELECT_V2", flags, x, y)))


def _second(net: Draft, shape: tuple[int, ...], like: int = 0) -> int:
    """Add a second value with the quantization of the first, sometimes a constant."""
    spec = net.tensors[like]
    assert not isinstance(spec.scale, tuple)
    assert isinstance(spec.zero_point, int)
    if net.choices.chance(3):
        values = net.random_integers(shape, net.dtype)
        return net.constant(values, net.dtype, spec.scale, spec.zero_point)
    return net.feed(shape, scale=spec.scale, zero_point=spec.zero_point)


def cast(choices: Choices, dtype: str) -> Case:
    """Draw CAST to another type, whose quantization TFLite ignores."""
    net = Draft(choices, dtype)
    net.has_twin = False  # it would have other stored values
    x = net.feed(net.any_shape())
    others = [name for name in ("int8", "int16", "int32", "uint8", "bool") if name != dtype]
    wanted = choices.pick(others)
    scale = None if wanted in WHOLE else choices.pick((net.scale_of(x), 1.0))
    types = {"in_data_type": dtype, "out_data_type": wanted}
    return net.case(net.apply("CAST", x, **types, scale=scale))
