"""Programs with the FVPs' names that fork a process which has imported ethosgen's programs.

A suite starts an FVP for each of its thousands of tests; the imports take half of a short run. The
program in a fork is the one that `ethosgen fvp install` installs, with the same arguments, files
and folder.
"""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ethosgen.backend import accelerators
from ethosgen.backend.ethosu.simulator import machine
from ethosgen_fvp import program, simulation
from ethosgen_fvp.platforms import PLATFORMS

_ADDRESS = "socket"
_CLIENT = """\
import os, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect({address!r})
words = "\\0".join([os.getcwd(), *sys.argv[1:]]).encode()
socket.send_fds(line, [len(words).to_bytes(4, "little") + words], [0, 1, 2])
answer = line.recv(1)
sys.exit(answer[0] if answer else 70)
"""
_STANDARD = 3
"""Files that a program has: its input, its output and its errors."""
_MESSAGE = 1 << 16


@contextlib.contextmanager
def forked_fvps() -> Iterator[Path]:
    """Install such programs in a folder for a while."""
    with tempfile.TemporaryDirectory(prefix="fvps-") as temporary:
        folder = Path(temporary)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder / _ADDRESS))
            listening.listen(64)
            client = folder / "client.py"
            client.write_text(_CLIENT.format(address=str(folder / _ADDRESS)))
            for name in PLATFORMS:
                words = shlex.join([sys.executable, "-SIE", str(client), name])
                (folder / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
                (folder / name).chmod(0o755)
            handle = listening.fileno()
            command = [sys.executable, "-P", "-m", __name__, str(handle)]
            places = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            with subprocess.Popen(command, env=places, pass_fds=[handle]) as server:
                listening.close()  # programs of a server that has ended fail instead of waiting
                try:
                    yield folder
                finally:
                    server.terminate()


def serve(listening: socket.socket) -> None:
    """Run a program for each connection, until a signal ends this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    while True:
        line, _ = listening.accept()
        with line:
            words, files = _read(line)
            if os.fork() == 0:
                listening.close()
                _run(line, words, files)
            for file in files:
                os.close(file)


def _read(line: socket.socket) -> tuple[list[str], list[int]]:
    data, files, _, _ = socket.recv_fds(line, _MESSAGE, _STANDARD)
    length = 4 + int.from_bytes(data[:4], "little")
    while len(data) < length:
        data += line.recv(_MESSAGE)
    return data[4:].decode().split("\0"), files


def _run(line: socket.socket, words: Sequence[str], files: Sequence[int]) -> None:
    """Run a program in this fork, and answer its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(words[0])
    status = 1
    try:
        status = program.main(words[1:])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        line.sendall(bytes([status]))
        os._exit(status)


if __name__ == "__main__":
    assert accelerators() and machine and simulation  # imported before any fork
    serve(socket.socket(fileno=int(sys.argv[1])))
