"""`ethosgen identify`: whether a firmware, or a project, accepts a file of weights."""

import json
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ethosgen
from ethosgen import flow
from ethosgen.board.any_board import any_board
from ethosgen.cli import cli
from ethosgen.flow import build_project
from ethosgen.flow.weights import build_weights
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import render, write
from ethosgen.project.weights_file import HEADER_BYTES, read_weights
from ethosgen.toolchain import find_identities
from ethosgen.values.errors import InputError
from ethosgen.values.program import Program
from ethosgen.values.recipe import Recipe
from ethosgen.values.status import Status
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_arm_gcc, needs_build
from tests.support.programs import make_cpu_program, make_program
from tests.support.project_kinds import apart
from tests.support.retrained import retrained

NETWORK = ROOT / "demo" / "digits_int8.tflite"
FIELDS = {"format": 4, "bytes": 12, "content_crc": 16, "regions": 20, "digest": 32, "name": 48}


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, ["identify", *map(str, words)], catch_exceptions=False)


def objcopy(elf: Path, form: str) -> Path:
    place = elf.with_suffix(f".{form}")
    subprocess.run(["arm-none-eabi-objcopy", "-O", form, str(elf), str(place)], check=True)
    return place


def library(place: Path, *programs: Program) -> Path:
    write(render([apart(p) for p in programs], any_board(), platform=LIBRARY_ONLY), place)
    return place


def altered(file: Path, field: str, place: Path, has_right_crc: bool = True) -> Path:
    """Write a file with one other bit in a field of its header."""
    data = bytearray(file.read_bytes())
    data[FIELDS[field]] ^= 2
    if has_right_crc:
        struct.pack_into("<I", data, 8, zlib.crc32(data[:8] + data[12:HEADER_BYTES]))
    place.write_bytes(data)
    return place


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a project of the demo's network and another one for a Cortex-M4, and its ELF."""
    place = tmp_path_factory.mktemp("identify") / "p"
    names = ("digits", "again")
    recipe = Recipe((NETWORK, NETWORK), "mps2-an386", "none", names, apart=True)
    flow.create_project(recipe, directory=place, watch=Watch())
    build_project(place, watch=Watch())
    return place, place / "build" / "qemu" / "firmware.elf"


def weights_of(project: Path, name: str = "digits") -> Path:
    (path,) = project.glob(f"model/**/{name}.weights")
    return path


@needs_build
@pytest.mark.parametrize("form", ["elf", "binary", "ihex", "srec"])
def test_a_firmware_accepts_its_own_files(built: tuple[Path, Path], form: str) -> None:
    project, elf = built
    firmware = elf if form == "elf" else objcopy(elf, form)
    for name in ("digits", "again"):
        done = run(firmware, "--weights", weights_of(project, name), "--project", project)
        code = read_weights(weights_of(project, name).read_bytes(), name).digest
        assert done.exit_code == 0, done.stdout
        assert done.stdout.splitlines()[-1] == (
            f"{name}.weights  network {name}  code {code}  revision 0: accepted"
        )
        assert any(f"  network apart  code {code}" in line for line in done.stdout.splitlines())


@needs_build
def test_a_retrained_file_is_accepted(built: tuple[Path, Path], tmp_path: Path) -> None:
    project, elf = built
    (tmp_path / "new.tflite").write_bytes(retrained(NETWORK.read_bytes()))
    file = tmp_path / "new.weights"
    build_weights(
        tmp_path / "new.tflite",
        project,
        network="digits",
        output=file,
        revision=7,
        watch=Watch(),
    )
    assert file.read_bytes() != weights_of(project).read_bytes()
    assert run(elf, "--weights", file).exit_code == 0
    (match,) = (m for m in ethosgen.identify(elf, weights=str(file)) if m.weights)
    assert match.difference == "" and match.weights is not None
    assert match.weights.weights is not None and match.weights.weights.revision == 7


@needs_build
def test_what_a_firmware_refuses_has_its_field(built: tuple[Path, Path], tmp_path: Path) -> None:
    project, elf = built
    own = weights_of(project)
    other = library(tmp_path / "other", make_program())
    same_name = library(tmp_path / "name", make_cpu_program("digits"))
    (tmp_path / "cut.weights").write_bytes(own.read_bytes()[:-16])
    damaged = altered(own, "digest", tmp_path / "damaged.weights", has_right_crc=False)
    cases = {
        weights_of(other, "plus_one"): ("WEIGHTS_OTHER_NETWORK", "name"),
        weights_of(same_name): ("WEIGHTS_OTHER_CODE", "digest"),
        tmp_path / "cut.weights": ("WEIGHTS_TRUNCATED", "bytes"),
        damaged: ("WEIGHTS_DAMAGED", "header_crc"),
    }
    for field, status in (
        ("format", "WEIGHTS_TOO_NEW"),
        ("content_crc", "WEIGHTS_DAMAGED"),
        ("digest", "WEIGHTS_OTHER_CODE"),
        ("regions", "WEIGHTS_OTHER_CODE"),
        ("name", "WEIGHTS_OTHER_NETWORK"),
    ):
        cases[altered(own, field, tmp_path / f"{field}.weights")] = (status, field)
    for file, (status, field) in cases.items():
        done = run(elf, "--weights", file, "--json")
        (told,) = json.loads(done.stdout)["weights"]
        assert done.exit_code == 1 and json.loads(done.stdout)["matches"] is False
        assert (told["status"], told["field"]) == (f"ETHOSGEN_{status}", field)
        said = run(elf, "--weights", file)
        start = f"{file.name}  ETHOSGEN_{status}  field {field}: '{file}' "
        assert said.exit_code == 1 and said.stdout.splitlines()[-1].startswith(start)
    (told,) = json.loads(run(elf, "--weights", weights_of(other, "plus_one"), "--json").stdout)[
        "weights"
    ]
    assert "but the code is that of again, digits;" in told["difference"]


