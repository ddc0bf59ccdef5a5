"""The process of a device's model: `python -m ethosgen.device.serving`, started by `process`.

It reads its task as JSON from stdin, maps the target's shared memory, and serves the registers
until the control line closes. On that line it answers questions and reports a fault, in lines of
JSON.
"""

import contextlib
import faulthandler
import json
import mmap
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.device.loading import LoadedModel, Surroundings, load
from ethosgen.device.memory import MemoryPart
from ethosgen.values.errors import DeviceFault

_EAGER_S = 0.05
"""For this long after work, the registers are polled as often as possible."""
_EAGER_SLEEP_S = 20e-6
_LAZIEST_SLEEP_S = 10e-3
_LAZY_SHARE = 0.01
"""Later, the pause between polls is this share of the time without work: it delays by no more."""


def _surroundings(task: dict[str, Any], counts: dict[str, int]) -> Surroundings:
    """Map the shared memory; return the objects that the model works on."""
    mapped = mmap.mmap(task["memory"], task["bytes"], offset=task["offset"])
    memory = np.frombuffer(mapped, np.uint8)
    start = task["start_addr"]
    page = memory[task["page_addr"] - start :][: task["register_bytes"]].view(np.uint32)
    segments = [
        MemoryPart(name, first, memory[first - start :][:size], writable)
        for name, first, size, writable in task["segments"]
    ]
    bell = None if task["bell"] is None else socket.socket(fileno=task["bell"])
    byte = bytes([task["byte"]])

    def interrupt() -> None:
        counts["interrupts"] += 1
        if bell is not None:
            with contextlib.suppress(OSError):  # QEMU has ended: its target reports that
                bell.send(byte)

    return Surroundings(task["name"], page, segments, interrupt if task["interrupts"] else _no_line)


def _no_line() -> None:
    """Refuse an interrupt of a device that was declared without one."""
    raise ValueError("it has no interrupt: set device.interrupt in accelerator.toml")


def _serve(model: LoadedModel, control: socket.socket, counts: dict[str, int]) -> None:
    """Poll until the control line closes."""
    last_event = time.monotonic()
    while True:
        wait_s = 0.0
        if model.poll():
            last_event = time.monotonic()
            counts["worked"] += 1
        else:
            idle_s = time.monotonic() - last_event
            is_eager = idle_s < _EAGER_S
            lazy_s = min(_LAZY_SHARE * idle_s, _LAZIEST_SLEEP_S)
            wait_s = _EAGER_SLEEP_S if is_eager else lazy_s
        if select.select([control], [], [], wait_s)[0]:
            if not control.recv(64):
                return
            cycles = model.cycles()
            _tell(control, {"counts": counts if cycles is None else counts | {"cycles": cycles}})


def _tell(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


def main() -> None:
    """Serve one model."""
    faulthandler.register(signal.SIGUSR1)  # where a model is that does not answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    task = json.loads(sys.stdin.readline())
    control = socket.socket(fileno=task["control"])
    counts = {"worked": 0, "interrupts": 0}
    try:
        library = Path(task["library"]) if task["library"] else None
        around = _surroundings(task, counts)
        model = load(Path(task["folder"]), task["entry"], library, around)
        _tell(control, {"ready": True})
        _serve(model, control, counts)
    except DeviceFault as fault:
        with contextlib.suppress(OSError):  # the target has ended
            _tell(control, {"fault": fault.kind, "reason": fault.reason})
            control.recv(64)  # the other side ends this process when it has read the fault
    except (BrokenPipeError, ConnectionResetError):
        pass  # the target has ended
    os._exit(0)  # run no destructors of the model's


if __name__ == "__main__":
    main()
