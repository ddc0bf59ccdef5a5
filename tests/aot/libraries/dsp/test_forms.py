"""DSP kernels of families that the plain C had: C on this machine, and a Cortex-M33 on QEMU."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bench.layers import board_without_helium
from ethosgen.aot import compile_program
from ethosgen.aot.libraries.dsp import depthwise
from ethosgen.aot.libraries.dsp.lanes import Lanes
from tests.aot.libraries.dsp.test_int8 import dsp_plan
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import check_kernels
from tests.support.catalogue.packed import (
    DEPTHWISE,
    JOINED,
    PLAIN,
    PRODUCTS,
    RECURRENT,
    TRANSPOSED,
)
from tests.support.catalogue.products import product
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]


def _few(net: NetworkBuilder, channels: int, depth: int) -> int:
    """Return windows of few outputs, inside the input and beyond its borders."""
    return net.conv2d(net.input((1, 6, 5, depth)), channels, (3, 3), activation="RELU6")


DEEP: dict[str, Build] = {
    "svdf, two parts of the depth": lambda n: svdf(n, n.input((1, 518), scale=0.02), 5, 3),
    "lstm, three parts": lambda n: lstm(n, n.input((1, 2, 1021), scale=0.02), 9),
}
FEW: dict[str, Build] = {
    **{
        f"{channels} of {depth}": partial(_few, channels=channels, depth=depth)
        for channels in (1, 2, 3)
        for depth in (3, 4, 8)
    },
    "dense, one row": lambda n: n.fully_connected(n.input((1, 30)), 1),
    "dense, shallow": lambda n: n.fully_connected(n.input((5, 3)), 2),
    "apart": lambda n: n.conv2d(n.input((2, 7, 8, 4)), 2, (2, 3), dilation=(2, 3)),
    "rows apart": lambda n: n.conv2d(n.input((1, 9, 6, 4)), 3, (3, 2), dilation=(3, 1)),
    "wider than the input": lambda n: n.conv2d(n.input((1, 2, 2, 4)), 1, (5, 6)),
}
DEEP_PRODUCTS: dict[str, Build] = {
    "two parts": lambda n: product(n, n.input((5, 130)), n.input((130, 6), zero_point=9)),
    "two parts without a zero point": lambda n: product(
        n, n.input((4, 125), zero_point=127), n.input((3, 125), zero_point=0), adj_y=True
    ),
    "parts of ends": lambda n: product(
        n, n.input((4, 372), zero_point=-128), n.input((372, 35), zero_point=127)
    ),
    "one row": lambda n: product(n, n.input((1, 300)), n.input((300, 3), zero_point=-128)),
    "a row and contiguous columns": lambda n: product(
        n, n.input((1, 301)), n.input((7, 301), zero_point=-128), adj_y=True
    ),
    "few places": lambda n: product(n, n.input((2, 1, 3)), n.input((2, 4, 3)), adj_y=True),
    "one row and column": lambda n: product(n, n.input((7, 1)), n.input((7, 1)), adj_x=True),
}
PADS: dict[str, Build] = {
    "blocks and words": lambda n: n.pad(n.input((2, 3, 5, 20)), [(0, 0), (1, 2), (3, 1), (0, 0)]),
    "odd bytes": lambda n: n.pad(n.input((1, 4, 5, 7)), [(0, 0), (1, 0), (0, 5), (0, 0)]),
    "places of one pixel": lambda n: n.pad(n.input((3, 33)), [(0, 0), (2, 41)]),
    "rows alone": lambda n: n.pad(n.input((1, 4, 5, 13)), [(0, 0), (5, 1), (0, 0), (0, 0)]),
    "values of int16": lambda n: n.pad(
        n.input((2, 5, 7, 9), "int16"), [(0, 0), (1, 2), (3, 1), (0, 0)]
    ),
}
WINDOWS: dict[str, Build] = {
    **DEPTHWISE,
    "four channels": lambda n: n.depthwise(n.input((1, 5, 4, 4)), (3, 2), (2, 1)),
    "five channels": lambda n: n.depthwise(n.input((2, 4, 5, 5)), (4, 3), padding="VALID"),
    "copies": lambda n: n.depthwise(n.input((1, 6, 4, 3)), (3, 3), (2, 2), multiplier=4),
    "copies of one": lambda n: n.depthwise(n.input((2, 5, 3, 1)), (5, 1), multiplier=6),
    "copies in bounds": lambda n: n.depthwise(
        n.input((1, 4, 4, 2)), (2, 2), multiplier=9, activation="RELU6"
    ),
    "apart, beyond the input": lambda n: n.depthwise(
        n.input((1, 3, 4, 6)), (3, 3), dilation=(3, 4)
    ),
}
MOST_BITS = "lstm, cell of most bits"
"""Its products have more than the 31 bits that the kernel multiplies."""
GROUPS: dict[str, dict[str, Build]] = {
    "transposed": TRANSPOSED,
    "few": FEW,
    "lanes": WINDOWS,
    "planes": WINDOWS,
    "pads": PADS,
    "joined": JOINED,
    "products": PRODUCTS | DEEP_PRODUCTS,
    "recurrent": {name: build for name, build in RECURRENT.items() if name != MOST_BITS} | DEEP,
}
OUTSIDE = {
    name: (RECURRENT | PLAIN)[name]
    for name in (MOST_BITS, "lstm, cell beyond 16 bits", "svdf, state of int8")
}


@pytest.fixture
def chosen_form(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Compute depthwise layers in lanes, or never so."""
    group = request.node.callspec.params["group"]
    if group == "lanes":
        monkeypatch.setattr(depthwise, "_other_cycles", lambda *_: 1e9)
    elif group == "planes":
        monkeypatch.setattr(Lanes, "is_known", False)


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library", "chosen_form")
@pytest.mark.parametrize("group", GROUPS)
def test_the_twins_equal_tflite_micro(group: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=8)
    plan = dsp_plan(net.build(*(build(net) for build in GROUPS[group].values())))
    check_kernels(plan, tmp_path, r"  ethosgen_dsp_")


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library", "chosen_form")
@pytest.mark.parametrize("board", ["cortex-m33", "mps2-an500"])
@pytest.mark.parametrize("group", ["lanes", "planes"])
def test_a_cortex_m33_and_m7_equal_tflite_micro(group: str, board: str, tmp_path: Path) -> None:
    groups = (
        [GROUPS[group]] if group == "planes" else [v for k, v in GROUPS.items() if k != "planes"]
    )
    net = NetworkBuilder("network", seed=9)
    data = net.build(*(build(net) for layers in groups for build in layers.values()))
    target = board_without_helium(tmp_path) if board == "cortex-m33" else board
    check_firmware(data, tmp_path, target)


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_has_no_form_is_left_to_others(case: str) -> None:
    net = NetworkBuilder("network", seed=8)
    program = compile_program(dsp_plan(net.build(OUTSIDE[case](net))), "net")
    assert not any(name.startswith("ethosgen_dsp") for name in program.sources)
