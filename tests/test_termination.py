"""Signals that end a command: nothing of it stays behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ethosgen.commands import termination
from ethosgen.commands.termination import Terminated, end_in_order
from networks import Network


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_verify_leaves_no_temporary_folder(tmp_path: Path, number: signal.Signals) -> None:
    net = Network("net")
    net.relu(net.input((1, 4)))
    (tmp_path / "net.tflite").write_bytes(net.build())
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    started = subprocess.Popen(
        [sys.executable, "-m", "ethosgen", "verify", "net.tflite", "--board", "corstone300"],
        cwd=tmp_path,
        env={
            **os.environ,
            "TMPDIR": str(temporary),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(temporary.glob("ethosgen-*/project/model")) and time.monotonic() < deadline:
        time.sleep(0.01)
    started.send_signal(number)
    _, words = started.communicate(timeout=60)
    assert started.returncode == 128 + number, words
    assert words.strip() == f"ethosgen: ended by {number.name}"
    assert not list(temporary.iterdir())


def test_a_signal_that_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under nohup."""
    installed: dict[int, object] = {}
    monkeypatch.setattr(termination.signal, "getsignal", lambda _: signal.SIG_IGN)
    monkeypatch.setattr(termination.signal, "signal", installed.__setitem__)
    end_in_order()
    assert not installed


def test_it_passes_what_catches_errors() -> None:
    assert not issubclass(Terminated, Exception)
    assert Terminated(signal.SIGTERM).exit_status == 143
