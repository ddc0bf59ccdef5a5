"""Programs for Linux: over ssh, played by a script, on a terminal, and with QEMU's user mode."""

import os
import pty
import subprocess
import termios
from pathlib import Path

import numpy as np
import pytest

from ethosgen.board import load_board
from ethosgen.project.info import ProjectInfo
from ethosgen.targets import SshHost, default_target, run, targets_of
from ethosgen.targets.linux import QemuUserTarget, find_sysroot
from ethosgen.targets.native import Pipes
from ethosgen.targets.session import Session
from ethosgen.toolchain import Built
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.outcome import Arrays
from tests.support.linux_programs import build_native, write_linux_project
from tests.support.needs import needs_native, needs_qemu_user
from tests.support.programs import ELEMENTS

INPUT, OUTPUT = "serving/input:0", "serving/output:0"
LOST = 3
"""The program's exit status if the other side has gone."""
SSH = """\
#!/bin/sh
echo "$*" >>"$CALLS"
{before}
while [ "$1" != -- ]; do shift; done
shift 2
TMPDIR=$REMOTE exec sh -c "$*"
"""

BuiltProgram = tuple[Built, ProjectInfo]


@pytest.fixture(scope="module")
def built_program(tmp_path_factory: pytest.TempPathFactory) -> BuiltProgram:
    info = write_linux_project(tmp_path_factory.mktemp("linux") / "p")
    return build_native(info, "board"), info


@pytest.fixture
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an ssh on PATH whose other computer is a folder, and return its script."""
    script = tmp_path / "bin" / "ssh"
    script.parent.mkdir()
    (tmp_path / "remote").mkdir()
    script.write_text(SSH.format(before=""))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("REMOTE", str(tmp_path / "remote"))
    return script


def make_samples(count: int) -> list[Arrays]:
    random = np.random.default_rng(5)
    return [{INPUT: random.integers(-128, 128, (1, ELEMENTS), np.int8)} for _ in range(count)]


def run_over_ssh(
    built_program: BuiltProgram, samples: list[Arrays], host: str = "pi@board"
) -> None:
    built, info = built_program
    outcome = run(built.elf, info, samples, on="ssh", attach=None, line=SshHost(host))
    assert outcome.ended and len(outcome.samples) == len(samples)
    for sample, result in zip(samples, outcome.samples, strict=True):
        assert np.array_equal(result.outputs[OUTPUT], sample[INPUT] + np.int8(1))
        assert result.run_ns is not None and result.run_ns >= 0
        assert result.cpu_instructions is None, "Linux measures time, not instructions"


@needs_native
def test_a_program_over_ssh_is_copied_run_and_removed(
    built_program: BuiltProgram, computer: Path, tmp_path: Path
) -> None:
    run_over_ssh(built_program, make_samples(3))
    copying, running = (tmp_path / "calls").read_text().splitlines()
    for call in (copying, running):
        assert call.startswith("-o BatchMode=yes -o ConnectTimeout=10 -- pi@board ")
    assert list((tmp_path / "remote").iterdir()) == []


@needs_native
def test_the_places_of_devices_go_along(
    built_program: BuiltProgram,
    computer: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ETHOSGEN_DEVICE_MINE", "/dev/uio 0")
    run_over_ssh(built_program, make_samples(1))
    _, running = (tmp_path / "calls").read_text().splitlines()
    assert "ETHOSGEN_DEVICE_MINE='/dev/uio 0' /" in running


@needs_native
def test_words_of_a_login_are_not_the_folder(built_program: BuiltProgram, computer: Path) -> None:
    computer.write_text(SSH.format(before='echo "Welcome to the board"'))
    run_over_ssh(built_program, make_samples(1))


@needs_native
@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("echo Permission denied >&2; exit 255", r"cannot copy .* to 'pi@board': .*Permission den"),
        ("cat >/dev/null; exit 0", "'pi@board' did not say where the program is"),
        (
            'case "$*" in *mktemp*) ;; *) echo no such machine >&2; exit 7;; esac',
            r"ssh ended early with status 7: no such machine",
        ),
        (
            'case "$*" in *mktemp*) ;; *) exec sh -c "kill -SEGV \\$\\$; exit 139";; esac',
            "ssh: the program was ended by SIGSEGV",
        ),
    ],
)
def test_a_computer_that_fails_is_one_error(
    built_program: BuiltProgram, computer: Path, before: str, said: str
) -> None:
    computer.write_text(SSH.format(before=before))
    with pytest.raises(TargetError, match=said):
        run_over_ssh(built_program, make_samples(1))


@needs_native
def test_ssh_needs_a_host(built_program: BuiltProgram) -> None:
    built, info = built_program
    with pytest.raises(InputError, match="name it with --host"):
        run(built.elf, info, make_samples(1), on="ssh", attach=None)


@pytest.mark.parametrize("address", ["", "-oProxyCommand=true"])
def test_an_option_is_no_host(address: str) -> None:
    with pytest.raises(InputError, match="is not a host"):
        SshHost(address)


@needs_native
def test_a_terminal_is_raw_for_the_session_alone(built_program: BuiltProgram) -> None:
    """On a serial console the user has logged in and typed the program's name."""
    built, info = built_program
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    program = subprocess.Popen([built.elf], stdin=theirs, stdout=theirs)
    console = Pipes(os.fdopen(os.dup(ours), "wb"), os.fdopen(ours, "rb"))
    try:
        session = Session(console)
        assert session.hello(60.0).digest == info.digest
        assert termios.tcgetattr(theirs) != before
        data = bytes(range(256))
        session.write_input(0, data, 60.0)
        assert session.run(10.0).status == 0
        assert session.read_output(0, len(data), 60.0) == bytes((b + 1) % 256 for b in data)
        assert session.end(10.0).runs == 1
        session.bye()
        assert program.wait(60.0) == 0
        assert termios.tcgetattr(theirs) == before
    finally:
        program.kill()
        program.wait()
        console.close()
        os.close(theirs)


@needs_native
def test_a_program_ends_with_its_console(built_program: BuiltProgram) -> None:
    command = [built_program[0].elf]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (LOST, b"")


def test_boards_with_linux_run_where_programs_run() -> None:
    board = load_board("aarch64-linux")
    assert targets_of(board) == ["qemu", "ssh", "serial"]
    assert default_target(board) == "qemu"
    assert "ssh" not in targets_of(load_board("corstone300"))


@needs_qemu_user
def test_a_program_that_qemu_cannot_run_is_one_error(tmp_path: Path) -> None:
    board, file = load_board("aarch64-linux"), tmp_path / "program"
    file.write_text("not a program")
    file.chmod(0o755)
    root = find_sysroot(board)
    assert root is not None and (root / "lib" / "libc.so.6").exists()
    with (
        QemuUserTarget(file, board) as target,
        pytest.raises(TargetError, match="qemu-aarch64 ended early"),
    ):
        Session(target.console, target.check).hello(10.0)
