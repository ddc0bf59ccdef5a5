"""Curves against both interpreters, which compute every input of one byte."""

from collections.abc import Callable

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.optimizer.intervals.bounds import Bounds
from ethosgen.optimizer.intervals.pointwise import images
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.oracle.litert import litert_outputs
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.values.network import Network
from tests.optimizer.dead.test_operators import codes_after
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder, int], int]
VALUES = np.arange(-128, 128)

CURVES: dict[str, Build] = {
    "logistic": lambda net, x: net.logistic(x),
    "tanh": lambda net, x: net.tanh(x),
    "hard swish": lambda net, x: net.unary("HARD_SWISH", x),
    "coarse hard swish": lambda net, x: net.unary("HARD_SWISH", x, scale=0.4, zero_point=-90),
    "leaky": lambda net, x: net.unary("LEAKY_RELU", x, {"alpha": 0.1}),
    "leaky to another scale": lambda net, x: net.unary(
        "LEAKY_RELU", x, {"alpha": 0.7}, scale=0.09, zero_point=40
    ),
    "steep": lambda net, x: net.unary("LEAKY_RELU", x, {"alpha": 1.5}),
}


def bytes_of(build: Build, scale: float, point: int) -> Network:
    net = NetworkBuilder("curve")
    return decode_network(net.build(build(net, net.input((1, 256), "int8", scale, point))), "curve")


def found_for(network: Network, low: np.ndarray, high: np.ndarray) -> Bounds | None:  # type: ignore[type-arg]
    site = BoundedSite(network.graph.operators[0], network.graph, {})
    return images(site, {network.graph.inputs[0]: Bounds(low, high)})


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("point", [-128, 3, 90])
def test_all_values(name: str, point: int) -> None:
    for scale in np.geomspace(1e-4, 1.0, 13):
        network = bytes_of(CURVES[name], float(np.float32(scale)), point)
        bounds = found_for(network, VALUES, VALUES)
        assert bounds is not None
        assert (bounds.high - bounds.low <= (3 if "swish" in name else 1)).all()
        sample = {network.inputs[0].name: VALUES.astype(np.int8).reshape(1, -1)}
        for run in (golden_outputs, litert_outputs):
            (outputs,) = run(network, [sample])
            output = next(iter(outputs.values())).ravel()
            assert (bounds.low <= output).all() and (output <= bounds.high).all(), (scale, run)


@pytest.mark.parametrize("name", CURVES)
def test_intervals_have_the_images_of_their_values(name: str) -> None:
    network = bytes_of(CURVES[name], 0.05, 3)
    (outputs,) = golden_outputs(
        network, [{network.inputs[0].name: VALUES.astype(np.int8).reshape(1, -1)}]
    )
    output = next(iter(outputs.values())).ravel().astype(np.int64)
    low, high = (end.ravel() for end in np.meshgrid(VALUES[::5], VALUES[::5]))
    low, high = np.minimum(low, high), np.maximum(low, high)
    bounds = found_for(network, low, high)
    assert bounds is not None
    for start, stop, least, most in zip(low, high, bounds.low, bounds.high, strict=True):
        part = output[start + 128 : stop + 129]
        assert least <= part.min() and part.max() <= most


def test_logistic_of_a_coarse_input_is_unknown() -> None:
    network = bytes_of(CURVES["logistic"], 1.5, 3)
    assert found_for(network, VALUES, VALUES) is None


@pytest.mark.parametrize(("activation", "left"), [("RELU", 0), ("NONE", 1)])
def test_a_leak_that_never_leaks_is_idle(activation: str, left: int) -> None:
    net = NetworkBuilder()
    x = net.conv2d(
        net.input((1, 3, 3, 2)), 4, (1, 1), activation=activation, scale=0.05, zero_point=-20
    )
    y = net.unary("LEAKY_RELU", x, {"alpha": 0.25})
    codes = codes_after(net, net.conv2d(y, 2, (1, 1)))
    assert codes == ["CONV_2D", *["LEAKY_RELU"] * left, "CONV_2D"]
