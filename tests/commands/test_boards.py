"""`ethosgen boards` as a user meets it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.board import board_names, board_schema
from ethosgen.cli import cli
from ethosgen.values.errors import InputError


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["boards", *arguments], catch_exceptions=False)


def test_every_board_is_listed_with_what_matters() -> None:
    text = run().stdout
    for name in board_names():
        assert name in text
    assert "cortex-m55, ethos-u55-128 (or 10 more); itcm 512 KiB" in text
    assert "baremetal, zephyr, csolution; runs on qemu, fvp, serial" in text
    rows = json.loads(run("--json").stdout)
    assert [row["name"] for row in rows] == board_names()
    corstone300 = rows[board_names().index("corstone300")]
    assert corstone300["memory_modes"] == ["shared_sram", "sram_only", "dedicated_sram"]
    assert "aarch64, no NPU; ram 4096 MiB" in text
    assert "linux; runs on qemu, ssh, serial" in text


def test_a_board_is_shown_with_its_doubts() -> None:
    lines = run("show", "psoc-e84").stdout.splitlines()
    assert '? npu.default = "ethos-u55-128"' in lines
    assert "  cpu.clock_hz = 400000000" in lines
    assert "  ? npu.base_addr  (left blank: unknown)" in lines
    assert any(line.startswith("? memories.xip.start_addr = 0x60500000") for line in lines)
    assert json.loads(run("show", "corstone300", "--json").stdout)["npu"]["irq"] == 56


def test_a_processor_without_helium_has_no_kind_of_it() -> None:
    for options in ((), ("--json",)):
        assert "mve_float" not in run("show", "mps2-an386", *options).stdout
        assert "mve_float" in run("show", "corstone300", *options).stdout


def test_a_board_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "mine", "--like", "corstone300").stdout == "mine.toml\n"
    assert "mine: mine (started as a copy of corstone300)" in run("show", "./mine.toml").stdout
    with pytest.raises(InputError, match="exists"):
        run("new", "mine", "--like", "corstone300")


def test_the_schema() -> None:
    assert run("schema").stdout == board_schema()
