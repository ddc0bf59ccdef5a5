"""Elements that are boards: their console and lines on serial ports, and wrong --port options."""

import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.board import load_board
from ethosgen.board.system import uniform_system
from ethosgen.cli import cli
from ethosgen.flow.firmware import build_project
from ethosgen.flow.planning import read
from ethosgen.host.tools import QEMU
from ethosgen.stages.cuts import cut
from ethosgen.stages.manifest import (
    MANIFEST,
    ElementProject,
    HandoverFacts,
    Manifest,
    manifest_text,
)
from ethosgen.systems.elements import build_pipeline
from ethosgen.systems.staging import create_pipeline
from ethosgen.targets.relay import SerialEnd
from ethosgen.values.errors import EthosgenError, InputError, TargetError
from ethosgen.values.plan import EXACT
from ethosgen.values.source import AS_IS
from ethosgen.values.watch import Watch
from ethosgen.values.wiring import HOST
from tests import ROOT
from tests.support.needs import needs_build, needs_qemu

DIGITS = ROOT / "demo" / "digits_int8.tflite"
TERMINALS = 3
WAIT_S = 60.0


CHAIN = ((HOST, 0), (0, 1), (1, HOST))
CUTS = (0, 9, 10)
FORK = ((HOST, 0), (0, 1), (0, HOST), (1, HOST))


def unmade(path: Path, link: str, ends: Sequence[tuple[int, int]] = CHAIN) -> Path:
    """Write a pipeline of two elements without their projects."""
    elements = tuple(ElementProject(f"stage_{k}", k, "corstone300", 1, 1) for k in range(2))
    first, last = cut(read(DIGITS, None, Watch()), CUTS)
    carried = {HOST: first.reads, 0: first.makes, 1: last.makes}
    handovers = tuple(HandoverFacts(a, b, tuple(carried[a]), 1.0, 0.0) for a, b in ends)
    reading = {"shapes": {}, "input_layout": AS_IS}
    manifest = Manifest(
        *("digits_int8", DIGITS.name, "tflite", reading, link, CUTS, elements),
        *(handovers, None, None, "", "it is not made"),
    )
    path.mkdir()
    (path / MANIFEST).write_bytes(manifest_text(manifest))
    (path / DIGITS.name).write_bytes(DIGITS.read_bytes())
    return path


def run(place: Path, *ports: str) -> str:
    words = ["run", str(place), "--samples", "6", *(word for p in ports for word in ("--port", p))]
    done = CliRunner().invoke(cli, words)
    if isinstance(done.exception, EthosgenError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[list[str]]:
    """Return the terminals of an element's console and lines; QEMU stands for its board."""
    place = tmp_path / "p"
    system = uniform_system(load_board("corstone300"), "none", None, 2, "serial")
    create_pipeline(read(DIGITS, None, Watch()), system, EXACT, place, Watch())
    build_pipeline(place, Watch())
    elf = build_project(place / "stage_1", on="serial", watch=Watch()).elf
    command = [str(QEMU.find()), "-M", "mps3-an547", "-kernel", str(elf), "-display", "none"]
    for port in ("pty", "null", "pty", "pty"):
        command += ["-serial", port]
    said = tmp_path / "qemu.txt"
    with said.open("w") as file:
        process = subprocess.Popen(
            [*command, "-monitor", "none"], stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    try:
        ends = time.monotonic() + WAIT_S
        names: list[str] = []
        while len(names) < TERMINALS:
            assert process.poll() is None and time.monotonic() < ends, said.read_text()
            time.sleep(0.05)
            names = re.findall(r"(/dev/pts/\d+) ", said.read_text())
        yield names
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
@needs_build
@needs_qemu
def test_an_element_on_serial_ports_beside_one_on_qemu(
    terminals: list[str], tmp_path: Path
) -> None:
    console, before, behind = terminals
    ports = (f"stage_1={console}", f"stage_1.before={before}", f"stage_1.behind={behind}")
    assert run(tmp_path / "p", *ports).endswith("PASS\n")
    with pytest.raises(TargetError, match=r"^element 'stage_1': cannot open the console '/none'"):
        run(tmp_path / "p", "stage_1=/none", *ports[1:])


@pytest.mark.parametrize(
    ("link", "ports", "says"),
    [
        ("serial", ["/dev/ttyACM0"], "name the element of a pipeline's serial port"),
        ("serial", ["other=/dev/a"], "there is no element 'other'|unknown element 'other'"),
        ("serial", ["stage_1=/dev/a"], "the line stage_1.before ends at this machine"),
        (
            "serial",
            ["stage_1=/dev/a", "stage_1.before=/dev/b"],
            "name its serial port with --port stage_1.behind=PORT",
        ),
        (
            "serial",
            ["stage_0=/dev/a", "stage_0.before=/dev/b", "stage_0.behind=/dev/c", "stage_1=/dev/d"],
            "the line stage_1.before ends at this machine",
        ),
        ("shared", ["stage_1=/dev/a"], "--port is for elements on serial lines; these share"),
    ],
)
def test_ports_that_do_not_fit(tmp_path: Path, link: str, ports: list[str], says: str) -> None:
    place = unmade(tmp_path / "p", link)
    with pytest.raises(InputError, match=says):
        run(place, *ports)


@pytest.mark.parametrize(
    ("ports", "says"),
    [
        ([], "name its serial port with --port stage_0.behind.stage_1=PORT"),
        (["stage_0.behind.stage_1=/dev/c"], "the line stage_0.behind.host ends at this machine"),
        (["stage_0.behind=/dev/c"], "--port stage_0.behind: .*behind.stage_1"),
    ],
)
def test_the_ports_of_a_fork_name_the_other_ends(
    tmp_path: Path, ports: list[str], says: str
) -> None:
    place = unmade(tmp_path / "p", "serial", FORK)
    with pytest.raises(InputError, match=says):
        run(place, "stage_0=/dev/a", "stage_0.before=/dev/b", *ports)


@pytest.mark.parametrize(
    ("ports", "says"),
    [
        (["stage_0.before=/dev/a"], "element 'stage_0' needs a console too"),
        (["stage_0=/dev/a", "stage_0=/dev/b"], "--port stage_0=/dev/b: its line or its port is in"),
        (
            ["stage_0=/dev/a", "stage_0.before=/dev/a"],
            "--port stage_0.before=/dev/a: its line or its port is in two of them",
        ),
        (["/dev/a", "/dev/b"], "a board has one --port"),
    ],
)
def test_ports_that_contradict_each_other(tmp_path: Path, ports: list[str], says: str) -> None:
    words = [word for port in ports for word in ("--port", port)]
    done = CliRunner().invoke(cli, ["run", str(tmp_path), *words])
    assert done.exit_code == 2
    assert says in done.output


def test_a_line_that_cannot_be_opened_is_not_called_a_console() -> None:
    with pytest.raises(TargetError, match=r"^cannot open the line '/dev/nowhere': "):
        SerialEnd("/dev/nowhere", 115_200)


def test_ports_of_elements_are_for_pipelines(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["run", str(tmp_path), "--port", "stage_0=/dev/a"])
    assert isinstance(done.exception, InputError)
    assert "is for a pipeline's elements" in str(done.exception)
