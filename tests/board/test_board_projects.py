"""Bare-metal projects of every board: they compile, and the linker obeys the board file."""

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen import flow
from ethosgen.board import Board, board_names, load_board
from ethosgen.board.cpu import CORES, CoreName
from ethosgen.host.tools import GCC
from ethosgen.project import render, write
from ethosgen.toolchain import build
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_build
from tests.support.programs import make_cpu_program, make_program, with_fast_scratch
from tests.support.recipes import recipe
from tests.support.small_models import image_net

pytestmark = needs_build

PARTS = {
    ".vectors": "code",
    ".text": "code",
    ".rodata": "code",
    ".data": "data",
    ".bss": "data",
    ".stack": "data",
    ".ethosgen_commands": "commands",
    ".ethosgen_weights": "weights",
    ".ethosgen_arena": "arena",
    ".ethosgen_io": "io",
    ".ethosgen_fast": "fast",
}


def cases() -> list[tuple[str, str, str]]:
    """Return board, NPU and memory mode: each pair of product and mode that a board can do."""
    rows = []
    for name in board_names():
        board = load_board(name)
        if "baremetal" not in board.platforms:
            continue
        own = board.npu.configurations if board.npu else ()
        for npu in {npu[:10]: npu for npu in own}.values():
            accelerator = board.accelerator(npu)
            rows += [(name, npu, mode) for mode in board.memory_modes(accelerator)]
        if name == "corstone320" or not own:
            rows += [(name, "none", mode) for mode in board.memory_modes(None)]
    return rows


def program_for(npu: str, io: IoStyle, mode: str) -> Program:
    if npu == "none":
        return make_cpu_program()
    program = make_program(io, npu)
    if mode != "dedicated_sram":
        return program
    return dataclasses.replace(program, plan=with_fast_scratch(program.plan, 640))


def check_sections(elf: Path, board: Board, mode: str) -> set[str]:
    """Compare the ELF's sections with the board's memories; return the names of those in use."""
    placement = board.placement(mode)
    seen = set()
    with elf.open("rb") as file:
        image = ELFFile(file)
        segments = [s for s in image.iter_segments() if s["p_type"] == "PT_LOAD"]
        for section in image.iter_sections():
            part, size = PARTS.get(section.name), section["sh_size"]
            if not size or not section["sh_flags"] & SH_FLAGS.SHF_ALLOC:
                continue
            start, end = section["sh_addr"], section["sh_addr"] + size
            homes = [
                name
                for name, memory in board.memories.items()
                if memory.start_addr <= start and end <= memory.end_addr
            ]
            assert len(homes) == 1, f"{section.name} at 0x{start:x} is in {homes}"
            if part is None:
                continue
            seen.add(section.name)
            assert homes == [getattr(placement, part)], section.name
            if section.name in (".ethosgen_commands", ".ethosgen_weights"):
                segment = next(s for s in segments if s.section_in_segment(section))
                load = segment["p_paddr"] + start - segment["p_vaddr"]
                stored = board.memories[placement.copied_from or homes[0]]
                assert stored.start_addr <= load < stored.end_addr, section.name
    return seen


