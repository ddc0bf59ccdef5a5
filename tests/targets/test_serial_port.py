"""A board on a serial line: a pseudo-terminal or a socket with the firmware's twin, or QEMU's."""

import os
import pty
import socket
import subprocess
import time
import tty
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.board import load_board
from ethosgen.host.tools import QEMU
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.targets import SerialLine
from ethosgen.targets.console import SerialConsole
from ethosgen.targets.serial_port import SerialTarget
from ethosgen.targets.session import Session
from ethosgen.toolchain import build
from ethosgen.values.errors import InputError, ProtocolError, TargetError
from ethosgen.values.outcome import Arrays, Outcome
from ethosgen.values.profile import ProgramStep
from tests import ROOT
from tests.support.firmware_twin import Twin, serve
from tests.support.needs import needs_qemu
from tests.support.programs import ELEMENTS, make_cpu_program, make_program

INPUT, OUTPUT = "serving/input:0", "serving/output:0"
ELF = Path("firmware.elf")


def make_samples(count: int) -> list[Arrays]:
    random = np.random.default_rng(3)
    return [{INPUT: random.integers(-128, 128, (1, ELEMENTS), np.int8)} for _ in range(count)]


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> ProjectInfo:
    place = tmp_path_factory.mktemp("serial") / "p"
    write(render(make_program(), load_board("corstone300")), place)
    return open_project(place)


@pytest.fixture
def terminal() -> Iterator[Callable[[Twin], str]]:
    """Return a function that puts a twin behind a pseudo-terminal and returns its name."""
    ends = []

    def open_for(twin: Twin) -> str:
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        name = os.ttyname(theirs)
        ends.append(theirs)
        serve(twin, ours)
        return name

    yield open_for
    for end in ends:
        os.close(end)


def run(info: ProjectInfo, url: str, samples: list[Arrays]) -> Outcome:
    return targets.run(ELF, info, samples, on="serial", attach=None, line=SerialLine(url))


def check(outcome: Outcome, samples: list[Arrays]) -> None:
    assert outcome.ended and len(outcome.samples) == len(samples)
    for sample, result in zip(samples, outcome.samples, strict=True):
        assert np.array_equal(result.outputs[OUTPUT], sample[INPUT] + np.int8(1))
        assert result.cpu_instructions is None, "a board counts time, not instructions"


def test_a_board_on_a_terminal(info: ProjectInfo, terminal: Callable[[Twin], str]) -> None:
    samples = make_samples(3)
    check(run(info, terminal(Twin(info.digest)), samples), samples)


def profiled(info: ProjectInfo) -> ProjectInfo:
    """Return the project, whose network has a step on the NPU and one on the CPU."""
    steps = ProgramStep("partition_0", "sum", "npu"), ProgramStep("RELU", "out", "cpu")
    return replace(info, networks=(replace(info.network, steps=steps),))


def test_a_board_tells_what_each_step_costs(
    info: ProjectInfo, terminal: Callable[[Twin], str]
) -> None:
    twin = Twin(info.digest, profile=((70, 0, 2), (520, 9000, 1), (1020, 0, 1)))
    line, samples = SerialLine(terminal(twin)), make_samples(2)
    outcome = targets.run(
        ELF, profiled(info), samples, on="serial", attach=None, line=line, profile=True
    )
    check(outcome, samples)
    for sample in outcome.samples:
        assert sample.profile is not None
        # The twin's clock is not the processor's, and its hook costs 320 / 16 ticks.
        assert sample.profile.unit == "ticks at 1,000,000 Hz"
        assert [cost.count for cost in sample.profile.steps] == [500, 1000]
        assert (sample.profile.outside, sample.profile.total) == (50, 1550)
        assert [cost.npu_cycles for cost in sample.profile.steps] == [9000, 0]


def test_a_board_without_profiles_is_one_sentence(
    info: ProjectInfo, terminal: Callable[[Twin], str]
) -> None:
    line = SerialLine(terminal(Twin(info.digest)))
    with pytest.raises(InputError, match="the firmware has no profile"):
        targets.run(
            *(ELF, profiled(info), make_samples(1)),
            on="serial", attach=None, line=line, profile=True,
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [(1,), (2,), (2, 4, 6)])
def test_a_restart_in_the_middle_is_made_good(
    info: ProjectInfo, terminal: Callable[[Twin], str], restarts: tuple[int, ...]
) -> None:
    samples = make_samples(3)
    check(run(info, terminal(Twin(info.digest, restarts=restarts)), samples), samples)


@pytest.mark.slow
def test_a_board_that_restarts_for_ever(info: ProjectInfo, terminal: Callable[[Twin], str]) -> None:
    twin = Twin(info.digest, restarts=tuple(range(1, 50)))
    with pytest.raises(TargetError, match=r"restarted 4 times while it ran; check its power"):
        run(info, terminal(twin), make_samples(1))


