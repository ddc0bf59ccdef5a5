"""PAD before a layer: when the layer's own padding takes its place, and that no bit changes."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.optimizer.dead.test_operators import codes_after
from tests.support.networks import NetworkBuilder

Pads = Sequence[Sequence[int]]
ONE_BEHIND = ((0, 0), (0, 1), (0, 1), (0, 0))
"""What Keras adds before a layer with stride 2 over an even size."""
ALL_AROUND = ((0, 0), (1, 1), (1, 1), (0, 0))


def _codes(
    pads: Pads,
    size: int = 8,
    stride: int = 2,
    *,
    way: str = "conv2d",
    padding: str = "VALID",
    dtype: str = "int8",
) -> list[str]:
    net = NetworkBuilder(seed=5)
    x = net.pad(net.input((1, size, size, 4), dtype), pads)
    per_channel = dtype != "uint8"
    if way == "conv2d":
        y = net.conv2d(x, 6, (3, 3), (stride, stride), padding, per_channel=per_channel)
    else:
        y = net.depthwise(x, (3, 3), (stride, stride), padding, per_channel=per_channel)
    return codes_after(net, y)


@pytest.mark.parametrize("way", ["conv2d", "depthwise"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize(("pads", "size", "stride"), [
    (ONE_BEHIND, 8, 2), (ALL_AROUND, 7, 2), (ALL_AROUND, 8, 1),
    (((0, 0), (0, 2), (0, 1), (0, 0)), 8, 2),
])  # fmt: skip
def test_a_layer_pads_by_itself(way: str, dtype: str, pads: Pads, size: int, stride: int) -> None:
    code = "CONV_2D" if way == "conv2d" else "DEPTHWISE_CONV_2D"
    assert _codes(pads, size, stride, way=way, dtype=dtype) == [code]


@pytest.mark.parametrize(("pads", "size", "stride"), [
    (ALL_AROUND, 8, 2),  # SAME adds one behind, none in front
    (ONE_BEHIND, 7, 2),
    (ONE_BEHIND, 8, 1),
    (((0, 0), (2, 2), (2, 2), (0, 0)), 8, 1),  # a larger output
    (((0, 0), (1, 1), (1, 1), (0, 1)), 8, 1),  # another channel
    (((1, 0), (1, 1), (1, 1), (0, 0)), 8, 1),  # another sample
    (((0, 0), (0, 3), (0, 1), (0, 0)), 8, 2),  # another row of outputs
])  # fmt: skip
def test_other_padding_stays(pads: Pads, size: int, stride: int) -> None:
    assert _codes(pads, size, stride)[0] == "PAD"


def test_a_padded_layer_keeps_its_pad() -> None:
    assert _codes(ONE_BEHIND, padding="SAME") == ["PAD", "CONV_2D"]


def test_a_float_layer_keeps_its_pad() -> None:
    assert _codes(ONE_BEHIND, dtype="float32") == ["PAD", "CONV_2D"]


@pytest.mark.parametrize(("value", "left"), [(3, ["CONV_2D"]), (4, ["PADV2", "CONV_2D"])])
def test_only_the_zero_point_is_padding(value: int, left: list[str]) -> None:
    net = NetworkBuilder(seed=5)
    x = net.input((1, 8, 8, 4), scale=0.05, zero_point=3)
    filler = net.constant(np.array(value, np.int8), None, 0.05, 3)
    y = net.apply("PADV2", x, ONE_BEHIND, filler)
    assert codes_after(net, net.conv2d(y, 6, (3, 3), (2, 2), "VALID")) == left


def test_another_reader_keeps_the_pad() -> None:
    net = NetworkBuilder(seed=5)
    x = net.pad(net.input((1, 8, 8, 4)), ONE_BEHIND)
    y = net.conv2d(x, 6, (3, 3), (2, 2), "VALID")
    assert "PAD" in codes_after(net, y, net.max_pool(x, (2, 2)))


def test_the_network_s_output_keeps_the_pad() -> None:
    net = NetworkBuilder(seed=5)
    x = net.pad(net.input((1, 8, 8, 4)), ONE_BEHIND)
    assert "PAD" in codes_after(net, net.conv2d(x, 6, (3, 3), (2, 2), "VALID"), x)


def test_two_layers_behind_one_pad() -> None:
    net = NetworkBuilder(seed=5)
    x = net.pad(net.input((1, 8, 8, 4)), ONE_BEHIND)
    layers = [net.conv2d(x, n, (3, 3), (2, 2), "VALID") for n in (3, 5)]
    assert codes_after(net, *layers) == ["CONV_2D", "CONV_2D"]