@pytest.mark.parametrize(("name", "npu", "mode"), cases())
def test_sections_lie_where_the_board_file_says(
    tmp_path: Path, name: str, npu: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-Werror")
    board = load_board(name)
    program = program_for(npu, IoStyle.CALLER, mode)
    write(render(program, board, memory_mode=mode), tmp_path / "p")
    seen = check_sections(build(tmp_path / "p", "board").elf, board, mode)
    assert {".vectors", ".text", ".stack", ".ethosgen_arena"} <= seen
    assert npu == "none" or {".ethosgen_commands", ".ethosgen_weights", ".ethosgen_io"} <= seen
    assert (".ethosgen_fast" in seen) == (mode == "dedicated_sram" and npu != "none")


@pytest.mark.parametrize(
    ("core", "mve", "arch"),
    [
        ("cortex-m0", None, "v6S-M"),
        ("cortex-m3", None, "v7"),
        ("cortex-m4", None, "v7E-M"),
        ("cortex-m7", None, "v7E-M"),
        ("cortex-m33", False, "v8-M.mainline"),
        ("cortex-m55", True, "v8.1-M.mainline"),
        ("cortex-m55", False, "v8.1-M.mainline"),
        ("cortex-m85", True, "v8.1-M.mainline"),
        ("cortex-m85", False, "v8.1-M.mainline"),
    ],
)
def test_every_core_with_and_without_mve(
    tmp_path: Path, core: CoreName, mve: bool | None, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-Werror")
    has_cache = CORES[core].has_caches
    board = board_with(tmp_path, core, "" if mve is None else f"mve = {str(mve).lower()}")
    write(render(make_program(), board), tmp_path / "p")
    elf = build(tmp_path / "p", "board").elf
    check_sections(elf, board, "shared_sram")
    readelf = GCC.find().parent / "arm-none-eabi-readelf"
    told = subprocess.run([readelf, "-A", elf], capture_output=True, text=True, check=True).stdout
    assert f"Tag_CPU_arch: {arch}" in told
    assert ("Tag_MVE_arch" in told) == bool(mve)
    symbols = subprocess.run([readelf, "-s", elf], capture_output=True, text=True, check=True)
    assert ("board_enable_caches" in symbols.stdout) == has_cache


def board_with(folder: Path, core: CoreName, more: str) -> Board:
    """Return a Corstone-300 with another core, which may have no caches."""
    has_cache = str(CORES[core].has_caches).lower()
    text = (ROOT / "boards" / "corstone300.toml").read_text()
    for old, new in (
        ('core = "cortex-m55"', f'core = "{core}"\n{more}'),
        ("icache = true", f"icache = {has_cache}"),
        ("dcache = true", f"dcache = {has_cache}"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "mine.toml").write_text(text)
    return load_board(str(folder / "mine.toml"))


@pytest.mark.parametrize(
    ("core", "more", "has_fpu"),
    [
        ("cortex-m33", 'fpu = "none"', False),
        ("cortex-m55", 'mve = false\nfpu = "none"', False),
        ("cortex-m55", "mve_float = false", True),
        ("cortex-m85", 'mve = false\nfpu = "none"', False),
    ],
)
def test_cores_without_floating_point(
    tmp_path: Path, core: CoreName, more: str, has_fpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-Werror")
    write(render(make_program(), board_with(tmp_path, core, more)), tmp_path / "p")
    elf = build(tmp_path / "p", "board").elf
    readelf = GCC.find().parent / "arm-none-eabi-readelf"
    told = subprocess.run([readelf, "-A", elf], capture_output=True, text=True, check=True).stdout
    assert ("Tag_FP_arch" in told) == ("Tag_ABI_VFP_args" in told) == has_fpu
    assert ("Tag_MVE_arch: MVE Integer only" in told) == (more == "mve_float = false")


NEWER_GCC = """#!/bin/sh
echo "$@" >> {said}
for word; do
    shift
    case $word in -mcpu=cortex-m85*) word=-mcpu=cortex-m55 ;; esac
    set -- "$@" "$word"
done
exec {gcc} "$@"
"""


def test_a_compiler_that_knows_the_core_is_told_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gcc = tmp_path / "arm-none-eabi-gcc"
    gcc.write_text(NEWER_GCC.format(said=tmp_path / "said", gcc=GCC.find()))
    gcc.chmod(0o755)
    monkeypatch.setenv("ETHOSGEN_GCC", str(gcc))
    for mve, flag in ((True, "-mcpu=cortex-m85 "), (False, "-mcpu=cortex-m85+nomve ")):
        place = tmp_path / f"p{mve}"
        board = board_with(tmp_path, "cortex-m85", f"mve = {str(mve).lower()}")
        write(render(make_cpu_program(), board), place)
        build(place, "board")
        compiled = [
            line for line in (tmp_path / "said").read_text().splitlines() if "startup.c" in line
        ]
        assert flag in compiled[-1]


@pytest.mark.parametrize(
    ("core", "more", "kernel"),
    [
        ("cortex-m0plus", "", "ethosgen_thumb_pairs.c"),
        ("cortex-m3", "", "ethosgen_thumb_matrix.c"),
        ("cortex-m33", "dsp = false", "ethosgen_thumb_matrix.c"),
        ("cortex-m4", "", "ethosgen_dsp_matrix.c"),
        ("cortex-m7", 'fpu = "single"', "ethosgen_dsp_matrix.c"),
        ("cortex-m85", "mve = false", "ethosgen_dsp_matrix.c"),
    ],
)
def test_our_kernels_compile_without_helium(
    tmp_path: Path, core: CoreName, more: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole network on the CPU: what Helium does elsewhere has forms in plain C and for DSP."""
    monkeypatch.setenv("CFLAGS", "-Werror")
    board = board_with(tmp_path, core, more)
    network, place = image_net(tmp_path / "image_net.tflite"), tmp_path / "p"
    wanted = recipe(network, board=str(tmp_path / "mine.toml"), npu="none")
    flow.create_project(wanted, directory=place, watch=Watch())
    assert list((place / "model").glob(kernel)), "a kernel of ours is in it"
    check_sections(build(place, "board").elf, board, "shared_sram")


def boot_words(elf: Path, name: str) -> tuple[bytes, int]:
    """Return a section's content and address."""
    with elf.open("rb") as file:
        section = ELFFile(file).get_section_by_name(name)
        assert section is not None
        return section.data(), section["sh_addr"]


def test_the_second_stage_of_an_rp2040(tmp_path: Path) -> None:
    """Its words are what its comment says, its checksum is right, and the vectors follow it."""
    board = load_board("rpi-pico")
    write(render(make_cpu_program(), board), tmp_path / "p")
    elf = build(tmp_path / "p", "board").elf
    data, start = boot_words(elf, ".boot2")
    assert (len(data), start) == (256, board.memories["boot2"].start_addr)
    assert boot_words(elf, ".vectors")[1] == start + len(data)
    assert int.from_bytes(data[-4:], "little") == crc32_mpeg2(data[:-4])
    text = (ROOT / "templates/baremetal/board/boot_rp2040.c").read_text()
    lines = [line[3:].partition("@")[0] for line in text.splitlines() if line.startswith(" *     ")]
    source = ".syntax unified\n.thumb\n" + "\n".join(lines) + "\n.ltorg\n"
    (tmp_path / "boot2.s").write_text(source)
    tool = GCC.find().parent
    assembled = [tool / "arm-none-eabi-as", "-mcpu=cortex-m0plus", "-o", "boot2.o", "boot2.s"]
    subprocess.run(assembled, cwd=tmp_path, check=True)
    code = boot_words(tmp_path / "boot2.o", ".text")[0]
    assert code and data[:-4] == code.ljust(252, b"\0")


def crc32_mpeg2(data: bytes) -> int:
    """Return the CRC-32 that the RP2040's data sheet defines: MPEG-2's."""
    assert len(data) == 252
    crc = 0xFFFF_FFFF
    for bit in (byte >> i & 1 for byte in data for i in range(7, -1, -1)):
        crc = (crc << 1 & 0xFFFF_FFFF) ^ (0x04C1_1DB7 if (crc >> 31) ^ bit else 0)
    return crc


def test_the_program_block_of_an_rp2350(tmp_path: Path) -> None:
    board = load_board("rpi-pico2")
    write(render(make_cpu_program(), board), tmp_path / "p")
    data, start = boot_words(build(tmp_path / "p", "board").elf, ".image_def")
    flash = board.memories["flash"].start_addr
    assert flash < start < start + len(data) <= flash + 4096 and start % 4 == 0
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    assert (words[0], words[-1], words[-2]) == (0xFFFFDED3, 0xAB123579, 0)


def test_a_board_without_known_start_up_is_refused() -> None:
    from ethosgen.values.errors import InputError

    with pytest.raises(
        InputError, match=r"'ra8p1' has no platform 'baremetal'.* --platform library"
    ):
        render(make_program(), load_board("ra8p1"))


USARTS = {
    "nucleo-f446re": "STATUS 00 RECEIVED 04 SENT 04 BRR 08 CR1 0C CR2 10 CR3 14",
    "nucleo-u575zi": "CR1 00 CR2 04 CR3 08 BRR 0C STATUS 1C ICR 20 RECEIVED 24 SENT 28",
}
"""Offsets of the registers of the USARTs; newer families have another order."""


@pytest.mark.parametrize("name", USARTS)
def test_each_family_of_stm32_has_its_own_registers(name: str) -> None:
    console = render(make_cpu_program(), load_board(name)).files["board/console.c"].decode()
    registers = re.findall(r"#define USART_(\w+) REGISTER\(CONSOLE_BASE \+ 0x(\w+)u\)", console)
    assert " ".join(f"{register} {offset}" for register, offset in registers) == USARTS[name]
    assert ("USART_CR1_UE = 1u << 13" in console) == (name == "nucleo-f446re")
