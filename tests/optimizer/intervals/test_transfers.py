"""Each transfer function against TensorFlow Lite Micro, which computes every input in a domain."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.optimizer.intervals.analysis import TRANSFERS, bounds_of
from ethosgen.optimizer.intervals.bounds import Bounds, whole
from ethosgen.optimizer.intervals.pointwise import images
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.oracle.litert import litert_outputs
from ethosgen.oracle.tflm import golden_outputs
from tests.support.networks import NetworkBuilder

Array = np.ndarray[Any, Any]
Build = Callable[[NetworkBuilder, Sequence[int]], int]


@dataclass(frozen=True)
class Domain:
    """Channels of an operator's inputs: for each input the values that each channel may take.

    Every combination of all inputs' channels at one place is a row.
    """

    values: tuple[tuple[range, ...], ...]
    scales: tuple[float, ...] = (0.05, 0.03)
    points: tuple[int, ...] = (3, -7)
    dtype: str = "int8"

    def rows(self) -> list[Array]:
        """Return for each input its values as (combinations, channels)."""
        flat = [r for channels in self.values for r in channels]
        table = np.array(list(product(*flat)), self.dtype)
        ends = np.cumsum([len(channels) for channels in self.values])[:-1]
        return np.split(table, ends, axis=1)


NARROW, LOW, HIGH, ONE = range(-4, 5), range(-128, -119), range(119, 128), range(17, 18)
WHOLE = range(-128, 128)


def check(build: Build, domain: Domain, *, slack: int = 1) -> None:
    """Compare bounds with all outputs of an operator; they may be wider by `slack`."""
    rows = domain.rows()
    net = NetworkBuilder("brute", seed=5)
    count = len(rows[0])
    inputs = [
        net.input((count, 1, 1, part.shape[1]), domain.dtype, scale, point)
        for part, scale, point in zip(rows, domain.scales, domain.points, strict=False)
    ]
    network = decode_network(net.build(build(net, inputs)), "brute")
    sample = {
        tensor.name: part.reshape(tensor.shape)
        for tensor, part in zip(network.inputs, rows, strict=True)
    }
    (outputs,) = golden_outputs(network, [sample])
    (output,) = outputs.values()
    by_channel = output.astype(np.int64).reshape(-1, output.shape[-1])
    graph = network.graph
    known = bounds_of(graph)
    for tensor, channels in zip(network.inputs, domain.values, strict=True):
        ends = [(r[0], r[-1]) for r in channels]
        known[tensor.index] = Bounds(*(np.array(end, np.int64) for end in zip(*ends, strict=True)))
    for operator in graph.operators:
        bounds = TRANSFERS[operator.code](BoundedSite(operator, graph, known))
        assert bounds is not None, operator.code
        known[operator.outputs[0]] = bounds
    least, most = by_channel.min(axis=0), by_channel.max(axis=0)
    assert (bounds.low <= least).all() and (bounds.high >= most).all(), (bounds, least, most)
    assert (least - bounds.low <= slack).all() and (bounds.high - most <= slack).all()


def unary(code: str, **output: Any) -> Build:
    return lambda net, x: net.unary(code, x[0], **output)


def binary(way: str, activation: str, **output: Any) -> Build:
    return lambda net, x: int(getattr(net, way)(x[0], x[1], activation, **output))


@pytest.mark.parametrize("values", [NARROW, LOW, HIGH, ONE, WHOLE], ids=str)
@pytest.mark.parametrize("code", ["RELU", "RELU6"])
def test_clamps(code: str, values: range) -> None:
    check(unary(code), Domain(((values,),)), slack=0)


@pytest.mark.parametrize("values", [NARROW, LOW, HIGH, ONE, WHOLE], ids=str)
@pytest.mark.parametrize(("scale", "point"), [(0.05, 3), (0.011, -128), (0.9, 60)])
def test_requantization(values: range, scale: float, point: int) -> None:
    def build(net: NetworkBuilder, x: Sequence[int]) -> int:
        return net.quantize(x[0], "int8", scale, point)

    check(build, Domain(((values,),)))


@pytest.mark.parametrize(("source", "target"), [
    ("int8", "int16"), ("int16", "int8"), ("int16", "int16"), ("uint8", "int8"), ("int8", "uint8"),
])  # fmt: skip
@pytest.mark.parametrize("scale", [0.05, 0.0004, 0.31])
def test_all_values_of_requantizations(source: str, target: str, scale: float) -> None:
    """Each value's own bounds have the output of both interpreters."""
    info = np.iinfo(source)
    values = np.arange(info.min, info.max + 1)
    points = {"int16": 0, "int8": 3, "uint8": 131}
    net = NetworkBuilder("brute", seed=5)
    x = net.input((1, len(values)), source, 0.02, points[source])
    y = net.quantize(x, target, scale, points[target] - (target != "int16"))
    network = decode_network(net.build(y), "brute")
    site = BoundedSite(network.graph.operators[0], network.graph, {})
    bounds = images(site, {site.inputs[0].index: Bounds(values, values)})
    assert bounds is not None and (bounds.high - bounds.low <= 1).all()
    sample = {network.inputs[0].name: values.astype(source).reshape(1, -1)}
    for run in (golden_outputs, litert_outputs):
        (outputs,) = run(network, [sample])
        (output,) = outputs.values()
        assert (bounds.low <= output.ravel()).all() and (output.ravel() <= bounds.high).all()


