"""Estimates of recurrent layers with Helium, against instructions counted on QEMU."""

from collections.abc import Callable

import pytest

from ethosgen.aot import cpu_cycles
from ethosgen.frontend.tflite.reader import parse_network
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]

COUNTED: dict[str, tuple[Build, int]] = {
    "lstm, many steps": (lambda n: lstm(n, n.input((1, 28, 28)), 20), 90_720),
    "lstm, many features": (lambda n: lstm(n, n.input((1, 1, 257)), 128), 47_445),
    "lstm, few units": (lambda n: lstm(n, n.input((1, 5, 16)), 4), 3_050),
    "svdf, many features": (lambda n: svdf(n, n.input((1, 96)), 64, 8), 4_236),
    "svdf, long memory": (lambda n: svdf(n, n.input((1, 16)), 32, 32), 2_227),
    "svdf, two ranks": (lambda n: svdf(n, n.input((1, 64)), 16, 10, rank=2), 2_488),
    "svdf, few units": (lambda n: svdf(n, n.input((1, 10)), 4, 5), 271),
}
"""By name: a layer, and the instructions of one run on mps3-an547."""


@pytest.mark.parametrize("name", COUNTED)
def test_estimates_are_near_what_was_counted(name: str) -> None:
    build, counted = COUNTED[name]
    net = NetworkBuilder("cost", 1)
    graph = parse_network(net.build(build(net)), "cost").graph
    estimate = cpu_cycles(graph.operators[0], graph)
    assert estimate is not None
    assert 0.85 < estimate / counted < 1.2
