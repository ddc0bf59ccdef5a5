"""Packed operators of int16: C twins on this machine, Helium on QEMU, against TFLite Micro."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from ethosgen.aot.libraries.helium import recurrent
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.extension import Extension
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import check_kernels, cpu_plan
from tests.support.catalogue.products import product
from tests.support.catalogue.recurrent import lstm
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]

ELEMENTS: dict[str, Build] = {
    "sums": lambda n: n.add(int16(n, (1, 5, 7, 3)), int16(n, (1, 5, 7, 3), 0.011)),
    "sums of equal scales": lambda n: n.add(int16(n, (2, 16)), int16(n, (2, 16)), scale=0.02),
    "sums, the second larger": lambda n: n.add(int16(n, (37,), 0.003), int16(n, (37,)), "RELU"),
    "sums that saturate": lambda n: n.add(int16(n, (2, 9)), int16(n, (2, 9), 0.03), scale=0.01),
    "differences": lambda n: n.sub(int16(n, (3, 11)), int16(n, (3, 11), 0.013)),
    "differences, the second larger": lambda n: n.sub(int16(n, (3, 11), 0.013), int16(n, (3, 11))),
    "differences of equal scales": lambda n: n.sub(int16(n, (24,)), int16(n, (24,)), "RELU6"),
    "sums with channels": lambda n: n.add(int16(n, (2, 3, 19)), int16(n, (19,), 0.011)),
    "differences from channels": lambda n: n.sub(int16(n, (10,)), int16(n, (2, 3, 10), 0.4)),
    "products": lambda n: n.mul(int16(n, (1, 5, 7, 3)), int16(n, (1, 5, 7, 3), 0.011)),
    "products, bounds": lambda n: n.mul(int16(n, (2, 8), 0.001), int16(n, (2, 8), 0.001), "RELU6"),
    "products with channels": lambda n: n.mul(int16(n, (2, 3, 4, 13)), int16(n, (2, 1, 1, 13))),
    "logistic": lambda n: n.logistic(int16(n, (2, 35), 3e-4)),
    "logistic, power of two": lambda n: n.logistic(int16(n, (70,), 2.0**-12)),
    "logistic, steep": lambda n: n.logistic(int16(n, (70,), 1e-3)),
    "tanh": lambda n: n.tanh(int16(n, (3, 5, 6), 1e-4)),
    "tanh, power of two": lambda n: n.tanh(int16(n, (41,), 2.0**-11)),
    "tanh, steep": lambda n: n.tanh(int16(n, (70,), 7e-4)),
}
POOLS: dict[str, Build] = {
    "maxima": lambda n: n.max_pool(int16(n, (2, 7, 5, 21)), (2, 3), (1, 2), padding="SAME"),
    "maxima, whole vectors": lambda n: n.max_pool(int16(n, (1, 6, 5, 48)), (3, 2), (1, 1)),
    "maxima in bounds": lambda n: n.max_pool(int16(n, (1, 4, 4, 40)), (2, 2), activation="RELU6"),
    "averages": lambda n: n.average_pool(int16(n, (2, 7, 5, 21)), (3, 2), (2, 1), padding="SAME"),
    "averages of few channels": lambda n: n.average_pool(int16(n, (1, 7, 5, 3)), (2, 2), (1, 1)),
    "averages, whole vectors": lambda n: n.average_pool(int16(n, (1, 5, 5, 16)), (5, 5)),
    "averages of most": lambda n: n.average_pool(int16(n, (1, 19, 19, 9)), (19, 19)),
    "averages of one": lambda n: n.average_pool(int16(n, (1, 3, 2, 12)), (1, 1), activation="RELU"),
}
LAYERS: dict[str, Build] = {
    "dense": lambda n: n.fully_connected(int16(n, (2, 35)), 7),
    "dense, three rows": lambda n: n.fully_connected(int16(n, (3, 8)), 9, activation="RELU"),
    "dense, one of each": lambda n: n.fully_connected(int16(n, (1, 1)), 1, per_channel=True),
    "dense, no bias": lambda n: n.fully_connected(int16(n, (1, 24)), 4, bias=False),
    "dense, many products": lambda n: n.fully_connected(int16(n, (2, 1100)), 6),
    "dense, steep": lambda n: n.fully_connected(int16(n, (5, 9)), 5, scale=0.004),
    "pixels": lambda n: n.conv2d(int16(n, (1, 3, 5, 9)), 5, (1, 1), activation="RELU"),
    "pixels, whole vectors": lambda n: n.conv2d(int16(n, (1, 4, 5, 32)), 8, (1, 1)),
    "pixels, three vectors": lambda n: n.conv2d(int16(n, (2, 3, 3, 24)), 6, (1, 1)),
    "pixels, strided": lambda n: n.conv2d(int16(n, (1, 5, 6, 20)), 5, (1, 1), (2, 3)),
    "window": lambda n: n.conv2d(int16(n, (2, 6, 5, 3)), 4, (3, 2), (2, 1)),
    "window, apart": lambda n: n.conv2d(int16(n, (1, 9, 11, 5)), 6, dilation=(2, 3)),
    "window, many products": lambda n: n.conv2d(int16(n, (1, 3, 4, 96)), 5, (4, 4), (2, 1)),
    "columns": lambda n: n.conv2d(int16(n, (1, 12, 1, 10)), 8, (5, 1), padding="VALID"),
    "rows in place": lambda n: n.conv2d(int16(n, (1, 3, 12, 6)), 4, (1, 3), (1, 2), "VALID"),
    "many products in place": lambda n: n.conv2d(
        int16(n, (1, 12, 1, 400)), 3, (4, 1), padding="VALID"
    ),
    "groups": lambda n: n.conv2d(int16(n, (1, 5, 4, 12)), 9, (3, 1), groups=3),
    "groups of a channel": lambda n: n.conv2d(int16(n, (1, 6, 5, 4)), 8, groups=4),
    "depthwise": lambda n: n.depthwise(int16(n, (2, 6, 5, 10)), activation="RELU6"),
    "depthwise, apart": lambda n: n.depthwise(int16(n, (1, 9, 7, 4)), dilation=(2, 3)),
    "depthwise, whole vectors": lambda n: n.depthwise(int16(n, (1, 5, 5, 24)), (2, 3)),
    "depthwise, windows in the padding": lambda n: n.depthwise(
        n.pad(int16(n, (1, 4, 3, 5)), [(0, 0), (5, 4), (4, 5), (0, 0)]), padding="VALID"
    ),
    "depthwise, steep": lambda n: n.depthwise(int16(n, (1, 5, 5, 11)), scale=1e-4),
    "two outputs a channel": lambda n: n.depthwise(int16(n, (1, 5, 5, 6)), multiplier=2),
    "depthwise of one": lambda n: n.depthwise(int16(n, (1, 5, 6, 1)), multiplier=3),
}
RECURRENT: dict[str, Build] = {
    "lstm": lambda n: lstm(n, int16(n, (1, 3, 40), 1e-4), 19),
    "lstm, whole vectors": lambda n: lstm(n, int16(n, (1, 2, 16), 1e-4), 32),
    "lstm, batch": lambda n: lstm(n, int16(n, (3, 2, 5), 1e-4), 6),
    "lstm, by time, clipped": lambda n: lstm(
        n, int16(n, (4, 2, 5), 1e-4), 6, by_time=True, cell_clip=0.6
    ),
    "lstm, steep": lambda n: lstm(n, int16(n, (1, 3, 10)), 9),
    "lstm, cell of few bits": lambda n: lstm(n, int16(n, (1, 4, 9), 1e-4), 7, cell_power=8),
    "lstm, cell of many bits": lambda n: lstm(n, int16(n, (1, 4, 9), 1e-4), 7, cell_power=14),
}
OTHERS: dict[str, Build] = {
    "matrices": lambda n: product(n, int16(n, (2, 5, 9)), int16(n, (2, 9, 7))),
    "columns as rows": lambda n: product(n, int16(n, (3, 5, 20)), int16(n, (3, 6, 20)), adj_y=True),
    "rows as columns": lambda n: product(n, int16(n, (2, 19, 6)), int16(n, (2, 19, 4)), adj_x=True),
    "both turned": lambda n: product(
        n, int16(n, (33, 3)), int16(n, (5, 33)), adj_x=True, adj_y=True
    ),
    "one matrix for all": lambda n: product(n, int16(n, (3, 2, 4, 10)), int16(n, (10, 6))),
    "a column": lambda n: product(n, int16(n, (2, 6, 18)), int16(n, (2, 18, 1))),
    "product that saturates": lambda n: product(n, int16(n, (5, 9)), int16(n, (9, 5)), scale=0.9),
    "softmax": lambda n: n.softmax(int16(n, (1, 12), 3e-4)),
    "softmax of rows": lambda n: n.softmax(int16(n, (2, 3, 21), 1e-4), beta=0.7),
    "flat softmax": lambda n: n.softmax(int16(n, (2, 400), 1e-6)),
    "steep softmax": lambda n: n.softmax(int16(n, (5, 4), 0.01)),
    "softmax of one": lambda n: n.softmax(int16(n, (3, 1))),
    "softmax whose distances wrap": lambda n: n.softmax(int16(n, (2, 45), 20.0)),
}
GROUPS = {"elements": ELEMENTS | POOLS, "layers": LAYERS, "recurrent": RECURRENT, "others": OTHERS}


def int16(net: NetworkBuilder, shape: tuple[int, ...], scale: float = 0.05) -> int:
    """Add an input of int16."""
    return net.input(shape, "int16", scale)


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize("group", GROUPS)
def test_the_twins_equal_tflite_micro(group: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = cpu_plan(net.build(*(build(net) for build in GROUPS[group].values())))
    check_kernels(plan, tmp_path, r"  ethosgen_")


@pytest.mark.parametrize("name", ["groups", "two outputs a channel"])
@pytest.mark.parametrize("extension", [Extension.HELIUM, Extension.NONE])
def test_weights_are_spread_over_all_channels_for_helium_alone(
    name: str, extension: Extension
) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = cpu_plan(net.build(LAYERS[name](net)))
    sources = compile_program(replace(plan, extension=extension), "net").sources
    assert ("ethosgen_matrix_s16.c" in sources) == (extension is Extension.HELIUM)


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize("group", GROUPS)
def test_helium_equals_tflite_micro(group: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=9)
    data = net.build(*(build(net) for build in GROUPS[group].values()))
    check_firmware(data, tmp_path, samples=3)


def test_an_lstm_whose_rescaled_sums_wrap_is_not_packed() -> None:
    """TFLite Micro keeps the lower 32 bits of a gate's rescaled sum, and Helium saturates."""
    for scale, is_packed in ((1e-4, True), (100.0, False)):
        net = NetworkBuilder("steep", seed=1)
        graph = parse_network(net.build(lstm(net, int16(net, (1, 3, 8), scale), 6)), "steep").graph
        assert (recurrent.lstm_s16(graph.operators[0], graph.tensors) is not None) is is_packed
