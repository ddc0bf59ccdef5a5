"""`ethosgen stack`: the bounds of a firmware that others build, and their header."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.flow import build_project
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from tests.commands.test_identify import image, project
from tests.support.needs import needs_build, needs_gcc
from tests.support.programs import make_cpu_program

MARK = b"ethosgen:0.1.0:plus_one:0123456789abcdef:0123456789abcdef\0"


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, ["stack", *map(str, words)], catch_exceptions=False)


@needs_build
def test_the_bounds_are_those_of_the_build(tmp_path: Path) -> None:
    place = project(tmp_path / "p", make_cpu_program(), make_cpu_program("plus_two"))
    built = build_project(place, watch=Watch())
    needs = {bound.network: bound.need for bound in built.stack}
    header = tmp_path / "ethosgen_stack.h"
    done = run(built.elf, "-o", header)
    assert done.exit_code == 0
    for name, need in needs.items():
        assert need is not None
        assert f"stack     {name}: at most {need.bytes} B" in done.stdout
        assert f"#define {name.upper()}_STACK_BYTES {need.bytes}u" in header.read_text()
    told = json.loads(run(built.elf, "--json").stdout)["networks"]
    assert [(network["name"], network["bytes"]) for network in told] == [
        (name, need.bytes) for name, need in sorted(needs.items()) if need
    ]
    assert run(built.elf, "-o", header).exit_code == 0, "the header is ours, so it is replaced"


@needs_build
def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    built = build_project(project(tmp_path / "p", make_cpu_program()), watch=Watch())
    other = tmp_path / "config.h"
    other.write_text("#define MINE 1\n")
    with pytest.raises(InputError, match=r"config\.h' exists, and ethosgen did not write it"):
        run(built.elf, "-o", other)
    assert other.read_text() == "#define MINE 1\n"


def test_a_raw_image_has_no_functions(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot read firmware '.*a\.bin': "):
        run(image(tmp_path / "a.bin", MARK))


@needs_gcc
def test_a_program_for_another_processor_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    text = MARK[:-1].decode()
    source.write_text(f'const char mark[] = "{text}"; int main(void) {{ return mark[0]; }}\n')
    subprocess.run(["gcc", str(source), "-o", str(tmp_path / "a")], check=True)
    with pytest.raises(InputError, match="is not firmware for a Cortex-M"):
        run(tmp_path / "a")
