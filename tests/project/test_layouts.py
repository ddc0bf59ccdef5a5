"""The library as PlatformIO and Arduino take it, by the rules of their documentation."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ethosgen.board.any_board import any_board
from ethosgen.host.tools import GCC
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import render, write
from ethosgen.values.program import Program
from tests.project.test_linking import memory_of
from tests.support.needs import needs_arm_gcc
from tests.support.programs import make_cpu_program, make_program
from tests.support.snippets import snippets

ONE = [make_program(npu="ethos-u85-256")]
TWO = [make_program(name="plus_one"), make_program(name="plus_two")]
CPU = [make_cpu_program()]
CORE = ["-mcpu=cortex-m33", "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections", "-Werror"]
LINK = ["--specs=nosys.specs", "-nostartfiles", "-Wl,-emain", "-Wl,--gc-sections", "-lm"]
CATEGORIES = {
    *("Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing"),
    *("Data Storage", "Data Processing", "Other"),
}
"""What library.properties may have as its category."""


def write_library(place: Path, programs: Sequence[Program]) -> dict[str, Any]:
    """Write a library, and return its library.json."""
    write(render(programs, any_board(), platform=LIBRARY_ONLY), place)
    manifest: dict[str, Any] = json.loads((place / "library.json").read_text())
    return manifest


def selected(folder: Path, filters: Sequence[str]) -> list[Path]:
    """Return the C files that PlatformIO's srcFilter selects: later patterns prevail."""
    files: set[Path] = set()
    for selector in filters:
        sign, pattern = selector[0], selector[2:-1]
        assert selector == f"{sign}<{pattern}>" and sign in "+-"
        if pattern == "*":
            matches = set(folder.rglob("*.c"))
        elif pattern.endswith("/"):
            matches = set((folder / pattern).rglob("*.c"))
        else:
            matches = set(folder.glob(pattern))
        files = files | matches if sign == "+" else files - matches
    return sorted(files)


def compile_and_link(
    folder: Path, sources: Sequence[Path], options: Sequence[str], header: str, name: str
) -> Path:
    """Compile a library's files and a main in C++ that runs a network; return the ELF."""
    main = folder / "main.cpp"
    main.write_text(f"#include <{header}>\nint main() {{ return (int){name}_run(); }}\n")
    compiler = str(GCC.find())
    objects = [folder / f"{index}.o" for index in range(len(sources) + 1)]
    for source, target in zip([main, *sources], objects, strict=True):
        own = ["-fno-exceptions", "-fno-rtti"] if source == main else []
        command = [compiler, *CORE, *options, *own, "-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True)
    command = [compiler, *CORE, *map(str, objects), *LINK, "-o", str(folder / "app")]
    subprocess.run(command, check=True)
    return folder / "app"


@needs_arm_gcc
@pytest.mark.parametrize("programs", [ONE, TWO, CPU], ids=["one", "two", "cpu"])
def test_platformio_compiles_it(tmp_path: Path, programs: list[Program]) -> None:
    build = write_library(tmp_path / "lib", programs)["build"]
    sources = selected(tmp_path / "lib" / build["srcDir"], build["srcFilter"])
    options = [*build["flags"], f"-I{tmp_path}/lib/{build['includeDir']}"]
    name = programs[-1].name
    header = f"{name}/{name}.h" if len(programs) > 1 else f"{name}.h"
    elf = compile_and_link(tmp_path, sources, options, header, name)
    assert memory_of(elf, f"{name}_run")[0] == "SHT_PROGBITS"


@needs_arm_gcc
@pytest.mark.parametrize("programs", [ONE, TWO, CPU], ids=["one", "two", "cpu"])
def test_arduino_compiles_it(tmp_path: Path, programs: list[Program]) -> None:
    write_library(tmp_path / "lib", programs)
    (lines,) = snippets("sh", "Arduino")
    for word, value in (("ARDUINO", "sketchbook"), ("PATH", "lib"), ("NAME", "it")):
        lines = re.sub(rf"\b{word}\b", value, lines)
    subprocess.run(["sh", "-e", "-c", lines], cwd=tmp_path, check=True)
    shutil.rmtree(tmp_path / "lib")
    library = tmp_path / "sketchbook" / "libraries" / "it"
    src = library / "src"
    name = programs[-1].name
    fields = properties(library / "library.properties")
    header = fields["includes"].split(",")[-1]
    assert (src / header).is_file()
    sources = sorted(path for path in src.rglob("*") if path.suffix in (".c", ".cpp", ".S"))
    elf = compile_and_link(tmp_path, sources, [f"-I{src}"], header, name)
    assert memory_of(elf, f"{name}_run")[0] == "SHT_PROGBITS"


def properties(path: Path) -> dict[str, str]:
    """Read library.properties: each line is a field, a comment or empty."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {field: value for field, _, value in (line.partition("=") for line in lines)}


@pytest.mark.parametrize("programs", [ONE, TWO, CPU], ids=["one", "two", "cpu"])
def test_the_fields_are_as_documented(tmp_path: Path, programs: list[Program]) -> None:
    manifest = write_library(tmp_path, programs)
    assert re.fullmatch(r"[^:;/,@<>]{1,50}", manifest["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"]) and len(manifest["version"]) <= 20
    assert 1 <= len(manifest["description"]) <= 255
    for header in manifest["headers"]:
        assert (tmp_path / "model" / header).is_file()
    fields = properties(tmp_path / "library.properties")
    assert re.fullmatch(r"[A-Za-z0-9][\w .-]{0,62}", fields["name"])
    assert not fields["name"].lower().startswith("arduino")
    assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
    for field in ("author", "maintainer", "sentence", "paragraph", "url", "architectures"):
        assert fields[field].strip(), field
    assert fields["category"] in CATEGORIES
