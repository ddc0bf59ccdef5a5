"""The files of a non-secure firmware and of its secure side."""

import re
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from ethosgen.board import Board, load_board
from ethosgen.host.tools import GCC
from ethosgen.platforms import CSOLUTION, LIBRARY_ONLY, ZEPHYR
from ethosgen.project import Project, open_project, render, write
from ethosgen.project.trustzone import secure_facts
from ethosgen.toolchain import build
from ethosgen.values.errors import InputError
from ethosgen.values.security import Security
from tests.support.needs import needs_arm_gcc, needs_build
from tests.support.programs import make_program

SECURE = load_board("corstone300")
NON_SECURE = SECURE.in_state(Security.NON_SECURE)
SECURE_ONLY = {
    "SAU": range(0xE000EDD0, 0xE000EDE4),
    "SFSR, SFAR": range(0xE000EDE4, 0xE000EDEC),
    "NSACR": range(0xE000ED8C, 0xE000ED90),
    "NVIC_ITNS": range(0xE000E380, 0xE000E3C0),
    "TCM gates": range(0xE001E500, 0xE001E700),
    "banks of the non-secure state": range(0xE002E000, 0xE003E000),
}
"""Registers that non-secure code must not touch."""


def project_of(board: Board = NON_SECURE, **options: str) -> Project:
    return render(make_program(), board, **options)


@pytest.fixture(scope="module")
def text() -> dict[str, str]:
    return {path: data.decode("utf-8", "replace") for path, data in project_of().files.items()}


def constants(text: str) -> dict[str, int]:
    """Return the address constants of a header."""
    return {name: int(value, 16) for name, value in re.findall(r"#define (\w+) (0x\w+)u", text)}


def test_the_regions_are_the_boards_memories(text: dict[str, str]) -> None:
    known = constants(text["secure/partition.h"])
    for name, memory in NON_SECURE.memories.items():
        assert known[f"NS_{name.upper()}_START"] == memory.start_addr
        assert known[f"NS_{name.upper()}_LAST"] == memory.end_addr - 1
    trustzone = NON_SECURE.trustzone
    assert trustzone
    for part, reserved in (("CODE", trustzone.code), ("DATA", trustzone.data)):
        whole = SECURE.memories[reserved.memory]
        assert known[f"SECURE_{part}_START"] == whole.start_addr
        assert known[f"SECURE_{part}_LAST"] == whole.start_addr + reserved.size_bytes - 1
    assert known["NON_SECURE_VECTORS"] == NON_SECURE.memories[trustzone.code.memory].start_addr
    for way in ("qemu", "board"):
        assert f"ORIGIN = 0x{known['NON_SECURE_VECTORS']:08x}" in text[f"board/{way}.ld"]


def test_nothing_but_the_secure_side_touches_what_is_secure(text: dict[str, str]) -> None:
    assert NON_SECURE.trustzone
    bit = 1 << NON_SECURE.trustzone.secure_bit
    sources = [path for path in text if path.endswith((".c", ".h"))]
    outside = [path for path in sources if not path.startswith("secure/")]
    assert any(path.startswith("model/") for path in outside) and len(outside) > 20
    for path in outside:
        for value in (int(v, 16) for v in re.findall(r"\b0x([0-9a-fA-F]{8})u?\b", text[path])):
            for name, registers in SECURE_ONLY.items():
                assert value not in registers, (path, name, hex(value))
            if path.startswith("board/") and value % 4 == 0 and value < 0xE000_0000:
                assert not value & bit, (path, hex(value))
    inside = "".join(text[path] for path in sources if path.startswith("secure/"))
    for register in (0xE000EDD0, 0xE000EDE4, 0xE000ED8C, 0xE000E380):
        assert f"0x{register:08X}u" in inside


def test_each_controller_guards_its_part_of_a_memory() -> None:
    board = load_board("mps2-an505").in_state(Security.NON_SECURE)
    facts = secure_facts(board, ["qemu"])
    assert facts and board.trustzone and not facts["npu_by_way"]
    first, second, third = facts["mpcs"]
    code, data = board.memories["ssram1"], board.memories["ssram23"]
    kept = board.trustzone.code.size_bytes, board.trustzone.data.size_bytes
    assert first["first_addr"] == code.start_addr - kept[0]
    assert (first["start"], first["last"]) == ("NS_SSRAM1_START", "NS_SSRAM1_LAST")
    assert second["first_addr"] == data.start_addr - kept[1]
    border = third["first_addr"]
    assert (second["start"], second["last"]) == ("NS_SSRAM23_START", f"0x{border - 1:08x}u")
    assert (third["start"], third["last"]) == (f"0x{border:08x}u", "NS_SSRAM23_LAST")


