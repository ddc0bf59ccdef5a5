"""Signals that end a command: nothing of it stays behind."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ethosgen.host import termination
from ethosgen.host.termination import Terminated, end_in_order
from ethosgen.host.tools import QEMU, run_command
from tests.support.needs import needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.said import sentences


def start_verify(
    folder: Path, *options: str, **variables: str
) -> tuple["subprocess.Popen[str]", Path]:
    """Start `verify` of a small network; return it, and the folder that TMPDIR names."""
    net = NetworkBuilder("net")
    net.relu(net.input((1, 4)))
    (folder / "net.tflite").write_bytes(net.build())
    temporary = folder / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "ethosgen", "verify", "net.tflite", "--board", "corstone300"]
    inherited = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup, say, ignores it
    started = subprocess.Popen(
        [*command, *options],
        cwd=folder,
        env={
            **os.environ,
            "TMPDIR": str(temporary),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            **variables,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    signal.signal(signal.SIGHUP, inherited)
    return started, temporary


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_verify_leaves_no_temporary_folder(tmp_path: Path, number: signal.Signals) -> None:
    started, temporary = start_verify(tmp_path)
    deadline = time.monotonic() + 240
    while not list(temporary.glob("ethosgen-*/project/model")) and time.monotonic() < deadline:
        time.sleep(0.01)
    started.send_signal(number)
    _, words = started.communicate(timeout=240)
    assert started.returncode == 128 + number, words
    assert sentences(words) == [f"ethosgen: ended by {number.name}"]
    assert not list(temporary.iterdir())


def wait_for(
    what: Callable[[], re.Match[str] | None], started: "subprocess.Popen[str]"
) -> re.Match[str]:
    deadline = time.monotonic() + 240
    while (match := what()) is None:
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return match


@needs_qemu
@pytest.mark.parametrize("frozen", ["-S", ""])
def test_verify_takes_qemu_and_what_they_share_along(tmp_path: Path, frozen: str) -> None:
    """The shared memory has a name until the firmware answers: with -S it never does."""
    script, number = tmp_path / "qemu", tmp_path / "number"
    note = f'[ "$1" = --version ] || echo $$ >"{number}"'
    script.write_text(f'#!/bin/sh\n{note}\nexec {QEMU.find()} {frozen} "$@"\n')
    script.chmod(0o755)
    started, temporary = start_verify(tmp_path, "--samples", "5000", ETHOSGEN_QEMU=str(script))
    pid = wait_for(
        lambda: re.fullmatch(r"(\d+)\n", number.read_text()) if number.exists() else None, started
    )[1]
    gone = "" if frozen else r" \(deleted\)"
    shared = re.compile(rf"(/\S+/ethosgen-\S+\.ram){gone}$", re.MULTILINE)
    ram = Path(wait_for(lambda: shared.search(Path(f"/proc/{pid}/maps").read_text()), started)[1])
    assert list(temporary.glob("ethosgen-*/project")), "nothing is there that could stay"
    assert ram.exists() == bool(frozen)
    started.send_signal(signal.SIGTERM)
    _, words = started.communicate(timeout=240)
    assert started.returncode == 128 + signal.SIGTERM, words
    assert sentences(words) == ["ethosgen: ended by SIGTERM"]
    assert not Path(f"/proc/{pid}").exists(), "QEMU still runs"
    assert not ram.exists()
    assert not list(temporary.iterdir())


def test_a_signal_while_a_program_starts_ends_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Popen starts the program before it returns: the exception must wait for that."""
    started: list[int] = []
    late = tmp_path / "late"

    class Interrupted(subprocess.Popen[bytes]):
        def _execute_child(self, *arguments: Any) -> None:
            super()._execute_child(*arguments)  # type: ignore[misc]
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    try:
        end_in_order()
        with pytest.raises(Terminated):
            run_command(["sh", "-c", f"sleep 1; touch {late}"], 10)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not Path(f"/proc/{started[0]}").exists(), "the program still runs"
    assert not late.exists()


def test_a_signal_that_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal can already be ignored at the start, as SIGHUP under nohup."""
    installed: dict[int, object] = {}
    monkeypatch.setattr(termination.signal, "getsignal", lambda _: signal.SIG_IGN)
    monkeypatch.setattr(termination.signal, "signal", installed.__setitem__)
    end_in_order()
    assert not installed


def test_it_passes_what_catches_errors() -> None:
    assert not issubclass(Terminated, Exception)
    assert Terminated(signal.SIGTERM).exit_status == 143
