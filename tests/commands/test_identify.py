"""`ethosgen identify`: the networks of a firmware, in each of its forms, beside a project's."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ethosgen
from ethosgen.board import load_board
from ethosgen.board.any_board import any_board
from ethosgen.cli import cli
from ethosgen.flow import build_project
from ethosgen.platforms import LIBRARY_ONLY, ZEPHYR
from ethosgen.project import open_project, render, write
from ethosgen.toolchain import Identity, find_identities
from ethosgen.values.errors import InputError
from ethosgen.values.program import Program
from ethosgen.values.watch import Watch
from tests.support.needs import needs_arm_gcc, needs_build, needs_zephyr
from tests.support.programs import make_cpu_program, make_program
from tests.support.project_kinds import apart

SOURCE_DIGEST = hashlib.sha256(b"TFL3 stands here").hexdigest()[:16]
BUILD = "0123456789abcdef"
STRING = f"ethosgen:0.1.0:plus_one:{SOURCE_DIGEST}:{BUILD}".encode() + b"\0"
GCC = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "--specs=nosys.specs", "-nostartfiles"]


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, ["identify", *map(str, words)], catch_exceptions=False)


def project(place: Path, *programs: Program) -> Path:
    """Write a project for a board with a Cortex-M4, and return its folder."""
    write(render(programs, load_board("mps2-an386")), place)
    return place


def objcopy(elf: Path, form: str) -> Path:
    place = elf.with_suffix(f".{form}")
    subprocess.run(["arm-none-eabi-objcopy", "-O", form, str(elf), str(place)], check=True)
    return place


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a project of two networks, and its ELF."""
    two = (make_cpu_program(), make_cpu_program("plus_two"))
    place = project(tmp_path_factory.mktemp("identify") / "p", *two)
    build_project(place, watch=Watch())
    return place, place / "build" / "qemu" / "firmware.elf"


def image(place: Path, *strings: bytes) -> Path:
    place.write_bytes(b"\x01\x02".join((b"\0" * 64, *strings, b"\xff" * 64)))
    return place


def test_a_raw_image_is_searched(tmp_path: Path) -> None:
    file = image(tmp_path / "a.bin", STRING, STRING, STRING.replace(b"plus_one", b"other"))
    assert find_identities(file) == (
        Identity("other", SOURCE_DIGEST, BUILD, "0.1.0"),
        Identity("plus_one", SOURCE_DIGEST, BUILD, "0.1.0"),
    )
    said = run(file).stdout.splitlines()
    assert said[1] == f"plus_one  network {SOURCE_DIGEST}  build {BUILD}  ethosgen 0.1.0"


def test_python_returns_the_same(tmp_path: Path) -> None:
    place = project(tmp_path / "p", make_cpu_program())
    file = image(tmp_path / "a.bin", STRING)
    (alone,) = ethosgen.identify(file)
    assert alone.identity == Identity("plus_one", SOURCE_DIGEST, BUILD, "0.1.0")
    (beside,) = ethosgen.identify(str(file), project=str(place))
    assert beside.is_ours and "other sources" in beside.difference


def test_records_of_intel_hex_are_joined(tmp_path: Path) -> None:
    lines = []
    for at in range(0, len(STRING), 16):
        data = STRING[at : at + 16]
        record = bytes((len(data), at >> 8, at & 255, 0)) + data
        lines.append(f":{record.hex()}{-sum(record) & 255:02x}".upper())
    (tmp_path / "a.hex").write_text("\n".join([*lines, ":00000001FF"]) + "\n")
    (identity,) = find_identities(tmp_path / "a.hex")
    assert identity.name == "plus_one" and identity.build == BUILD
    (tmp_path / "a.hex").write_text(lines[0][:-1] + "\n")
    with pytest.raises(InputError, match=r"'.*a\.hex' has damaged records: .*; make it again$"):
        find_identities(tmp_path / "a.hex")


@pytest.mark.parametrize("data", [b"", b"nothing", STRING[:-1], STRING.replace(b"0123", b"012x")])
def test_a_firmware_that_names_no_network_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(data)
    with pytest.raises(InputError, match=r"^'.*a\.bin' names no network of ethosgen: [^\n]*$"):
        find_identities(tmp_path / "a.bin")


def test_files_that_cannot_be_read_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot read '.*none\.elf': No such file"):
        find_identities(tmp_path / "none.elf")
    (tmp_path / "cut.elf").write_bytes(b"\x7fELF\x01\x01\x01")
    with pytest.raises(InputError, match=r"'.*cut\.elf' is a damaged ELF file"):
        find_identities(tmp_path / "cut.elf")


