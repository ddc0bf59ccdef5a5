"""Weights apart from the code: what a library then has, and its check of files."""

import re
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.board.any_board import any_board
from ethosgen.host.resources import resource_folder
from ethosgen.host.tools import GCC
from ethosgen.platforms import CSOLUTION, LIBRARY_ONLY, ZEPHYR
from ethosgen.project import Project, open_project, render, write
from ethosgen.project.weights import code_text
from ethosgen.project.weights_file import (
    FORMAT,
    HEADER_BYTES,
    WeightsCode,
    WeightsError,
    read_weights,
)
from ethosgen.targets.slots import find_slots
from ethosgen.values.errors import InputError
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Constant, Program
from ethosgen.values.status import Status
from tests import ROOT
from tests.project.test_linking import memory_of
from tests.support.needs import needs_arm_gcc, needs_gcc
from tests.support.programs import COMMANDS, READ_ONLY, make_program, with_weights
from tests.support.snippets import snippets

PAGE = ROOT / "docs" / "weights.md"
CALL = """
ethosgen_status call(const void *weights, uint32_t bytes)
{
    ethosgen_status status;

    %s    return status;
}
"""
FILE = "model/plus_one.weights"
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]


def apart(program: Program) -> Program:
    return replace(program, plan=replace(program.plan, apart=True))


def library(program: Program) -> Project:
    return render(apart(program), any_board(), platform=LIBRARY_ONLY)


def code_of(project: Project) -> str:
    return read_weights(project.files[FILE], FILE).digest


def test_the_file_has_weights_commands_and_constants() -> None:
    project = library(make_program())
    weights = read_weights(project.files[FILE], FILE)
    assert weights.network == "plus_one"
    assert weights.regions[0] == READ_ONLY
    assert weights.regions[1].endswith(COMMANDS)
    assert weights.regions[2] == bytes(range(20))
    assert not {"model/plus_one_weights.c", "model/plus_one_commands.c"} & set(project.files)


def test_other_weights_change_the_file_and_no_code() -> None:
    program = make_program()
    longer = replace(program, plan=with_weights(program.plan, READ_ONLY * 3))
    table = replace(program.constants[0], data=bytes(range(20, 40)))
    first, other = library(program), library(replace(longer, constants=(table,)))
    changed = {path for path in first.files if first.files[path] != other.files[path]}
    assert changed == {FILE, "model/ethosgen.json", "model/sbom.cdx.json", "model/sbom.spdx.json"}
    assert first.digest == other.digest
    assert code_of(first) == code_of(other)


def longer_table(program: Program) -> Program:
    return replace(program, constants=(Constant("plus_one_table", "int16", bytes(22)),))


def other_code(program: Program) -> Program:
    sources = {p: text.replace("return", "  return +") for p, text in program.sources.items()}
    return replace(program, sources=sources)


def other_arena(program: Program) -> Program:
    return replace(program, arena_bytes=program.arena_bytes + 16)


@pytest.mark.parametrize("change", [longer_table, other_code, other_arena])
def test_what_the_code_depends_on_changes_the_digest(change: object) -> None:
    assert callable(change)
    program = make_program()
    assert code_of(library(program)) != code_of(library(change(program)))


def test_comments_and_spaces_are_no_code() -> None:
    assert code_text(b"a  b /* c\n d */ e // f\n\n g") == "a b e\ng"


def test_a_platform_without_it_is_refused() -> None:
    with pytest.raises(InputError, match="--weights blob needs --platform"):
        render(apart(make_program()), load_board("corstone300"), platform=CSOLUTION)


def test_a_project_stays_with_one_kind(tmp_path: Path) -> None:
    write(library(make_program()), tmp_path / "p")
    with pytest.raises(InputError, match="--weights"):
        write(render(make_program(), any_board(), platform=LIBRARY_ONLY), tmp_path / "p")
    info = open_project(tmp_path / "p")
    assert info.is_apart
    assert info.network.weights is not None
    assert info.network.weights.file == tmp_path / "p" / FILE
    assert info.network.weights.code == code_of(library(make_program()))


def test_other_weights_are_written_although_the_code_is_the_same(tmp_path: Path) -> None:
    program = make_program()
    write(library(program), tmp_path / "p")
    assert not write(library(program), tmp_path / "p")
    other = library(replace(program, plan=with_weights(program.plan, bytes(100))))
    assert FILE in write(other, tmp_path / "p")
    assert (tmp_path / "p" / FILE).read_bytes() == other.files[FILE]


