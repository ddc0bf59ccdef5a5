"""Firmware on QEMU behind a data cache: the library's maintenance suffices, and no less does."""

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ethosgen import targets
from ethosgen.board import load_board
from ethosgen.cli import cli
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.cache import cache_header
from ethosgen.toolchain import Built, build
from ethosgen.values.errors import TargetError
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle
from tests import ROOT
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import ELEMENTS, make_program

Firmwares = Callable[[IoStyle], tuple[Built, ProjectInfo]]
Differences = Callable[..., list[list[int]]]
INPUT, OUTPUT = "serving/input:0", "serving/output:0"
SAMPLES = 5
HOOK = """
void ethosgen_npu_{what}_cache(const uintptr_t base[ETHOSGEN_NPU_BASES],
                               const uint32_t bytes[ETHOSGEN_NPU_BASES])
{{
    (void)base;
    (void)bytes;
}}
"""
NEIGHBOUR = "    extern int8_t *neighbour;\n    (*neighbour)++;\n    stop_counting();\n"
TAIL = f"\nint8_t *neighbour = &output_of_plus_one[{ELEMENTS}];\n"
"""The content of a neighbouring buffer if the output's buffer ended with the tensor."""


def make_samples() -> list[Arrays]:
    random = np.random.default_rng(11)
    return [{INPUT: random.integers(-128, 128, (1, ELEMENTS), np.int8)} for _ in range(SAMPLES)]


def build_cached(place: Path, io: IoStyle, edits: dict[str, tuple[str, str]]) -> Path:
    """Build the firmware that adds one, with the cache's registers, and with changes in its C."""
    board = load_board("corstone300")
    write(render(make_program(io), board), place)
    for name, (old, new) in edits.items():
        text = (place / name).read_text()
        assert old in text
        (place / name).write_text(text.replace(old, new) if old else text + new)
    assert board.run.qemu
    header = place / "cache.h"
    header.write_text(cache_header(board.run.qemu.npu_base_addr))
    toolchain = place / "cmake" / "arm-none-eabi.cmake"
    text = toolchain.read_text()
    assert '"-mcpu=' in text
    toolchain.write_text(text.replace('"-mcpu=', f'"-include {header} -mcpu=', 1))
    return build(place).elf


@pytest.fixture
def differences(firmware: Firmwares, tmp_path: Path) -> Differences:
    """Return a function that lists the wrong elements of each sample."""

    def run(
        io: IoStyle, edits: dict[str, tuple[str, str]] | None = None, seed: int = 1
    ) -> list[list[int]]:
        _ = firmware(io)  # skips where there are no tools
        elf = build_cached(tmp_path / "p", io, edits or {})
        info = open_project(tmp_path / "p")
        samples = make_samples()
        got = targets.run(elf, info, samples, attach=PlusOneNpu, timeout_s=30, cache_seed=seed)
        assert got.ended and len(got.samples) == SAMPLES
        return [
            np.flatnonzero(result.outputs[OUTPUT] != sample[INPUT] + np.int8(1)).tolist()
            for sample, result in zip(samples, got.samples, strict=True)
        ]

    return run


@pytest.mark.parametrize("io", IoStyle)
def test_the_librarys_maintenance_suffices(differences: Differences, io: IoStyle) -> None:
    assert differences(io) == [[]] * SAMPLES


@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("what", ["clean", "invalidate"])
def test_a_hook_that_does_nothing_is_caught(
    differences: Differences, io: IoStyle, what: str
) -> None:
    wrong = differences(io, {"app/main.c": ("", HOOK.format(what=what))})
    assert all(wrong), "in each sample"


def test_firmware_that_knows_no_cache_is_caught(firmware: Firmwares) -> None:
    built, info = firmware(IoStyle.ARENA)
    samples = make_samples()
    got = targets.run(built.elf, info, samples, attach=PlusOneNpu, cache_seed=1)
    for sample, result in zip(samples, got.samples, strict=True):
        assert not np.array_equal(result.outputs[OUTPUT], sample[INPUT] + np.int8(1))


def test_a_neighbour_in_the_last_line_is_written_over_the_output(differences: Differences) -> None:
    """Buffers must be whole lines: the NPU's output in a shared line is lost."""
    wrong = differences(
        IoStyle.CALLER,
        {
            "model/ethosgen_networks.c": ("", TAIL),
            "app/main.c": (
                "(uintptr_t base_addr)\n{\n    stop_counting();\n",
                "(uintptr_t base_addr)\n{\n" + NEIGHBOUR,
            ),
        },
    )
    last_line = range(ELEMENTS // 32 * 32, ELEMENTS)
    assert any(wrong), "in some samples: the cache may evict the line before the NPU writes"
    assert all(set(places) <= set(last_line) for places in wrong)


@pytest.mark.parametrize("port", ["input", "output"])
def test_a_callers_buffer_of_no_whole_lines_is_refused(differences: Differences, port: str) -> None:
    call = "plus_one_run(input_of_plus_one, output_of_plus_one)"
    skewed = call.replace(f"{port}_of_plus_one", f"{port}_of_plus_one + 16")
    with pytest.raises(TargetError, match="ETHOSGEN_BAD_BUFFER"):
        differences(IoStyle.CALLER, {"model/ethosgen_networks.c": (call, skewed)})


def test_verify_fails_where_the_firmware_does_no_maintenance(
    firmware: Firmwares, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache is off in this firmware, so its hooks do nothing; and there is one all the same."""
    _ = firmware(IoStyle.ARENA)  # skips where there are no tools
    monkeypatch.setattr(targets, "run", functools.partial(targets.run, cache_seed=1))
    network = ROOT / "demo" / "digits_int8.tflite"
    arguments = ["verify", str(network), "--board", "corstone300", "--npu", "ethos-u55-128"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 1
    assert done.stdout.startswith("FAIL  ")
    assert "only the firmware differs" in done.stdout
