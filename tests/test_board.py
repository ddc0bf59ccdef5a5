"""Boards: what is read, and what is said of a board file that is wrong."""

from pathlib import Path

import pytest

from ethosgen.board import board_names, load_board
from ethosgen.errors import InputError

CORSTONE300 = (Path(__file__).parent.parent / "boards" / "corstone300.toml").read_text()


def write_board(path: Path, *changes: tuple[str, str]) -> str:
    text = CORSTONE300
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file = path / "mine.toml"
    file.write_text(text)
    return str(file)


def test_every_board_that_comes_with_ethosgen_loads() -> None:
    assert "corstone300" in board_names()
    for name in board_names():
        assert load_board(name).name == name


def test_corstone300_has_the_facts_of_its_manual() -> None:
    board = load_board("corstone300")
    assert board.cpu.core == "cortex-m55"
    assert (board.npu.base_addr, board.npu.irq) == (0x58102000, 56)
    assert board.accelerator(None).name == "ethos-u55-128"
    assert board.memories["isram"].size_bytes == 2 << 20


def test_a_file_of_the_users_is_a_board_of_its_name(tmp_path: Path) -> None:
    assert load_board(write_board(tmp_path)).name == "mine"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown board 'corstone999'; .*corstone300"):
        load_board("corstone999")


@pytest.mark.parametrize("name", ["../corstone300", "", ".", "corstone300.TOML"])
def test_a_name_is_not_a_path(name: str) -> None:
    with pytest.raises(InputError, match="unknown board"):
        load_board(name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.toml.*No such file"):
        load_board(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("content", [b"[cpu", b"\xff\xfe\x00", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "broken.toml"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.toml' is no TOML"):
        load_board(str(file))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('core = "cortex-m55"', 'core = "cortex-m0"'), r"cpu\.core: .*cortex-m33"),
        (("irq = 56", 'irq = "56"'), r"npu\.irq: .*integer"),
        (("irq = 56", "irq = 481"), r"npu\.irq: .*less than 480"),
        (("secure = true", ""), r"npu\.secure: Field required"),
        (("[cpu]", "[cpu]\ncolour = 1"), r"cpu\.colour: Extra inputs"),
        (("size_bytes = 0x00080000", "size_bytes = 0"), r"memories\.itcm\.size_bytes: .*greater"),
        (("base_addr = 0x58102000", "base_addr = 0x58102001"), r"npu\.base_addr: .*multiple of 4"),
        (('"ethos-u55-32"', '"ethos-u55-31"'), r"npu: 'ethos-u55-31' is no NPU"),
        (('default = "ethos-u55-128"', 'default = "ethos-u85-128"'), r"npu: default"),
        (('arena = "isram"', 'arena = "sram9"'), r"Shared_Sram\.arena: .*no memory 'sram9'"),
        (('arena = "isram"', 'arena = "dtcm"'), r"Shared_Sram\.arena: the NPU does not reach"),
        (('data = "dtcm"', 'data = "itcm"'), r"Shared_Sram\.data: 'itcm' cannot be written"),
        (("Shared_Sram", "Dedicated_Sram"), r"placements lacks Shared_Sram"),
        (('npu_memory = "ddr"', 'npu_memory = "isram"'), r"npu_memory: 'isram' is not wholly"),
        (('npu_memory = "ddr"', 'npu_memory = "flash"'), r"npu_memory: there is no memory 'flash'"),
        (("npu_base_addr = 0x7ffff000", "npu_base_addr = 0x7fffe000"), r"must be the last page"),
        (("instruction_ns = 64", "instruction_ns = 50"), r"run\.qemu\.instruction_ns"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_field(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    with pytest.raises(InputError, match=rf"mine\.toml': .*{said}"):
        load_board(write_board(tmp_path, change))


def test_an_npu_that_the_board_does_not_have(tmp_path: Path) -> None:
    board = load_board(write_board(tmp_path, ('"ethos-u65-256", "ethos-u65-512",', "")))
    assert board.accelerator("ethos-u55-32").macs == 32
    with pytest.raises(InputError, match=r"'mine' has no ethos-u65-256; it comes with: ethos-u55"):
        board.accelerator("ethos-u65-256")
    with pytest.raises(InputError, match="unknown NPU"):
        board.accelerator("ethos-u99")


def test_an_unknown_memory_mode() -> None:
    with pytest.raises(InputError, match=r"no memory mode 'Fast'; it has: Shared_Sram"):
        load_board("corstone300").placement("Fast")
