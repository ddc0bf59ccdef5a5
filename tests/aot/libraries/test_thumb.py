"""Operators packed for cores without DSP instructions: C on this machine, and two cores on QEMU."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.layers import board_of
from ethosgen import aot
from ethosgen.aot import compile_program
from ethosgen.aot.libraries.thumb import order
from ethosgen.values.extension import Extension
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from tests.aot.libraries.dsp.test_int8 import LAYERS as DSP_LAYERS
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import check_kernels, cpu_plan
from tests.support.catalogue.packed import (
    JOINED,
    OTHERS,
    PRODUCTS,
    RECURRENT,
    TRANSPOSED,
    halves,
)
from tests.support.catalogue.products import transposed
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder

MOST_BITS = "lstm, cell of most bits"
"""The only layer with state that the kernels do not cover."""
STATES = {name: build for name, build in RECURRENT.items() if name != MOST_BITS}
OWN: dict[str, Callable[[NetworkBuilder], int]] = {
    "one row, blocks of channels": lambda n: n.fully_connected(n.input((1, 14)), 27),
    "padding, blocks of words": lambda n: n.pad(n.input((2, 3, 76)), [(0, 0), (1, 0), (0, 40)]),
    "padding, words": lambda n: n.pad(n.input((3, 36)), [(1, 1), (4, 8)]),
    "padding, bytes": lambda n: n.pad(n.input((3, 37)), [(1, 1), (3, 0)]),
    "padding, bytes behind rows": lambda n: n.pad(n.input((3, 37)), [(1, 1), (0, 3)]),
}
COPIES: dict[str, Callable[[NetworkBuilder], int]] = {
    "eight outputs a channel, rows of 3": lambda n: n.depthwise(
        n.input((2, 5, 9, 3)), (4, 5), (3, 3), multiplier=8, activation="RELU"
    ),
    "four outputs a channel, strips": lambda n: n.depthwise(
        n.input((1, 131, 21, 2)), (5, 4), (2, 3), multiplier=4
    ),
    "eight outputs a channel, columns apart": lambda n: n.depthwise(
        n.input((1, 7, 5, 2)), (2, 3), dilation=(2, 3), multiplier=8
    ),
    "three outputs a channel, steps of 2": lambda n: n.depthwise(
        n.input((2, 17, 3, 3)), (3, 3), (2, 2), multiplier=3
    ),
    "a plane of one channel": lambda n: n.depthwise(
        n.input((2, 17, 3, 1)), (3, 3), (2, 2), multiplier=2, activation="RELU6"
    ),
}
SINGLE: dict[str, Callable[[NetworkBuilder], int]] = {
    "single channel": lambda n: transposed(n, n.input((2, 4, 5, 16)), (4, 5), 1),
    "single channel, odd": lambda n: transposed(
        n, n.input((1, 6, 5, 7)), (6, 5), 1, (2, 4), activation="RELU6"
    ),
    "single channel, valid": lambda n: transposed(
        n, n.input((1, 4, 5, 3)), (6, 8), 1, (3, 4), padding="VALID", bias=False
    ),
    "single channel, saturates": lambda n: transposed(
        n, n.input((1, 5, 5, 9)), (5, 5), 1, (5, 3), scale=1e-2
    ),
}
SIZES = re.compile(r"dense, \d+ x \d+")
"""Layers for the DSP kernels' loops; a network has at most 255 inputs."""
OF_DSP = {name: build for name, build in DSP_LAYERS.items() if not SIZES.fullmatch(name)}
LAYERS = OF_DSP | TRANSPOSED | STATES | OWN | SINGLE | COPIES
EXTENSIONS = (Extension.THUMB2, Extension.THUMB)
CORES = ("cortex-m3", "cortex-m0plus")


def thumb_plan(network: bytes | Network, extension: Extension = Extension.THUMB2) -> Plan:
    """Return a plan for the CPU of a core without DSP instructions."""
    return replace(cpu_plan(network), extension=extension)


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_the_twins_equal_tflite_micro(extension: Extension, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=8)
    data = net.build(*(build(net) for build in (LAYERS | JOINED).values()), halves(net, bits=29))
    plan = thumb_plan(data, extension)
    check_kernels(plan, tmp_path, r"  ethosgen_(thumb|dsp)_")


@needs_qemu
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("half", [0, 1])
def test_cores_without_dsp_equal_tflite_micro(half: int, core: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=9)
    builds = [*(LAYERS | OTHERS | PRODUCTS).values()][half::2]
    data = net.build(*(build(net) for build in builds), halves(net, bits=29))
    check_firmware(data, tmp_path, board_of(tmp_path, core))