@pytest.mark.parametrize("way", ["RELU", "RELU6", "mul", "maximum"])
@pytest.mark.parametrize("scale", [0.0002, 0.4])
def test_words(way: str, scale: float) -> None:
    """Each value's own bounds have int16's output, at the ends and at random places."""
    random = np.random.default_rng(7)
    ends = np.array([*product((-32768, -1, 0, 1, 32767), repeat=2)])
    values = np.concatenate([ends, random.integers(-32768, 32768, (4000, 2))])
    net = NetworkBuilder("brute", seed=5)
    x, y = (net.input((1, len(values)), "int16", 0.0002, 0) for _ in range(2))
    if way == "mul":
        z = net.mul(x, y, scale=scale, zero_point=0)
    else:
        z = net.maximum(x, y) if way == "maximum" else net.unary(way, x)
    network = decode_network(net.build(z), "brute")
    site = BoundedSite(network.graph.operators[0], network.graph, {})
    columns = [Bounds(column, column) for column in values.T]
    read = dict(zip((t.index for t in site.inputs), columns, strict=False))
    bounds = images(site, read)
    sample = dict(zip((t.name for t in network.inputs), values.T.astype(np.int16), strict=False))
    (outputs,) = golden_outputs(network, [{n: v.reshape(1, -1) for n, v in sample.items()}])
    (output,) = outputs.values()
    assert bounds is not None and (bounds.high - bounds.low <= 1).all()
    assert (bounds.low <= output.ravel()).all() and (output.ravel() <= bounds.high).all()


@pytest.mark.parametrize("way", ["add", "sub", "mul"])
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
@pytest.mark.parametrize(("first", "second"), [(NARROW, LOW), (HIGH, HIGH), (ONE, NARROW)], ids=str)
@pytest.mark.parametrize("scale", [0.06, 0.31])
def test_two_inputs(way: str, activation: str, first: range, second: range, scale: float) -> None:
    check(binary(way, activation, scale=scale, zero_point=-9), Domain(((first,), (second,))))