def test_a_firmware_is_compared_with_a_project(tmp_path: Path) -> None:
    place = project(tmp_path / "p", make_cpu_program())
    build = open_project(place).digest.encode()
    ours = STRING.replace(BUILD.encode(), build)
    other = ours.replace(b"plus_one", b"mine")
    same = run(image(tmp_path / "same.bin", ours, other), "--project", place)
    assert same.exit_code == 0
    assert "ethosgen 0.1.0: not its own" in same.stdout.splitlines()[0]
    assert same.stdout.splitlines()[1].endswith(": as in the project")
    changed = {
        STRING: "the firmware was built from other sources: the project's are " + build.decode(),
        ours.replace(SOURCE_DIGEST.encode(), b"f" * 16): f"another network, {SOURCE_DIGEST}",
        other: "the firmware does not have this network",
    }
    for string, sentence in changed.items():
        done = run(image(tmp_path / "other.bin", string), "--project", place)
        assert done.exit_code == 1 and sentence in done.stdout
    done = run(image(tmp_path / "other.bin", STRING), "--project", place, "--json")
    answer = json.loads(done.stdout)
    assert done.exit_code == 1 and answer["matches"] is False
    assert answer["networks"][0]["network_digest"] == SOURCE_DIGEST
    assert "other sources" in answer["networks"][0]["difference"]


def test_the_manifest_stands_for_its_project(tmp_path: Path) -> None:
    place = project(tmp_path / "p", make_cpu_program())
    ours = STRING.replace(BUILD.encode(), open_project(place).digest.encode())
    file = image(tmp_path / "same.bin", ours)
    assert run(file, "--project", place / "model" / "ethosgen.json").exit_code == 0
    assert "network_digest" in json.loads(run(file, "--json").stdout)["networks"][0]


def test_the_header_the_table_and_the_manifest_have_one_digest(tmp_path: Path) -> None:
    two = [make_program(), make_program(name="plus_two")]
    write(render(two, load_board("corstone300")), tmp_path / "p")
    digest = open_project(tmp_path / "p").digest
    model = tmp_path / "p" / "model"
    assert f'#define ETHOSGEN_DIGEST "{digest}"' in (model / "ethosgen_networks.h").read_text()
    for name in ("plus_one", "plus_two"):
        header = (model / name / f"{name}.h").read_text()
        assert f'#define {name.upper()}_BUILD "{digest}"\n' in header
        assert f'#define {name.upper()}_DIGEST "{SOURCE_DIGEST}"\n' in header
        assert f'#define {name.upper()}_VERSION "0.1.0"\n' in header


def test_weights_apart_have_no_digest_in_the_code(tmp_path: Path) -> None:
    write(render(apart(make_program()), any_board(), platform=LIBRARY_ONLY), tmp_path / "p")
    assert "PLUS_ONE_DIGEST" not in (tmp_path / "p" / "model" / "plus_one.h").read_text()
    build = open_project(tmp_path / "p").digest
    string = f"ethosgen:0.1.0:plus_one:apart:{build}".encode() + b"\0"
    file = image(tmp_path / "a.bin", string)
    assert run(file, "--project", tmp_path / "p").exit_code == 0


@needs_build
@pytest.mark.parametrize("form", ["elf", "binary", "ihex", "srec"])
def test_a_built_firmware_names_each_of_its_networks(built: tuple[Path, Path], form: str) -> None:
    place, elf = built
    file = elf if form == "elf" else objcopy(elf, form)
    done = run(file, "--project", place)
    assert done.exit_code == 0, done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["plus_one", "plus_two"]


@needs_build
def test_an_elf_without_sections_is_searched(built: tuple[Path, Path], tmp_path: Path) -> None:
    data = bytearray(built[1].read_bytes())
    data[0x20:0x24], data[0x30:0x34] = bytes(4), bytes(4)  # e_shoff, e_shnum and e_shstrndx
    (tmp_path / "stripped.elf").write_bytes(data)
    assert len(find_identities(tmp_path / "stripped.elf")) == 2


@needs_arm_gcc
@pytest.mark.parametrize("options", [[], ["-flto"]], ids=["gc-sections", "lto"])
@pytest.mark.parametrize("called", [True, False])
def test_a_linker_keeps_the_string_of_a_network_that_is_used(
    tmp_path: Path, options: list[str], called: bool
) -> None:
    """And drops that of one that is not, with any link script: here, the compiler's own."""
    program = make_cpu_program()
    write(render(program, any_board(), platform=LIBRARY_ONLY), tmp_path / "p")
    body = "plus_one_init();" if called else ""
    main = tmp_path / "main.c"
    main.write_text(f'#include "plus_one.h"\nint main(void) {{ {body} return 0; }}\n')
    model = tmp_path / "p" / "model"
    sources = [main, model / "plus_one.c", model / "plus_one_graph.c"]
    command = [*GCC, "-Os", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections,-emain"]
    place = tmp_path / "app.elf"
    words = [*command, *options, f"-I{model}", *map(str, sources), "-o", str(place)]
    subprocess.run(words, check=True)
    assert (STRING[:30] in place.read_bytes()) is called
    if called:
        assert find_identities(place)[0].network == SOURCE_DIGEST


@needs_zephyr
@needs_build
def test_a_firmware_of_zephyr_names_its_network(tmp_path: Path) -> None:
    write(render(make_program(), load_board("corstone300"), platform=ZEPHYR), tmp_path / "p")
    built = build_project(tmp_path / "p", watch=Watch())
    assert run(built.elf, "--project", tmp_path / "p").exit_code == 0
