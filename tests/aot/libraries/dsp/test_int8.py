"""Operators packed for DSP instructions: C on this machine, and a Cortex-M33's code on QEMU."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.layers import board_without_helium
from ethosgen import aot
from ethosgen.aot import compile_program
from ethosgen.aot.libraries.dsp import order
from ethosgen.aot.libraries.framework import scales
from ethosgen.aot.loops.layer import read_layer
from ethosgen.values.extension import Extension
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import (
    Array,
    GeneratedC,
    assert_equal,
    check_kernels,
    cpu_plan,
    samples_and_golden,
)
from tests.support.catalogue.packed import DEPTHWISE, MATRIX, OTHERS, halves
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]


def _grouped(net: NetworkBuilder) -> int:
    """Return a convolution of 3 groups, each of 2 channels and 3 outputs."""
    x = net.input((2, 5, 4, 6), "int8", 0.05, 3)
    weights = net.constant(net.random_integers((9, 3, 2, 2)), None, (0.01,) * 9, (0,) * 9)
    bias = net.constant(np.arange(9, dtype=np.int32), None, (0.0005,) * 9, (0,) * 9)
    to = {"scale": 0.4, "zero_point": -5}
    return net.apply("CONV_2D", x, weights, bias, padding="SAME", stride_w=1, stride_h=2, **to)


def _dense_of(rows: int, depth: int) -> Build:
    return lambda net: net.fully_connected(net.input((rows, depth)), 7)


def _extremes(rows: int, depth: int, channels: int) -> Build:
    """Return rows of -128 times weights of -128, in two channels of four, and of 127."""

    def build(net: NetworkBuilder) -> int:
        source = _dense(net, net.input((rows, 3)), np.zeros((depth, 3), np.int8), -(1 << 20), 0.05)
        weights = np.full((channels, depth), 127, np.int8)
        weights[np.arange(channels) % 4 < 2] = -128
        return _dense(net, source, weights, 0, 0.09 * depth)

    return build


def _dense(net: NetworkBuilder, x: int, weights: Array, bias: int, scale: float) -> int:
    w = net.constant(weights, None, (0.01,), (0,))
    b = net.constant(np.full(len(weights), bias, np.int32), None, (0.05 * 0.01,), (0,))
    return net.apply("FULLY_CONNECTED", x, w, b, scale=scale, zero_point=0)


LAYERS: dict[str, Build] = (
    MATRIX
    | DEPTHWISE
    | {
        "depthwise, even width": lambda n: n.depthwise(n.input((2, 5, 8, 6))),
        "depthwise, steps of 2": lambda n: n.depthwise(n.input((2, 9, 11, 5)), (3, 3), (2, 2)),
        "depthwise, even width, steps of 2": lambda n: n.depthwise(
            n.input((1, 8, 12, 4)), (3, 3), (2, 2), activation="RELU6"
        ),
        "depthwise, one column": lambda n: n.depthwise(
            n.input((2, 21, 1, 9)), (10, 1), padding="VALID"
        ),
        "depthwise, one row": lambda n: n.depthwise(n.input((1, 1, 19, 8)), (1, 5), (1, 2)),
        "depthwise, strips": lambda n: n.depthwise(n.input((2, 40, 31, 5))),
        "depthwise, columns wide apart": lambda n: n.depthwise(
            n.input((1, 9, 7, 5)), (3, 1), (1, 3)
        ),
        "depthwise, two by two": lambda n: n.depthwise(n.input((1, 6, 9, 6)), (2, 2), (2, 2)),
        "depthwise, one output left": lambda n: n.depthwise(n.input((1, 9, 13, 5)), (5, 5)),
        "depthwise, two outputs left": lambda n: n.depthwise(
            n.input((2, 7, 20, 6)), (4, 5), (1, 2)
        ),
        "depthwise, three outputs": lambda n: n.depthwise(n.input((1, 10, 9, 4)), (7, 6), (3, 3)),
        "depthwise, three outputs left": lambda n: n.depthwise(
            n.input((1, 6, 16, 3)), (2, 4), (1, 2), "VALID", multiplier=2
        ),
        "depthwise, one pixel": lambda n: n.depthwise(n.input((1, 3, 3, 6)), padding="VALID"),
        "dense, every rest of rows": lambda n: n.fully_connected(n.input((6, 12)), 6),
        "dense, three rows": lambda n: n.fully_connected(n.input((3, 19)), 3),
        "dense, deep": lambda n: n.fully_connected(n.input((1, 201)), 9),
        # The first round starts at one of 4 places; one row goes by 4, 8 and 16 values.
        **{
            f"dense, {rows} x {depth}": _dense_of(rows, depth)
            for rows in (1, 5)
            for depth in range(4, 40, 4)
        },
        "dense, parts of one row": lambda n: n.fully_connected(n.input((1, 1533)), 7),
        "dense, parts of four rows": lambda n: n.fully_connected(n.input((7, 2050)), 5),
        "dense, extremes of one row": _extremes(1, 1550, 6),
        "dense, extremes of four rows": _extremes(4, 1553, 5),
        "window, parts": lambda n: n.conv2d(n.input((1, 5, 4, 96)), 5, (4, 4)),
        "column, parts": lambda n: n.conv2d(n.input((2, 10, 1, 128)), 6, (9, 1)),
        "shifts of 0": lambda n: n.conv2d(n.input((1, 5, 5, 4)), 6, scale=5.5e-4),
        "depthwise, shifts of 0": lambda n: n.depthwise(n.input((1, 5, 6, 7)), scale=5.5e-4),
        "shifts that are large": lambda n: n.conv2d(
            n.input((1, 5, 5, 4), scale=1e-6), 6, scale=50.0
        ),
        "dense, two steps": lambda n: n.fully_connected(n.input((5, 8)), 5),
        "groups": _grouped,
        "mean": lambda n: n.average_pool(n.input((2, 7, 5, 13)), (7, 5), activation="RELU"),
        "averages": lambda n: n.average_pool(
            n.input((2, 7, 5, 21)), (3, 2), (2, 1), padding="SAME"
        ),
        "averages of most": lambda n: n.average_pool(
            n.input((1, 17, 16, 6), zero_point=-128), (17, 15), (1, 1)
        ),
        "maxima": lambda n: n.max_pool(n.input((2, 7, 5, 21)), (2, 3), (1, 2), padding="SAME"),
        "maxima in bounds": lambda n: n.max_pool(
            n.input((1, 4, 4, 16)), (2, 2), activation="RELU6"
        ),
    }
)
THIRDS = {f"third {part}": dict([*LAYERS.items()][part::3]) for part in range(3)}
"""Networks of all layers: planning one of as many ends takes more than three times as long."""
OUTSIDE: dict[str, Build] = {
    "multipliers above 1": lambda n: n.conv2d(n.input((1, 5, 5, 4), scale=9.0), 6, scale=0.01),
}


def dsp_plan(network: bytes | Network) -> Plan:
    """Return a plan for the CPU of a core with DSP instructions."""
    return replace(cpu_plan(network), extension=Extension.DSP)


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
def test_the_twins_equal_tflite_micro(tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = dsp_plan(net.build(*(build(net) for build in LAYERS.values())))
    check_kernels(plan, tmp_path, r"  ethosgen_dsp_")


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_has_no_form_is_left_to_others(case: str) -> None:
    net = NetworkBuilder("network", seed=8)
    program = compile_program(dsp_plan(net.build(OUTSIDE[case](net))), "net")
    assert "ethosgen_dsp_matrix.c" not in program.sources


def test_the_firmware_of_other_processors_is_without_them() -> None:
    net = NetworkBuilder("network", seed=8)
    data = net.build(net.conv2d(net.input((1, 5, 5, 4)), 6))
    for extension in (Extension.HELIUM, Extension.NONE):
        program = compile_program(replace(cpu_plan(data), extension=extension), "net")
        assert "ethosgen_matrix.c" in program.sources
        assert not any("dsp" in name for name in program.sources)


@needs_qemu
@pytest.mark.parametrize("board", ["cortex-m33", "mps2-an500"])
@pytest.mark.parametrize("group", [*THIRDS, "others"])
def test_a_cortex_m33_and_m7_equal_tflite_micro(group: str, board: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=9)
    layers = THIRDS.get(group, OTHERS | OUTSIDE)
    data = net.build(*(build(net) for build in layers.values()))
    target = board_without_helium(tmp_path) if board == "cortex-m33" else board
    check_firmware(data, tmp_path, target, samples=3)


@needs_qemu
def test_a_cortex_m4_equals_tflite_micro(tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=10)
    names = (
        *("window, padded", "depthwise, strips", "dense, deep", "mean", "maxima in bounds"),
        *("dense, extremes of one row", "dense, extremes of four rows", "shifts of 0"),
    )
    check_firmware(net.build(*(LAYERS[name](net) for name in names)), tmp_path, "mps2-an386")


@needs_gcc
def test_negative_halves_on_this_machine(tmp_path: Path) -> None:
    net = NetworkBuilder("halves")
    plan = dsp_plan(net.build(halves(net, bits=29)))
    program = compile_program(plan, "net")
    assert "ethosgen_dsp_matrix.c" in program.sources
    generated = GeneratedC(program, tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network, 1), strict=True):
        assert_equal(generated.run(sample)[1], wanted)


@needs_qemu
def test_negative_halves_on_a_cortex_m33(tmp_path: Path) -> None:
    net = NetworkBuilder("halves")
    data = net.build(halves(net, bits=29))
    check_firmware(data, tmp_path, board_without_helium(tmp_path), samples=1)


def test_weights_are_packed_as_the_header_says() -> None:
    weights = np.arange(5 * 7).reshape(5, 7).astype(np.int8)
    steps = order.matrix_weights(weights).view(np.uint8).reshape(3, 2, 2, 2, 2)
    for channel, depth in ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (3, 6)):
        packed = steps[channel // 2, depth // 4, depth % 2, depth // 2 % 2, channel % 2]
        assert packed == int(weights[channel, depth]) + (128 if channel % 2 == 0 else 0)
    assert not steps[2, :, :, :, 1].any(), "there is no sixth channel"


def _scales(bias: int, weights: list[list[int]], scale: float = 0.004) -> Array | None:
    net = NetworkBuilder("network", seed=8)
    x = net.input((1, len(weights[0])), "int8", 0.05, 0)
    w = net.constant(np.array(weights, np.int8), None, (scale,), (0,))
    b = net.constant(np.full(len(weights), bias, np.int32), None, (0.05 * scale,), (0,))
    plan = cpu_plan(net.build(net.apply("FULLY_CONNECTED", x, w, b, scale=0.05, zero_point=3)))
    graph = plan.network.graph
    layer = read_layer(graph.operators[0], graph.tensors)
    return scales.channel_scales(layer, layer.weights.array())


def test_sums_fit_until_their_bounds() -> None:
    assert _scales((1 << 30) - 129, [[1]]) is not None and _scales((1 << 30) - 128, [[-1]]) is None
    assert _scales(0, [[1]], 0.51) is not None, "its shift is 0"
    assert _scales((1 << 29) - 128, [[1]], 0.51) is None, "its sum is too great to raise"
    assert _scales(0, [[1]], 1.01) is None, "its shift is to the left"


def test_a_raised_sum_has_the_product_of_its_multiplier() -> None:
    scales = _scales(-7, [[1]], 0.5137)
    assert scales is not None
    bias, mantissa, addend, shift = scales[0].tolist()
    assert shift == 0
    for x in range(-300, 300):
        raised = (((x + bias) * mantissa + (1 << 30)) >> 31) + addend
        assert raised == 3 + round((x - 7) * 0.5137)


def test_the_depth_is_split_where_sums_of_odd_channels_may_have_more_than_24_bits() -> None:
    def parts(*channels: list[int]) -> tuple[int, int]:
        return order.parts(np.array([channels], np.int8))

    assert parts([0] * 511, [-128] * 511) == (128, 0)
    assert parts([0] * 512, [-128] * 512) == (64, 64)
    assert parts([-128] * 9000) == (2250, 0), "even channels have no bound"
    assert parts([0] * 1200, [-128] * 1024 + [0] * 176) == (100, 100), "a part has whole rounds"
    assert parts([0] * 1020, [-128] * 1020) == (79, 88), "512 products do not fit"


@pytest.mark.parametrize(("bias", "scale"), [(1 << 30, 1e-8), (-(1 << 20), 1e-5), (7, 0.9)])
def test_a_channel_without_weights_has_a_constant_output(bias: int, scale: float) -> None:
    scales = _scales(bias, [[0, 0]], scale)
    assert scales is not None
    wanted = min(max(3 + round(bias * scale), -128), 127)
    assert scales.tolist() == [[0, 0, 2 * wanted, 1]]


def test_a_cortex_m33_is_estimated_by_its_own_kernels() -> None:
    net = NetworkBuilder("network", seed=8)
    graph = dsp_plan(net.build(net.conv2d(net.input((1, 8, 8, 32)), 32, (1, 1)))).network.graph
    helium, dsp, plain = (
        aot.cpu_cycles(graph.operators[0], graph, extension)
        for extension in (Extension.HELIUM, Extension.DSP, Extension.NONE)
    )
    assert helium is not None and dsp is not None and plain is not None
    assert helium < dsp < plain
