"""The choice of a plan in which an accelerator works beside the NPU."""

from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.backend import find_accelerator, load_wrapped
from ethosgen.board import load_board
from ethosgen.flow.costs import Place
from ethosgen.flow.planning import PlanSettings
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.plan import IoStyle, OffloadMode, OffloadOptions
from ethosgen.values.watch import Watch
from tests.support.networks import NetworkBuilder
from tests.support.twin_accelerator import TOML, write_twins

FAST = TOML.replace(
    "output_elements * kernel_h * kernel_w * input_channels", "500 if kernel_h == 5 else 1000000"
)


def place(folder: Path, toml: str = FAST) -> Place:
    """Return a network whose input the NPU and the device read."""
    accelerator = load_wrapped(str(write_twins(folder, folder / "told", 1, toml)))
    net = NetworkBuilder("net", seed=4)
    x = net.input((1, 24, 24, 8), name="x")
    deep = net.conv2d(net.conv2d(x, 8, (3, 3), padding="VALID"), 8, (3, 3), padding="VALID")
    wide = net.conv2d(x, 8, (5, 5), padding="VALID")
    network = replace(parse_network(net.build(deep, wide), "net.tflite"), name="net")
    board, npu = load_board("corstone300"), find_accelerator("ethos-u55-128")
    mode = board.choose_memory_mode(None, npu)
    options = OffloadOptions(mode=OffloadMode.AUTO, check=False)
    settings = PlanSettings(npu, options, wrapped=[accelerator]).on(board, mode)
    return Place(network, board, mode, settings)


def test_the_npus_tensors_are_apart_where_a_device_works_meanwhile(tmp_path: Path) -> None:
    asked = place(tmp_path)
    program = asked.compiled(Watch())
    assert program.plan.io is IoStyle.ARENA and not program.plan.offsets
    assert program.overlapped == ("'conv_2d_9' on twin beside 'conv_2d_6' on the NPU",)
    usual = replace(asked.settings.options.schedule, arena_bytes=program.arena_bytes - 1)
    tight = asked.scheduled(usual).compiled(Watch())
    assert tight.arena_bytes < program.arena_bytes
    assert tight.plan.offsets and not tight.overlapped


@pytest.mark.parametrize("unlike", ['awaited = "twin_wait"\n', "cycles = "])
def test_without_a_gain_the_compiler_places_them(unlike: str, tmp_path: Path) -> None:
    """Neither a device that cannot be awaited nor one of unknown cycles is a gain."""
    lines = FAST.splitlines(keepends=True)
    toml = "".join(line for line in lines if not line.startswith(unlike.strip()))
    asked = place(tmp_path, toml)
    program = asked.compiled(Watch())
    assert not program.overlapped
