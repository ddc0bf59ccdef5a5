"""int16 operators for DSP instructions: C on this machine, and code for real cores on QEMU."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench.layers import board_without_helium
from tests.aot.libraries.dsp.test_int8 import dsp_plan
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import Array, check_kernels
from tests.support.catalogue.recurrent import lstm
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]
BIAS = -(1 << 24)
"""A bias that saturates outputs."""


def _input(net: NetworkBuilder, *shape: int) -> int:
    return net.input(shape, "int16", 0.0005)


def _extremes(rows: int, depth: int) -> Build:
    """Return rows of -32768 times weights of -128, in one channel of three, and of 127."""

    def build(net: NetworkBuilder) -> int:
        lowest = _dense(
            net, _input(net, rows, 3), np.zeros((depth, 3), np.int8), -(1 << 24), 0.0005
        )
        weights = np.full((3, depth), 127, np.int8)
        weights[1] = -128
        return _dense(net, lowest, weights, 0, 0.0009 * depth)

    return build


def _dense(net: NetworkBuilder, x: int, weights: Array, bias: int, scale: float) -> int:
    w = net.constant(weights, None, (0.01,), (0,))
    b = net.constant(np.full(len(weights), bias, np.int64), None, (0.00001,), (0,))
    return net.apply("FULLY_CONNECTED", x, w, b, scale=scale)


MATRIX: dict[str, Build] = {
    "dense, one row": lambda n: n.fully_connected(_input(n, 1, 46), 5),
    "dense, an odd depth": lambda n: n.fully_connected(_input(n, 1, 31), 4, activation="RELU"),
    "dense, one place": lambda n: n.fully_connected(_input(n, 3, 1), 3),
    "dense, one channel": lambda n: n.fully_connected(_input(n, 7, 12), 1, bias=False),
    "dense, two rows": lambda n: n.fully_connected(_input(n, 2, 9), 6, per_channel=True),
    "dense, three rows": lambda n: n.fully_connected(_input(n, 3, 19), 3),
    "dense, odd channels in bounds": lambda n: n.fully_connected(
        _input(n, 3, 10), 5, activation="RELU"
    ),
    "dense, every rest of words": lambda n: n.fully_connected(_input(n, 5, 27), 2),
    "dense, deep": lambda n: n.fully_connected(_input(n, 6, 1201), 3),
    "dense, most in 32 bits": _extremes(4, 511),
    "dense, parts of one row": _extremes(1, 1029),
    "dense, parts of three rows": _extremes(3, 1040),
    "dense, multipliers above 1": lambda n: n.fully_connected(_input(n, 5, 9), 3, scale=1e-6),
    "point": lambda n: n.conv2d(_input(n, 2, 3, 5, 7), 6, (1, 1), activation="RELU6"),
    "point, steps": lambda n: n.conv2d(_input(n, 1, 5, 6, 4), 5, (1, 1), (2, 2)),
    "window": lambda n: n.conv2d(_input(n, 1, 6, 5, 3), 4),
    "window, inside": lambda n: n.conv2d(_input(n, 2, 5, 6, 4), 3, (2, 3), padding="VALID"),
    "window, wider than the input": lambda n: n.conv2d(_input(n, 1, 2, 2, 3), 3, (5, 7)),
    "window, dilated": lambda n: n.conv2d(_input(n, 1, 7, 8, 3), 4, dilation=(2, 3)),
    "window, one channel": lambda n: n.conv2d(_input(n, 1, 9, 7, 1), 2, (4, 5), (2, 1)),
    "window, parts": lambda n: n.conv2d(_input(n, 1, 5, 4, 96), 5, (4, 4)),
    "column": lambda n: n.conv2d(_input(n, 1, 11, 1, 6), 7, (4, 1), padding="VALID"),
    "groups": lambda n: n.conv2d(_input(n, 2, 5, 4, 6), 9, (2, 2), (2, 1), groups=3),
}
DEPTHWISE: dict[str, Build] = {
    "depthwise": lambda n: n.depthwise(_input(n, 2, 5, 8, 6)),
    "depthwise, steps": lambda n: n.depthwise(_input(n, 1, 9, 11, 5), (4, 3), (2, 3), "VALID"),
    "depthwise, dilated": lambda n: n.depthwise(
        _input(n, 1, 9, 7, 8), (3, 2), dilation=(2, 3), activation="RELU"
    ),
    "depthwise, column": lambda n: n.depthwise(_input(n, 2, 21, 1, 9), (10, 1), padding="VALID"),
    "depthwise, three channels": lambda n: n.depthwise(_input(n, 1, 5, 6, 3)),
    "depthwise, copies": lambda n: n.depthwise(_input(n, 1, 5, 6, 2), multiplier=3),
    "depthwise, one channel": lambda n: n.depthwise(_input(n, 1, 8, 5, 1), (1, 3)),
    "depthwise, one channel, copies": lambda n: n.depthwise(_input(n, 1, 6, 7, 1), multiplier=5),
}
POOLS: dict[str, Build] = {
    "averages": lambda n: n.average_pool(_input(n, 2, 7, 5, 21), (3, 2), (2, 1), padding="SAME"),
    "average of all": lambda n: n.average_pool(_input(n, 1, 25, 5, 8), (25, 5), activation="RELU"),
    "averages of pairs": lambda n: n.average_pool(_input(n, 1, 4, 5, 3), (2, 3), (1, 1)),
    "maxima": lambda n: n.max_pool(_input(n, 2, 7, 5, 19), (2, 3), (1, 2), padding="SAME"),
    "maxima of pairs": lambda n: n.max_pool(_input(n, 1, 4, 4, 2), (2, 2), activation="RELU6"),
}
RECURRENT: dict[str, Build] = {
    "lstm": lambda n: lstm(n, _input(n, 1, 3, 8), 6),
    "lstm, odd sizes": lambda n: lstm(n, _input(n, 2, 2, 7), 5, cell_power=8),
    "lstm, multipliers above 1": lambda n: lstm(n, n.input((1, 2, 6), "int16", 0.05), 3),
    "lstm, by time, clipped": lambda n: lstm(n, _input(n, 2, 3, 5), 4, by_time=True, cell_clip=0.6),
}


def _product(first: tuple[int, ...], second: tuple[int, ...], turned: bool = False) -> Build:
    def build(net: NetworkBuilder) -> int:
        inputs = (_input(net, *first), _input(net, *second))
        return net.apply("BATCH_MATMUL", *inputs, adj_y=turned, scale=0.01)

    return build


PRODUCTS: dict[str, Build] = {
    "product": _product((2, 5, 7), (2, 7, 3)),
    "product, turned": _product((2, 4, 18), (2, 5, 18), True),
    "product, one row": _product((3, 1, 21), (3, 4, 21), True),
    "product, one place": _product((1, 3, 1), (1, 1, 2)),
    "product, a matrix for all": _product((2, 3, 3, 4), (4, 6)),
}
CURVES: dict[str, Build] = {
    "logistic": lambda n: n.logistic(n.input((1, 5, 7), "int16", 8 / 32768)),
    "logistic, level ends": lambda n: n.logistic(n.input((1, 400), "int16", 0.0013)),
    "tanh": lambda n: n.tanh(n.input((2, 3), "int16", 4 / 32768)),
    "tanh, level ends": lambda n: n.tanh(n.input((1, 401), "int16", 0.0007)),
}
SOFTMAXES: dict[str, Build] = {
    "softmax": lambda n: n.softmax(n.input((3, 11), "int16", 8 / 32768)),
    "softmax, sharp": lambda n: n.softmax(n.input((2, 40), "int16", 0.01), beta=1.5),
    "softmax, flat": lambda n: n.softmax(n.input((1, 600), "int16", 1e-5)),
}
LAYERS = MATRIX | DEPTHWISE | POOLS | RECURRENT | PRODUCTS | CURVES | SOFTMAXES


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
def test_the_twins_equal_tflite_micro(tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = dsp_plan(net.build(*(build(net) for build in LAYERS.values())))
    check_kernels(plan, tmp_path, r"  ethosgen_dsp_")


@needs_qemu
@pytest.mark.loose_stack("the LSTM's sums are not in parts: multiply_parts() does not run for it")
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
@pytest.mark.parametrize("board", ["cortex-m33", "mps2-an386", "mps2-an500"])
def test_firmware_equals_tflite_micro(board: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=9)
    data = net.build(*(build(net) for build in LAYERS.values()))
    target = board_without_helium(tmp_path) if board == "cortex-m33" else board
    check_firmware(data, tmp_path, target)
