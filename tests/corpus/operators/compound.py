"""Small networks of several operators, so that Vela fuses, cascades, stripes and reuses memory."""

from collections.abc import Callable

from tests.corpus.choices import Choices
from tests.corpus.draft import ACTIVATIONS, Case, Draft
from tests.corpus.operators import activations, elementwise, pools, shapes
from tests.corpus.operators.weighted import vary

Layer = Callable[[Draft, int], int]


def chain(choices: Choices, dtype: str) -> Case:
    """Draw layers of any kind, one after the other."""
    net = Draft(choices, dtype)
    x = net.feed(net.image(24, 24, 24))
    for _ in range(choices.integer(2, 6)):
        x = choices.pick(LAYERS)(net, x)
    return net.case(x)


def residual(choices: Choices, dtype: str) -> Case:
    """Draw blocks with a connection around them."""
    net = Draft(choices, dtype)
    x = net.feed(net.image(24, 24, 24))
    for _ in range(choices.integer(1, 3)):
        y = _conv(net, _conv(net, x, same=True), same=True)
        x = net.requantized(net.add(x, y, choices.pick(ACTIVATIONS)))
    return net.case(x)


def branches(choices: Choices, dtype: str) -> Case:
    """Draw branches that meet in a concatenation."""
    net = Draft(choices, dtype)
    x = net.feed(net.image(16, 16, 24))
    tips = [_conv(net, x, same=True) for _ in range(choices.integer(2, 3))]
    first = net.tensors[tips[0]]
    for tip in tips[1:]:  # TFLite Micro only concatenates tensors with the same scale
        net.tensors[tip] = net.like(
            tips[0], net.tensors[tip].shape, scale=first.scale, name=net.tensors[tip].name
        )
    tips.append(net.max_pool(tips[0], (3, 3), (1, 1), padding="SAME"))
    joined = net.concat(tips, 3)
    return net.case(_conv(net, joined))


def cascade(choices: Choices, dtype: str) -> Case:
    """Draw depthwise separable layers on a larger image, which Vela stripes in a small arena."""
    net = Draft(choices, dtype)
    size = choices.integer(24, 56), choices.integer(24, 56)
    x = net.feed((1, *size, choices.pick((1, 3, 8, 16))))
    for _ in range(choices.integer(2, 4)):
        x = _depthwise(net, x)
        x = _conv(net, x)
        if choices.chance(4):
            x = net.max_pool(x, (2, 2), padding="SAME")
    return net.case(x)


def heavy(choices: Choices, dtype: str) -> Case:
    """Draw deep convolutions with many weights, which Vela buffers by DMA and splits over cores."""
    net = Draft(choices, dtype)
    x = net.feed((1, choices.integer(1, 9), choices.integer(1, 9), choices.integer(48, 160)))
    for _ in range(choices.integer(1, 3)):
        kernel = choices.pick(((1, 1), (3, 3), (1, 3)))
        y = net.conv2d(x, choices.integer(40, 160), kernel, per_channel=dtype != "uint8")
        vary(net)
        x = y
    if choices.chance(2):
        x = net.fully_connected(x, choices.integer(16, 100))
        vary(net)
    return net.case(x)


def attention(choices: Choices, dtype: str) -> Case:
    """Draw products of feature maps with a softmax between them."""
    net = Draft(choices, dtype)
    rows, depth = net.extent(12), net.extent(24)
    query, key, value = (net.feed((1, rows, depth)) for _ in range(3))
    gain = net.scale_of(query) * net.scale_of(key) * 73 * depth**0.5
    scores = net.apply("BATCH_MATMUL", query, key, adj_y=True, scale=gain, zero_point=0)
    spec = net.tensors[value]
    to = {"scale": spec.scale, "zero_point": spec.zero_point}
    return net.case(net.apply("BATCH_MATMUL", net.softmax(scores), value, **to))


def high_rank(choices: Choices, dtype: str) -> Case:
    """Draw one operator on tensors of rank 5 or 6, which Vela splits."""
    choices.high_rank = True
    return choices.pick(ANY_RANK)(choices, dtype)


def _conv(net: Draft, x: int, same: bool = False) -> int:
    choices = net.choices
    depth = net.tensors[x].shape[3] if same else net.extent(32)
    stride = (1, 1) if same else choices.pick(((1, 1), (1, 1), (2, 2)))
    kernel = choices.pick(((3, 3), (1, 1), (5, 5), (1, 3)))
    wide = net.dtype != "uint8"
    y = net.conv2d(x, depth, kernel, stride, "SAME", choices.pick(ACTIVATIONS), per_channel=wide)
    vary(net)
    return y


def _depthwise(net: Draft, x: int) -> int:
    choices = net.choices
    stride = choices.pick(((1, 1), (1, 1), (2, 2)))
    kernel = choices.pick(((3, 3), (3, 3), (5, 5)))
    wide = net.dtype != "uint8"
    y = net.depthwise(x, kernel, stride, "SAME", choices.pick(ACTIVATIONS), per_channel=wide)
    vary(net)
    return y


def _pool(net: Draft, x: int) -> int:
    pool = net.choices.pick((net.max_pool, net.average_pool))
    return pool(
        x, net.choices.pick(((2, 2), (3, 3))), net.choices.pick(((1, 1), (2, 2))), padding="SAME"
    )


def _leaky(net: Draft, x: int) -> int:
    return net.requantized(net.unary("LEAKY_RELU", x, {"alpha": net.choices.real(0.01, 0.4)}))


def _pad(net: Draft, x: int) -> int:
    before, after = net.choices.integer(0, 2), net.choices.integer(0, 2)
    return net.pad(x, ((0, 0), (before, after), (after, before), (0, 0)))


def _scaled(net: Draft, x: int) -> int:
    depth = net.tensors[x].shape[3]
    values = net.random_integers((1, 1, 1, depth), net.dtype)
    factor = net.constant(values, net.dtype, net.scale(), net.zero_point())
    return net.requantized(net.mul(x, factor))


def _transposed(net: Draft, x: int) -> int:
    return net.transpose(x, net.choices.pick(((0, 2, 1, 3), (0, 1, 3, 2), (0, 3, 1, 2))))


def _halves(net: Draft, x: int) -> int:
    shape = net.tensors[x].shape
    if shape[1] < 2:
        return x
    begin, size = net.integers([0, 0, 0, 0]), net.integers([1, shape[1] // 2, *shape[2:]])
    first = net.apply("SLICE", x, begin, size)
    second = net.apply("SLICE", x, [0, shape[1] - shape[1] // 2, 0, 0], size)
    return net.requantized(net.add(first, second))


LAYERS: tuple[Layer, ...] = (
    _conv, _conv, _depthwise, _pool, _leaky, _pad, _scaled, _transposed, _halves,
    lambda net, x: net.tanh(x),
    lambda net, x: net.logistic(x),
    lambda net, x: net.requantized(net.unary("HARD_SWISH", x)) if net.dtype != "int16" else x,
    lambda net, x: net.relu(x),
)  # fmt: skip

ANY_RANK = (
    elementwise.add, elementwise.sub, elementwise.mul, elementwise.maximum, elementwise.absolute,
    activations.relu, activations.logistic, activations.softmax, activations.quantize,
    shapes.transpose, shapes.concatenation, shapes.pack, shapes.split, shapes.slice_, pools.mean,
)  # fmt: skip
"""Generators of operators that Vela and both oracles support at any rank."""