def test_a_port_that_vanishes(info: ProjectInfo, terminal: Callable[[Twin], str]) -> None:
    started = time.monotonic()
    with pytest.raises(TargetError, match="lost the connection to the target's console"):
        run(info, terminal(Twin(info.digest, vanishes=(2,))), make_samples(3))
    assert time.monotonic() - started < 60  # not the inference's 120


def test_a_firmware_of_another_project(info: ProjectInfo, terminal: Callable[[Twin], str]) -> None:
    with pytest.raises(
        TargetError, match=r"runs firmware 'plus_one' 0123456789abcdef, but the proj"
    ):
        run(info, terminal(Twin("0123456789abcdef")), make_samples(1))


def test_a_firmware_of_another_version(info: ProjectInfo, terminal: Callable[[Twin], str]) -> None:
    twin = Twin(info.digest)
    twin.protocol = 99
    with pytest.raises(ProtocolError, match="uses version 99 of the console protocol"):
        run(info, terminal(twin), make_samples(1))


def test_a_socket_that_closes(info: ProjectInfo) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"socket://127.0.0.1:{listener.getsockname()[1]}"
        twin = Twin(info.digest, vanishes=(1,))
        with SerialTarget(info.board, SerialLine(url)) as board:
            serve(twin, listener.accept()[0].detach())
            session = Session(board.console)
            session.hello(5)
            with pytest.raises(TargetError, match="lost the connection to the target's console"):
                session.run(5)


def test_a_url_that_is_no_file() -> None:
    console = SerialConsole("loop://")
    console.write(b"abc")
    got = b""
    deadline = time.monotonic() + 60
    while got != b"abc" and time.monotonic() < deadline:
        got += console.read(0.1)
    assert got == b"abc"
    assert console.read(0.01) == b""
    console.close()


def test_where_is_the_board(info: ProjectInfo) -> None:
    with pytest.raises(InputError, match=r"where is board 'corstone300'\? .*--port"):
        targets.run(ELF, info, [], on="serial", attach=None)
    with pytest.raises(TargetError, match=r"cannot open the console '/dev/none'.*serial port"):
        run(info, "/dev/none", [])


@pytest.mark.parametrize("line", ["dtr", "rts"])
def test_control_lines_are_pulsed(
    info: ProjectInfo, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, float]] = []
    monkeypatch.setattr(SerialConsole, "pulse", lambda self, name, s: seen.append((name, s)))
    with SerialTarget(info.board, SerialLine("loop://", 9600, line)):
        assert seen == [(line, 0.1)]


def test_a_pulse_on_what_has_no_such_line_is_told(terminal: Callable[[Twin], str]) -> None:
    console = SerialConsole(terminal(Twin("0" * 16)))
    try:
        console.pulse("dtr", 0.01)
    except TargetError as error:
        assert "cannot reset with DTR" in str(error)
    finally:
        console.close()


def board_with_command(*command: str) -> ProjectInfo:
    facts = load_board("corstone300")
    serial = facts.run.serial
    assert serial is not None
    run_ = facts.run.model_copy(
        update={"serial": serial.model_copy(update={"reset_command": list(command)})}
    )
    return facts.model_copy(update={"run": run_})  # type: ignore[return-value]


def test_a_reset_by_command(tmp_path: Path) -> None:
    board = board_with_command("touch", str(tmp_path / "reset"))
    with SerialTarget(board, SerialLine("loop://")):  # type: ignore[arg-type]
        assert (tmp_path / "reset").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["false"], "'false' ended with status 1"),
        (["/none/x"], "reset the board: cannot start '/none/x'"),
    ],
)
def test_a_reset_command_that_fails(command: list[str], said: str) -> None:
    board = board_with_command(*command)
    with pytest.raises(TargetError, match=said), SerialTarget(board, SerialLine("loop://")):  # type: ignore[arg-type]
        pass


@needs_qemu
def test_qemus_serial_line_is_as_good_as_a_boards(tmp_path: Path) -> None:
    """Without an NPU, a build for the board also runs on QEMU; constants are copied."""
    text = (ROOT / "boards" / "corstone300.toml").read_text()
    text = text.replace('weights = "isram"', 'weights = "isram"\ncopied_from = "ddr"', 1)
    (tmp_path / "mine.toml").write_text(text)
    board = load_board(str(tmp_path / "mine.toml"))
    place = tmp_path / "p"
    write(render(make_cpu_program(), board, memory_mode="sram_only"), place)
    elf = build(place, "board").elf
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(QEMU.find()), "-M", "mps3-an547", "-kernel", str(elf), "-display", "none"]
    command += ["-monitor", "none", "-serial", f"tcp:127.0.0.1:{port},server=on,wait=off"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        url = f"socket://127.0.0.1:{port}"
        samples = make_samples(3)
        deadline = time.monotonic() + 60
        while True:
            try:
                outcome = run(open_project(place), url, samples)
                break
            except TargetError as error:
                if "cannot open" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        check(outcome, samples)
    finally:
        process.kill()
        process.wait()
