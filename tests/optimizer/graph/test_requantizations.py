"""QUANTIZE behind QUANTIZE: which are merged, which stay, and that no bit changes."""

import pytest

from tests.optimizer.dead.test_operators import codes_after
from tests.support.networks import NetworkBuilder


def pair(
    net: NetworkBuilder, middle: tuple[str, float, int], last: tuple[float, int]
) -> tuple[int, int]:
    x = net.conv2d(net.input((1, 3, 3, 2)), 4, (1, 1), scale=0.05, zero_point=3)
    first = net.quantize(x, *middle)
    return first, net.quantize(first, "int8", *last)


@pytest.mark.parametrize(
    ("middle", "last", "left"),
    [
        (("int8", 0.05, 3), (0.08, -5), 1),  # the first changes nothing
        (("int8", 0.07, -9), (0.07, -9), 1),  # the second changes nothing
        (("int16", 0.05 / 128, 0), (0.05, 3), 0),  # all values return
        (("int16", 0.05 / 256, 0), (0.05, 3), 2),  # the lowest values clip
        (("int8", 0.07, -9), (0.05, 3), 2),  # the coarser scale in the middle loses values
        (("int8", 0.05, 60), (0.05, 3), 2),  # the middle clips
        (("int8", 0.025, 3), (0.05, 3), 2),
    ],
)
def test_a_pair(middle: tuple[str, float, int], last: tuple[float, int], left: int) -> None:
    net = NetworkBuilder()
    _, second = pair(net, middle, last)
    codes = codes_after(net, net.softmax(second))
    assert codes == ["CONV_2D", *["QUANTIZE"] * left, "SOFTMAX"]


def test_another_reader_keeps_the_first() -> None:
    net = NetworkBuilder()
    first, second = pair(net, ("int16", 0.05 / 128, 0), (0.05, 3))
    codes = codes_after(net, net.softmax(second), net.logistic(first))
    assert codes.count("QUANTIZE") == 2