@needs_arm_gcc
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_the_library_compiles_without_a_warning(tmp_path: Path, io: IoStyle, language: str) -> None:
    write(library(make_program(io)), tmp_path / "p")
    model = tmp_path / "p" / "model"
    standard = [f"-I{model}", "-mcpu=cortex-m55", "-fsyntax-only"]
    if language == "cpp":
        use = "plus_one::network network(p, n); return network.status();"
        text = f'#include "plus_one.hpp"\nint start(const void *p, uint32_t n) {{ {use} }}\n'
        (tmp_path / "use.cpp").write_text(text)
        flags = [flag.replace("c11", "c++14") for flag in FLAGS]
        subprocess.run([str(GCC.find()), *flags, *standard, str(tmp_path / "use.cpp")], check=True)
        return
    for source in ("plus_one.c", "ethosgen_weights.c", "ethosgen_networks.c"):
        subprocess.run([str(GCC.find()), *FLAGS, *standard, str(model / source)], check=True)


def slots(folder: Path, *gcc: str) -> Path:
    """Compile the slots of a Zephyr application; return the object."""
    program = apart(make_program(IoStyle.CALLER))
    write(render(program, load_board("corstone300"), platform=ZEPHYR), folder / "p")
    source, out = folder / "p" / "src" / "board_weights.c", folder / "slots.o"
    subprocess.run([*gcc, *FLAGS, f"-I{folder}/p/model", "-c", source, "-o", out], check=True)
    return out


ZEPHYR_SCRIPT = """
MEMORY
{
    FLASH (rx) : ORIGIN = 0, LENGTH = 64K
    ethosgen_weights (r) : ORIGIN = 0x70000000, LENGTH = 64K
}
SECTIONS
{
#define ROMABLE_REGION FLASH
#include "rom_sections.ld"
    rest : { *(.rodata .rodata.*) } > FLASH
#include "sections.ld"
}
"""


@needs_arm_gcc
@pytest.mark.parametrize(("chosen", "start"), [(1, 0x70000000), (0, 0)])
@pytest.mark.parametrize("inside", [False, True])
def test_zephyr_places_slots_and_images(
    tmp_path: Path, chosen: int, start: int, inside: bool
) -> None:
    gcc = str(GCC.find())
    model = f'-DETHOSGEN_WEIGHTS_INSIDE="{tmp_path}/p/model"'
    program = slots(tmp_path, gcc, "-mcpu=cortex-m55", *([model] if inside else []))
    lib = resource_folder("zephyr_app") / "lib"
    named = ["LINKER_DT_NODE_REGION_NAME_TOKEN(x)=x", "DT_CHOSEN(x)=x"]
    defined = [f"-D{macro}" for macro in (*named, f"DT_HAS_CHOSEN(x)={chosen}")]
    command = [gcc, "-E", "-P", "-x", "c", f"-I{lib}", *defined, "-", "-o", f"{tmp_path}/z.ld"]
    subprocess.run(command, input=ZEPHYR_SCRIPT, text=True, check=True)
    out = tmp_path / "z.elf"
    link = [gcc, "-nostdlib", f"-T{tmp_path}/z.ld", "-Wl,-eboard_weights", str(program)]
    subprocess.run([*link, "-o", str(out)], check=True)
    kind, address = memory_of(out, "board_slot_plus_one")
    assert (kind, address) == ("SHT_PROGBITS" if inside else "SHT_NOBITS", start)
    info = open_project(tmp_path / "p")
    assert info.network.weights is not None
    assert find_slots(out, info) == ({} if inside else {start: info.network.weights.file})


@needs_gcc
def test_a_program_for_this_machine_has_the_file_inside(tmp_path: Path) -> None:
    program = slots(tmp_path, "gcc", f'-DETHOSGEN_WEIGHTS_INSIDE="{tmp_path}/p/model"')
    assert (tmp_path / "p" / FILE).read_bytes() in program.read_bytes()


def test_zephyr_compiles_the_check_and_the_slots() -> None:
    program = apart(make_program(IoStyle.CALLER))
    files = render(program, load_board("corstone300"), platform=ZEPHYR).files
    assert b"ethosgen_weights.c" in files["model/CMakeLists.txt"]
    assert b"src/board_weights.c" in files["CMakeLists.txt"]
    assert b"ethosgen_networks[i].init(slot->start" in files["src/main.c"]
    code = files["model/plus_one.c"].decode()
    init = code[code.index("ethosgen_status plus_one_init(") :]
    assert init.index("plus_one_lock();") < init.index("ethosgen_weights_use(")
    run = code[code.index("ethosgen_status plus_one_run(") :]
    assert run.index("plus_one_lock();") < run.index("_file.readiness;")


@needs_arm_gcc
def test_the_snippets_of_the_page_compile(tmp_path: Path) -> None:
    write(library(make_program()), tmp_path / "p")
    (call,) = snippets("c", "Weights apart from the code", PAGE)
    texts = {"call": f"ethosgen_status call(const void *weights, uint32_t bytes);\n{CALL % call}"}
    for name, text in texts.items():
        file = tmp_path / f"{name}.c"
        file.write_text(re.sub(r"NAME", "plus_one", text))
        flags = [*FLAGS, f"-I{tmp_path}/p/model", "-mcpu=cortex-m55", "-fsyntax-only"]
        include = ["-include", "plus_one.h"]
        subprocess.run([str(GCC.find()), *flags, *include, str(file)], check=True)


