"""Operators that address elements by indices: on the NPU, only Ethos-U85 has them."""

from tests.corpus.choices import Choices
from tests.corpus.draft import Case, Draft


def gather(choices: Choices, dtype: str) -> Case:
    """Draw GATHER along the first axis after the batches, by constant or other indices."""
    net = Draft(choices, dtype)
    shape = net.any_shape(1, 3)
    batches = choices.integer(0, 1) if len(shape) > 1 and choices.chance(3) else 0
    axis = choices.integer(0, len(shape) - 1) if choices.chance(6) else batches
    batches = min(batches, axis)
    x = net.feed(shape)
    count = (net.extent(12),) if choices.chance(4) else (choices.integer(1, 3), net.extent(8))
    wanted = (*shape[:batches], *count[batches:])
    if choices.chance(2):
        values = net.random.integers(0, shape[axis], wanted)
        indices = net.constant(values, "int32")
    else:
        indices = net.input(wanted, "int32", None, 0)
        net.limit(indices, 0, shape[axis] - 1)
    return net.case(net.apply("GATHER", x, indices, axis=axis, batch_dims=batches))


def scatter_nd(choices: Choices, dtype: str) -> Case:
    """Draw SCATTER_ND of slices along the first axis; Vela wants constant, unique indices."""
    net = Draft(choices, dtype)
    shape = net.any_shape(1, 3)
    count = choices.integer(1, shape[0])
    places = net.random.permutation(shape[0])[:count].reshape(count, 1)
    x = net.feed((count, *shape[1:]), zero_point=0)
    return net.case(net.apply("SCATTER_ND", net.constant(places, "int32"), x, shape))