def test_a_manifest_accepts_its_own_file_and_no_other(tmp_path: Path) -> None:
    project = library(tmp_path / "p", make_program())
    manifest, own = project / "model" / "ethosgen.json", weights_of(project, "plus_one")
    assert run(own, "--project", manifest).stdout.endswith("revision 0: accepted\n")
    assert run(own, "--project", project).exit_code == 0
    file = altered(own, "digest", tmp_path / "other.weights")
    done = run(file, "--project", manifest)
    assert done.exit_code == 1
    assert "ETHOSGEN_WEIGHTS_OTHER_CODE  field digest: " in done.stdout
    (match,) = ethosgen.identify(file, project=manifest)
    assert match.weights is not None and match.weights.status is Status.WEIGHTS_OTHER_CODE


def test_a_file_alone_says_what_it_is(tmp_path: Path) -> None:
    own = weights_of(library(tmp_path / "p", make_program()), "plus_one")
    code = read_weights(own.read_bytes(), "it").digest
    assert run(own).stdout == f"plus_one.weights  network plus_one  code {code}  revision 0\n"
    with pytest.raises(InputError, match="is itself a file of weights"):
        run(own, "--weights", own)
    with pytest.raises(InputError, match="the CRC-32 of its header is wrong"):
        run(altered(own, "name", tmp_path / "bad.weights", has_right_crc=False))


def test_a_file_in_the_image_is_not_taken_for_code(tmp_path: Path) -> None:
    """Its table of regions, behind the name, might be the code's two numbers."""
    string = b"ethosgen:0.1.0:plus_one:apart:0123456789abcdef\0"
    own = weights_of(library(tmp_path / "p", make_program()), "plus_one").read_bytes()
    table = struct.pack("<II", 3, 16)
    hostile = own[:HEADER_BYTES] + table + own[HEADER_BYTES + 8 :]
    code = bytes(range(16)) + b"plus_one".ljust(48, b"\0") + table
    (tmp_path / "a.bin").write_bytes(string + hostile + code)
    (identity,) = find_identities(tmp_path / "a.bin")
    assert [weights_code.digest for weights_code in identity.codes] == [bytes(range(16)).hex()]
    (tmp_path / "none.bin").write_bytes(string + hostile)
    (tmp_path / "w.weights").write_bytes(own)
    with pytest.raises(InputError, match="the firmware reads no file of weights: plus_one has"):
        run(tmp_path / "none.bin", "--weights", tmp_path / "w.weights")


MAIN = """
#include "plus_one.h"
int main(int count, char **words) { return (int)plus_one_init(words, (uint32_t)count); }
"""


@needs_arm_gcc
@pytest.mark.parametrize("level", ["-O0", "-Os", "-O3"])
@pytest.mark.parametrize("lto", [[], ["-flto"]], ids=["", "lto"])
def test_what_the_code_compares_is_found_in_any_build(
    tmp_path: Path, level: str, lto: list[str]
) -> None:
    """A compiler may not split the constant that holds it."""
    program = make_cpu_program()
    constants = make_program().constants
    project = library(tmp_path / "p", replace(program, constants=constants))
    model, elf = project / "model", tmp_path / "app.elf"
    (tmp_path / "main.c").write_text(MAIN)
    names = ("plus_one.c", "plus_one_graph.c", "ethosgen_weights.c")
    sources = [tmp_path / "main.c", *(model / name for name in names)]
    gcc = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "--specs=nosys.specs"]
    flags = [level, *lto, "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
    subprocess.run([*gcc, *flags, f"-I{model}", *map(str, sources), "-o", str(elf)], check=True)
    own = weights_of(project, "plus_one")
    (match,) = (m for m in ethosgen.identify(elf, weights=own) if m.weights)
    assert match.difference == ""
    (codes,) = (m.identity.codes for m in ethosgen.identify(elf) if m.identity)
    assert [(c.digest, c.regions, c.alignment) for c in codes] == [
        (read_weights(own.read_bytes(), "it").digest, 1, 16)
    ]