@pytest.mark.parametrize("way", ["maximum", "minimum"])
@pytest.mark.parametrize(("first", "second"), [(NARROW, LOW), (HIGH, NARROW), (ONE, ONE)], ids=str)
def test_extremes(way: str, first: range, second: range) -> None:
    check(
        lambda net, x: int(getattr(net, way)(x[0], x[1])),
        Domain(((first,), (second,)), scales=(0.05, 0.05), points=(3, 3)),
        slack=0,
    )


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
@pytest.mark.parametrize("values", [(NARROW, LOW), (HIGH, ONE)], ids=str)
@pytest.mark.parametrize("scale", [0.02, 0.4])
def test_layers_over_two_channels(activation: str, values: tuple[range, ...], scale: float) -> None:
    output = {"activation": activation, "scale": scale, "zero_point": -20}
    domain = Domain((values,))
    check(lambda net, x: net.conv2d(x[0], 5, (1, 1), **output), domain)
    check(lambda net, x: net.fully_connected(x[0], 5, **output), domain)
    check(lambda net, x: net.depthwise(x[0], (1, 1), multiplier=2, **output), domain)


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
@pytest.mark.parametrize("values", [
    (range(-9, 10), range(-32768, -32740)), (range(32740, 32768), range(17, 18)),
    (range(-32768, 32768, 1771), range(-32767, 32768, 1771)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("scale", [2.0**-15, 0.0004, 0.03])
@pytest.mark.parametrize("bias", [True, False])
def test_int16_layers(
    activation: str, values: tuple[range, ...], scale: float, *, bias: bool
) -> None:
    """Sums are int64 and rescaled by 16 bits of the factor."""
    output = {"activation": activation, "scale": scale, "zero_point": 0, "bias": bias}
    domain = Domain((values,), scales=(0.001,), points=(0,), dtype="int16")
    check(lambda net, x: net.conv2d(x[0], 5, (1, 1), **output), domain)
    check(lambda net, x: net.fully_connected(x[0], 5, **output), domain)
    check(lambda net, x: net.depthwise(x[0], (1, 1), multiplier=2, **output), domain)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("values", [(NARROW, LOW, range(-2, 3)), (HIGH, ONE, ONE)], ids=str)
@pytest.mark.parametrize("is_depthwise", [False, True])
def test_borders(padding: str, values: tuple[range, ...], *, is_depthwise: bool) -> None:
    """Three places of one channel; an interval is that of all, as a channel's values are."""
    wide = range(min(r.start for r in values), max(r.stop for r in values))
    few = [wide[0], wide[len(wide) // 2], wide[-1]]  # sums are linear: ends suffice
    table = np.array(list(product(few, repeat=3)), np.int8)
    net = NetworkBuilder("borders", seed=8)
    x = net.input((len(table), 1, 3, 1), scale=0.05, zero_point=3)
    layer = net.depthwise if is_depthwise else net.conv2d
    more = {"multiplier": 4} if is_depthwise else {"channels": 4}
    y = layer(x, kernel=(1, 2), padding=padding, scale=0.1, zero_point=0, **more)  # type: ignore[operator]
    network = decode_network(net.build(y), "borders")
    graph, operator = network.graph, network.graph.operators[0]
    (outputs,) = golden_outputs(network, [{network.inputs[0].name: table.reshape(-1, 1, 3, 1)}])
    (output,) = outputs.values()
    by_channel = output.astype(np.int64).reshape(-1, 4)
    known = bounds_of(graph)
    known[graph.inputs[0]] = Bounds(np.array([wide[0]]), np.array([wide[-1]]))
    bounds = TRANSFERS[operator.code](BoundedSite(operator, graph, known))
    assert bounds is not None
    least, most = by_channel.min(axis=0), by_channel.max(axis=0)
    assert (bounds.low <= least).all() and (bounds.high >= most).all()
    assert (least - bounds.low <= 1).all() and (bounds.high - most <= 1).all()


@pytest.mark.parametrize("values", [NARROW, LOW, HIGH, ONE, range(3, 4)], ids=str)
@pytest.mark.parametrize(("scale", "point"), [(0.05, 3), (0.011, -128), (0.2, 60)])
@pytest.mark.parametrize("count", [2, 3])
def test_means(values: range, scale: float, point: int, count: int) -> None:
    table = np.array(list(product(values, repeat=count)), np.int8)
    net = NetworkBuilder("mean")
    x = net.input((len(table), 1, count, 1), scale=0.05, zero_point=3)
    y = net.mean(x, (1, 2), scale=scale, zero_point=point)
    network = decode_network(net.build(y), "mean")
    sample = {network.inputs[0].name: table.reshape(-1, 1, count, 1)}
    for run in (golden_outputs, litert_outputs):
        (outputs,) = run(network, [sample])
        (output,) = outputs.values()
        known = bounds_of(network.graph)
        known[network.graph.inputs[0]] = Bounds(np.array([values[0]]), np.array([values[-1]]))
        bounds = TRANSFERS["MEAN"](BoundedSite(network.graph.operators[0], network.graph, known))
        assert bounds is not None
        bounds = bounds.clamped(-128, 127)
        assert bounds.low[0] <= output.min() <= bounds.low[0] + 1
        assert bounds.high[0] >= output.max() >= bounds.high[0] - 1
        assert values != range(3, 4) or bounds.constant.all(), "the zero point stays"


MOVES: dict[str, Build] = {
    "pad": lambda net, x: net.pad(x[0], ((0, 0), (1, 0), (0, 2), (0, 0))),
    "pad channels": lambda net, x: net.pad(x[0], ((0, 0), (0, 0), (0, 0), (1, 0))),
    "concat": lambda net, x: net.concat([x[0], x[0]]),
    "concat rows": lambda net, x: net.concat([x[0], x[0]], 1),
    "transpose": lambda net, x: net.transpose(x[0], (0, 3, 1, 2)),
    "flatten": lambda net, x: net.reshape(x[0], (1, net.tensors[x[0]].shape[0] * 2)),
    "halve": lambda net, x: net.reshape(x[0], (net.tensors[x[0]].shape[0] * 2, 1, 1, 1)),
    "max pool": lambda net, x: net.max_pool(x[0], (1, 1), activation="RELU"),
    "average pool": lambda net, x: net.average_pool(x[0], (1, 1), activation="RELU6"),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("values", [(NARROW, LOW), (HIGH, ONE)], ids=str)
def test_moves(name: str, values: tuple[range, ...]) -> None:
    mixes = ("transpose", "pad channels", "flatten")  # or see a part of the rows only
    slack = 255 if name in mixes else 0
    check(MOVES[name], Domain((values,)), slack=slack)


def test_an_unknown_operator_has_the_whole_range() -> None:
    net = NetworkBuilder("unknown")
    x = net.input((1, 4))
    network = decode_network(net.build(net.softmax(x)), "unknown")
    known, (output,) = bounds_of(network.graph), network.outputs
    every = whole(output)
    assert every is not None
    assert (known[output.index].low == every.low).all() and (every.low == -128).all()
    assert (known[output.index].high == every.high).all() and (every.high == 127).all()


def test_sums_that_leave_int32_have_the_whole_range() -> None:
    net = NetworkBuilder("wraps")
    x = net.input((1, 1, 1, 1))
    w = net.constant(np.full((1, 1, 1, 1), 127, np.int8), None, (0.01,))
    b = net.constant(np.array([(1 << 31) - 1], np.int32), None, (0.0005,))
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    spec = net.like(x, scale=1e6, zero_point=0)
    (y,) = net.operator("CONV_2D", (x, w, b), (spec,), options)
    network = decode_network(net.build(y), "wraps")
    known = bounds_of(network.graph)[network.outputs[0].index]
    assert (known.low[0], known.high[0]) == (-128, 127)