@needs_qemu
@pytest.mark.parametrize("board", ["microbit", "mps2-an385"])
def test_a_cortex_m0_and_m3_equal_tflite_micro(board: str, tmp_path: Path) -> None:
    """QEMU's Cortex-M0 traps words that are not aligned, which its Cortex-M55 loads."""
    net = NetworkBuilder("network", seed=10)
    names = (
        *("window, padded", "groups of windows", "depthwise, one column", "any window"),
        *("depthwise, even width, steps of 2", "two outputs a channel", "one channel, rows apart"),
        *("dense, ends of vectors and blocks", "maxima in bounds", "phases", "lstm"),
        *("svdf, rank 3, batch", *OWN, *SINGLE, *JOINED, "eight outputs a channel, rows of 3"),
    )
    check_firmware(net.build(*((LAYERS | JOINED)[name](net) for name in names)), tmp_path, board)


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
def test_padding_that_is_not_of_words_equals_tflite_micro_on_a_cortex_m0(tmp_path: Path) -> None:
    """Bytes cost more than with another library, which is chosen otherwise."""
    net = NetworkBuilder("network", seed=11)
    names = ("padding, bytes", "padding, bytes behind rows", "padding, blocks of words")
    check_firmware(net.build(*(OWN[name](net) for name in names)), tmp_path, "microbit")


def test_other_processors_are_without_them() -> None:
    net = NetworkBuilder("network", seed=8)
    data = net.build(net.conv2d(net.input((1, 5, 5, 4)), 6))
    for extension in Extension:
        sources = compile_program(thumb_plan(data, extension), "net").sources
        assert ("ethosgen_thumb_matrix.c" in sources) == (extension is Extension.THUMB2)
        assert ("ethosgen_thumb_pairs.c" in sources) == (extension is Extension.THUMB)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_single_transposed_channel_in_one_part_is_read_in_place(extension: Extension) -> None:
    for channels in (1, 2):
        net = NetworkBuilder("network", seed=8)
        data = net.build(transposed(net, net.input((1, 4, 4, 8)), (4, 4), channels))
        sources = compile_program(thumb_plan(data, extension), "net").sources
        assert ("ethosgen_thumb_single.c" in sources) == (channels == 1)
        assert ("ethosgen_thumb_convolution.c" in sources) == (channels == 2)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_four_outputs_of_a_narrow_channel_are_computed_at_a_time(extension: Extension) -> None:
    for width, multiplier, is_made in ((5, 4, True), (5, 3, False), (67, 4, False)):
        net = NetworkBuilder("network", seed=8)
        source = net.input((1, 12, width, 3))
        data = net.build(net.depthwise(source, (5, 4), padding="VALID", multiplier=multiplier))
        sources = compile_program(thumb_plan(data, extension), "net").sources
        assert ("ethosgen_thumb_copies.c" in sources) == is_made
        assert ("ethosgen_thumb_depthwise.c" in sources) == (not is_made)


def test_armv6m_leaves_the_phases_of_a_single_transposed_channel_to_others() -> None:
    for channels in (1, 2):
        net = NetworkBuilder("network", seed=8)
        data = net.build(transposed(net, net.input((1, 4, 4, 8)), (8, 8), channels, (3, 3), (2, 2)))
        sources = {
            kind: compile_program(thumb_plan(data, kind), "net").sources for kind in EXTENSIONS
        }
        assert "ethosgen_thumb_convolution.c" in sources[Extension.THUMB2]
        is_packed = "ethosgen_thumb_convolution.c" in sources[Extension.THUMB]
        assert is_packed == (channels == 2)


def test_weights_are_packed_as_the_header_says() -> None:
    weights = np.arange(6 * 5).reshape(6, 5).astype(np.int8)
    packed = order.matrix_weights(weights).tolist()
    assert packed[: 2 * 4] == [0, 5, 10, 15, 1, 6, 11, 16]
    assert packed[4 * 5 : 4 * 5 + 4] == [20, 25, 21, 26], "the last block is narrower"
    assert len(packed) == weights.size
    taps = np.arange(3 * 2 * 4).reshape(3, 2, 4).astype(np.int8)
    assert order.depthwise_weights(taps)[:7].tolist() == [0, 4, 8, 12, 16, 20, 1]


def test_products_of_raised_values_have_biases_that_are_lowered() -> None:
    scales = np.array([[7, 1, 2, 3], [-7, 1, 2, 3]], np.int32)
    weights = np.array([[1, 2], [-128, -128]], np.int8)
    lowered = order.lowered(scales, weights)
    assert lowered[:, 0].tolist() == [7 - 3 * 128, -7 + 256 * 128]
    assert lowered[:, 1:].tolist() == [[1, 2, 3], [1, 2, 3]]
    assert order.raised(np.array([-128, 0, 127], np.int8)).view(np.uint8).tolist() == [0, 128, 255]


def test_a_cortex_m3_is_estimated_by_its_own_kernels() -> None:
    net = NetworkBuilder("network", seed=8)
    graph = cpu_plan(net.build(net.conv2d(net.input((1, 8, 8, 32)), 32, (1, 1)))).network.graph
    dsp, thumb, none = (
        aot.cpu_cycles(graph.operators[0], graph, extension)
        for extension in (Extension.DSP, Extension.THUMB2, Extension.NONE)
    )
    assert dsp is not None and thumb is not None and none is not None
    assert dsp < thumb < none