def damaged(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def header(data: bytes, **words: int) -> bytes:
    """Return a file with other words in its header, whose CRC is right."""
    places = {"format": 4, "bytes": 12, "content_crc": 16, "regions": 20}
    changed = bytearray(data)
    for name, value in words.items():
        struct.pack_into("<I", changed, places[name], value)
    struct.pack_into("<I", changed, 8, zlib.crc32(changed[:8] + changed[12:HEADER_BYTES]))
    return bytes(changed)


def with_content(data: bytes, place: int, value: int) -> bytes:
    """Return a file with another word in its content, whose CRCs are right."""
    changed = bytearray(data)
    struct.pack_into("<I", changed, place, value)
    return header(bytes(changed), content_crc=zlib.crc32(changed[HEADER_BYTES:]))


def status_in_python(data: bytes, code: WeightsCode) -> Status:
    try:
        read_weights(data, FILE, (code,))
    except WeightsError as error:
        return error.status
    return Status.OK


@needs_gcc
def test_each_cause_has_its_status_and_nothing_is_read_behind_the_end(tmp_path: Path) -> None:
    project = library(make_program())
    good = project.files[FILE]
    assert len(good) % 16 == 0
    other_name = render(
        apart(make_program(name="plus_two")), any_board(), platform=LIBRARY_ONLY
    ).files["model/plus_two.weights"]
    cases = {
        "good": (good, Status.OK),
        "erased": (b"\xff" * 256, Status.WEIGHTS_UNKNOWN),
        "old": (header(good, format=FORMAT - 1), Status.WEIGHTS_TOO_OLD),
        "new": (header(good, format=FORMAT + 1), Status.WEIGHTS_TOO_NEW),
        "header": (damaged(good, 24), Status.WEIGHTS_DAMAGED),
        "table": (damaged(good, HEADER_BYTES), Status.WEIGHTS_DAMAGED),
        "content": (damaged(good, len(good) - 1), Status.WEIGHTS_DAMAGED),
        "name": (other_name, Status.WEIGHTS_OTHER_NETWORK),
        "code": (library(other_arena(make_program())).files[FILE], Status.WEIGHTS_OTHER_CODE),
        "cut": (good[:-16], Status.WEIGHTS_TRUNCATED),
        "short": (header(good, bytes=HEADER_BYTES - 1), Status.WEIGHTS_DAMAGED),
        "long": (header(good, bytes=0xFFFFFFF0), Status.WEIGHTS_TRUNCATED),
        "regions": (header(good, regions=0x20000000), Status.WEIGHTS_OTHER_CODE),
        "far": (with_content(good, HEADER_BYTES, 0xFFFFFFF0), Status.WEIGHTS_DAMAGED),
        "huge": (with_content(good, HEADER_BYTES + 4, 0xFFFFFFFF), Status.WEIGHTS_DAMAGED),
        "askew": (with_content(good, HEADER_BYTES, 136), Status.WEIGHTS_DAMAGED),
    }
    for path in ("ethosgen_weights.c", "ethosgen_weights.h", "ethosgen_status.h"):
        (tmp_path / path).write_bytes(project.files[f"model/{path}"])
    for name, (data, _) in cases.items():
        (tmp_path / name).write_bytes(data)
    content = read_weights(good, FILE)
    code = bytes.fromhex(content.digest) + b"plus_one".ljust(48, b"\0")
    (tmp_path / "expected").write_bytes(code + struct.pack("<II", len(content.regions), 16))
    program = tmp_path / "check"
    source = ROOT / "tests" / "project" / "weights_check.c"
    command = ["gcc", "-D_GNU_SOURCE", *FLAGS, f"-I{tmp_path}", str(source)]
    subprocess.run([*command, str(tmp_path / "ethosgen_weights.c"), "-o", str(program)], check=True)
    run = [str(program), str(tmp_path / "expected"), *(str(tmp_path / name) for name in cases)]
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    *lines, crc = said.splitlines()
    assert crc == "cbf43926"  # the check value of CRC-32
    told = dict(zip(cases, (tuple(map(int, line.split())) for line in lines), strict=True))
    assert {name: Status(whole) for name, (whole, *_) in told.items()} == {
        name: status for name, (_, status) in cases.items()
    }
    own = WeightsCode("plus_one", content.digest, len(content.regions), 16)
    for name, (data, status) in cases.items():
        assert status_in_python(data, own) is status, name
    # All shorter lengths of the good file are truncated; so is none that is no file at all.
    assert told["good"][1] == 0
    assert all(misaligned == 15 for _, _, misaligned, _, _ in told.values())
    assert all(none == Status.NO_WEIGHTS for _, _, _, none, _ in told.values())
    assert told["good"][4] == Status.OK  # in a slot that is longer
