"""Pools and reductions."""

import numpy as np

from tests.corpus.choices import Choices
from tests.corpus.draft import ACTIVATIONS, Case, Draft, Generator


def pool(code: str) -> Generator:
    """Return a generator of AVERAGE_POOL_2D or MAX_POOL_2D."""

    def draw(choices: Choices, dtype: str) -> Case:
        net = Draft(choices, dtype)
        padding = choices.pick(("VALID", "SAME"))
        height, width = net.extent(20), net.extent(20)
        kernel = (
            choices.integer(1, 8 if padding == "SAME" else min(20, height)),
            choices.integer(1, 8 if padding == "SAME" else min(20, width)),
        )
        longest = 5 if padding == "VALID" else 3
        stride = choices.pick(
            ((1, 1), (2, 2), (choices.integer(1, longest), choices.integer(1, longest)))
        )
        batch = choices.pick((1, 1, 1, 2))
        x = net.maybe_before(net.feed((batch, height, width, net.extent(40))))
        add = net.average_pool if code == "AVERAGE_POOL_2D" else net.max_pool
        y = add(x, kernel, stride, padding=padding, activation=choices.pick(ACTIVATIONS))
        return net.case(net.maybe_after(y))

    draw.__doc__ = f"Draw {code}."
    return draw


def mean(choices: Choices, dtype: str) -> Case:
    """Draw MEAN over height and width, one of them, or channels."""
    net = Draft(choices, dtype)
    shape = net.any_shape(2, 4)
    rank = len(shape)
    axes = choices.pick(
        ((rank - 2,), (rank - 3, rank - 2), (rank - 3, rank - 2), (rank - 1,), (0,))
    )
    axes = tuple(sorted({axis for axis in axes if axis >= 0}))
    if rank == 4:
        axes, shape = tuple(a for a in axes if a) or (1, 2), (1, *shape[1:])
    x = net.maybe_before(net.feed(shape))
    y = net.mean(x, axes, choices.chance(2))
    if choices.chance(2):
        net.requantized(y)
    return net.case(y)


def reduction(code: str) -> Generator:
    """Return a generator of SUM, REDUCE_MAX or another reduction along one axis or several."""

    def draw(choices: Choices, dtype: str) -> Case:
        net = Draft(choices, dtype)
        shape = net.any_shape(2, 4)
        axis = choices.integer(0, len(shape) - 1)
        axes = choices.pick(((axis,), (len(shape) - 1,), tuple(range(len(shape)))[-2:]))
        keep = choices.chance(2) or len(axes) == len(shape)  # Vela refuses tensors of rank 0
        x = net.maybe_before(net.feed(shape))
        if dtype == "int32" and not choices.chance(3):
            net.limit(x, -(1 << 24), 1 << 24)  # sums of these do not overflow
        y = net.apply(code, x, axes, keep_dims=keep)
        if code == "SUM" and dtype != "int32":
            net.requantized(y, float(np.sqrt(np.prod([shape[a] for a in axes]))))
        return net.case(y)

    draw.__doc__ = f"Draw {code}."
    return draw


def arg_max(choices: Choices, dtype: str) -> Case:
    """Draw ARG_MAX, mostly over the last axis: only Ethos-U85 takes others."""
    net = Draft(choices, dtype)
    shape = net.any_shape(2, 4)
    shape = (*shape[:-1], choices.integer(1, 127))
    x = net.maybe_before(net.feed(shape))
    last = len(shape) - 1
    place = choices.pick((last, -1))
    wide = choices.pick(("int32", "int64"))
    if choices.chance(3):
        place = choices.integer(0, last)
    return net.case(net.apply("ARG_MAX", x, net.integers(place), output_type=wide))
