"""boards from-pack for cores without Helium: FPU, DSP, caches, counter, and no NPU."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ethosgen.board import load_board
from ethosgen.board.pack import start_from_pack
from tests.support.pack_files import WIDE, description

CORES: dict[str, dict[str, Any]] = {
    "WIDE0": {"core": "cortex-m0plus", "fpu": "none", "clock_hz": 48_000_000},
    "WIDE3": {"core": "cortex-m3", "clock_hz": 72_000_000},
    "WIDE4": {"core": "cortex-m4", "fpu": "single", "clock_hz": 168_000_000},
    "WIDE4N": {"core": "cortex-m4", "fpu": "none", "clock_hz": "?"},
    "WIDE7": {
        "core": "cortex-m7", "icache": "?", "dcache": "?", "fpu": "double",
        "clock_hz": 400_000_000,
    },
    "WIDE33": {"core": "cortex-m33", "dsp": True, "fpu": "single", "clock_hz": 160_000_000},
    "WIDE33N": {"core": "cortex-m33", "dsp": False, "fpu": "none", "clock_hz": 20_000_000},
    "WIDE33Q": {"core": "cortex-m33", "fpu": "?", "clock_hz": 20_000_000},
}  # fmt: skip


def board_file(tmp_path: Path, device: str) -> Path:
    pack = tmp_path / "wide.pdsc"
    pack.write_text(description("Many", "Wide_DFP", WIDE))
    return start_from_pack(device, pack=pack, output=tmp_path / "mine.toml")


@pytest.mark.parametrize("device", CORES)
def test_a_core_has_what_the_pack_says(tmp_path: Path, device: str) -> None:
    facts = tomllib.loads(board_file(tmp_path, device).read_text())
    assert facts["cpu"] == CORES[device]
    is_small = device == "WIDE0"
    assert facts["counter"]["kind"] == ("systick" if is_small else "dwt")
    assert facts["counter"]["control_addr"] == (0xE000E010 if is_small else 0xE0001000)


def test_without_an_npu_nothing_asks_for_one(tmp_path: Path) -> None:
    text = board_file(tmp_path, "WIDE4").read_text()
    facts = tomllib.loads(text)
    assert "npu" not in facts and "NPU" not in text and "npu" not in text
    assert facts["placements"]["shared_sram"] == {
        "code": "irom1",
        "data": "sram1",
        "arena": "sram1",
        "io": "sram1",
        "weights": "irom1",
    }


@pytest.mark.parametrize("device", CORES)
def test_with_its_blanks_filled_it_is_a_board(tmp_path: Path, device: str) -> None:
    path = board_file(tmp_path, device)
    text = (
        path.read_text()
        .replace('uart = "?"', 'uart = "stm32"')
        .replace('dcache = "?"', "dcache = true")
    )
    for blank, value in (
        ("icache", "true"),
        ("fpu", '"single"'),
        ("base_addr", "0x40011000"),
        ("rx_irq", "37"),
        ("clock_hz", "16_000_000"),
        ("hz", "16_000_000"),
    ):
        text = text.replace(f'{blank} = "?"', f"{blank} = {value}")
    path.write_text(text)
    board = load_board(str(path))
    assert board.npu is None
    assert board.cpu.core == CORES[device]["core"]
