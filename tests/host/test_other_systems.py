"""macOS and Windows: commands that need no QEMU run without what only Linux or POSIX has."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

DIGITS = ROOT / "demo" / "digits_int8.tflite"
LINUX = {
    "modules": (),
    "names": ("sched_getaffinity", "memfd_create", "sched_setaffinity", "posix_fallocate"),
}
WINDOWS = {
    "modules": ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"),
    "names": (
        *LINUX["names"],
        *"fchmod fchown fork forkpty geteuid getpgid getuid killpg mkfifo openpty pread".split(),
        *"register_at_fork setsid wait3 wait4".split(),
    ),
}
_FRAME = """
import os, signal, sys
from pathlib import Path

import numpy, platformdirs, serial, tvm_ffi.utils  # these have code for each system

for name in {modules!r}:
    sys.modules[name] = None  # importing it fails
for name in {names!r}:
    if hasattr(os, name):
        delattr(os, name)
usual = Path.read_text
def read_text(self, *arguments, **named):
    if str(self).startswith("/proc/"):
        raise FileNotFoundError(str(self))
    return usual(self, *arguments, **named)
Path.read_text = read_text
{before}
from ethosgen.cli import main
sys.argv = ["ethosgen", *{arguments!r}]
main()
"""
COMMANDS = {
    "simulate": ("simulate", str(DIGITS), "--npu", "ethos-u55-128", "--samples", "2"),
    "project": ("project", str(DIGITS), "--board", "corstone300", "-o", "digits"),
    "ops": ("ops",),
    "compare": ("compare", str(DIGITS), "--samples", "1"),
    "report": ("report", str(DIGITS), "--board", "corstone300", "--on", "simulate", "-o", "r.html"),
    "boards": ("boards", "list"),
}


@pytest.mark.slow
@pytest.mark.parametrize("system", ["macOS", "Windows"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_needs_nothing_that_only_linux_has(
    system: str, name: str, tmp_path: Path
) -> None:
    lacks = LINUX if system == "macOS" else WINDOWS
    before = "" if system == "macOS" else "del signal.SIGHUP, signal.SIGKILL, signal.SIGUSR1"
    script = _FRAME.format(**lacks, before=before, arguments=COMMANDS[name])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simulate", "project", "report"])
def test_litert_decides_where_tensorflow_lite_micro_has_no_wheel(name: str, tmp_path: Path) -> None:
    before = (
        "sys.modules['tflite_micro'] = None; import platform; platform.machine = lambda: 'arm64'"
    )
    script = _FRAME.format(**LINUX, before=before, arguments=COMMANDS[name])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal LiteRT's" in done.stdout
    if name == "simulate":
        assert "TensorFlow Lite Micro has no package for this system" in done.stdout