def test_the_npu_is_asked_for_non_secure_state(text: dict[str, str]) -> None:
    assert "#define BOARD_NPU_SECURE false" in text["board/board.h"]
    assert NON_SECURE.npu and SECURE.npu and NON_SECURE.run.qemu
    assert NON_SECURE.run.qemu.npu_base_addr is not None
    assert f"#define BOARD_NPU_BASE 0x{NON_SECURE.npu.base_addr:08x}u" in text["board/board.h"]
    partition = text["secure/partition.h"]
    assert f"#define SECURE_NPU_BASE 0x{SECURE.npu.base_addr:08x}u\n" in partition
    assert (
        f"SECURE_NPU_BASE 0x{NON_SECURE.run.qemu.npu_base_addr:08x}u /* the NPU model" in partition
    )


def test_secure_firmware_has_no_second_side() -> None:
    files = project_of(SECURE).files
    assert not [path for path in files if path.startswith("secure/")]
    assert b"secure" not in files["CMakeLists.txt"]


def test_the_project_remembers_its_state(tmp_path: Path) -> None:
    directory = tmp_path / "p"
    write(project_of(), directory)
    assert open_project(directory).board.is_non_secure
    assert not write(project_of(), directory)  # it is up to date
    with pytest.raises(InputError, match=r"generated with --security 'non-secure'.* for 'secure'"):
        write(project_of(SECURE), directory)


@pytest.mark.parametrize(
    ("platform", "says"),
    [(ZEPHYR, "Trusted Firmware-M"), (CSOLUTION, "use --platform library")],
)
def test_other_platforms_say_who_makes_their_secure_side(platform: str, says: str) -> None:
    with pytest.raises(InputError, match=f"does not work with --platform {platform}: .*{says}"):
        project_of(platform=platform)


def test_a_library_is_initialized_as_non_secure() -> None:
    readme = project_of(platform=LIBRARY_ONLY).files["README.md"].decode()
    assert "ethosgen_npu_init(NPU_BASE_ADDR, false, true)" in readme


@needs_build
def test_it_builds_for_the_board_without_a_warning(tmp_path: Path) -> None:
    directory = tmp_path / "p"
    write(project_of(), directory)
    lists = directory / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("-Wconversion", "-Wconversion -Werror"))
    built = build(directory, "board")
    with built.elf.with_name("secure.elf").open("rb") as file:
        secure = ELFFile(file)
        veneers = secure.get_section_by_name(".gnu.sgstubs")
        assert veneers["sh_size"] > 0 and veneers["sh_size"] % 32 == 0
        table = secure.get_section_by_name(".symtab")
        start, end = (
            table.get_symbol_by_name(name)[0]["st_value"]
            for name in ("__veneers_start", "__veneers_end")
        )
    assert (start, end) == (veneers["sh_addr"], veneers["sh_addr"] + veneers["sh_size"])
    with built.elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert start <= table.get_symbol_by_name("secure_evidence")[0]["st_value"] < end


@needs_arm_gcc
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("NS_ISRAM_START 0x21000000u", "NS_ISRAM_START 0x21000010u", "multiples of 32 bytes"),
        ("NS_ISRAM_LAST 0x211fffffu", "NS_ISRAM_LAST 0x311fffffu", "IDAU overrules"),
        ("NS_ITCM_START 0x00010000u", "NS_ITCM_START 0x00008000u", "code's alias must stay secure"),
        ("NS_DTCM_LAST 0x2007ffffu", "NS_DTCM_LAST 0x2100001fu", "overlapping regions"),
    ],
)
def test_a_wrong_partition_does_not_compile(
    text: dict[str, str], tmp_path: Path, old: str, new: str, says: str
) -> None:
    header = text["secure/partition.h"]
    assert old in header
    source = tmp_path / "partition.c"
    command = [str(GCC.find()), "-mcpu=cortex-m55", "-DBOARD_ON_QEMU", "-fsyntax-only", str(source)]
    source.write_text(header)
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    source.write_text(header.replace(old, new))
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode != 0 and says in done.stderr
