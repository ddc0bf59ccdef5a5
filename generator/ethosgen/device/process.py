"""The process that runs a device's model, as a target sees it."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosgen.device.building import check_entry, compile_model
from ethosgen.host import sanitizers
from ethosgen.host.child import cause_of_death, die_with_us
from ethosgen.host.termination import hold_signals
from ethosgen.values.device import Device
from ethosgen.values.errors import DeviceFault

_START_S = 30.0
"""Time limit for a model to load."""
ANSWER_S = 30.0
"""Time limit for one poll of a model."""
_ASK_S = 0.5
_END_S = 1.0
_TRACE_S = 0.3
_SAID_LINES = 3


@dataclass(frozen=True)
class SharedFile:
    """The memory that target and models share: a part of an open file, at a target's address."""

    handle: int
    offset: int
    bytes: int
    start_addr: int


@dataclass(frozen=True)
class InterruptSocket:
    """A device's interrupt line: a socket, and the byte that identifies the device."""

    socket: socket.socket
    byte: int


Part = tuple[str, int, int, bool]
"""A part of memory that a device may access: name, address, bytes, whether it may write there."""


class DeviceProcess:
    """A model's process, from `start` to `stop`."""

    def __init__(self, device: Device) -> None:
        """Check the model's entry; InputError if it is wrong."""
        assert device.model is not None
        check_entry(device.name, device.model)
        self.device, self._model = device, device.model
        self._folder = device.model.folder.resolve()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._files = tempfile.TemporaryDirectory(prefix="ethosgen-")
        self._received = b""
        self._asked_at: float | None = None
        self._answered_at = 0.0
        self._fault: DeviceFault | None = None
        self.counts: dict[str, int] = {}

    @property
    def fault(self) -> DeviceFault | None:
        """The fault that ended the model, None if it runs."""
        self._receive(0.0)
        return self._fault

    def start(
        self,
        memory: SharedFile,
        page_addr: int,
        segments: Sequence[Part],
        line: InterruptSocket | None,
    ) -> None:
        """Start the model, and wait until it has set its registers.

        Without a line its interrupts have no effect.

        DeviceFault if it fails; BuildError or ToolError if it cannot be compiled.
        """
        library = compile_model(self.device, Path(self._files.name))
        self._control, far = socket.socketpair()
        task: dict[str, Any] = {
            "name": self.device.label,
            "folder": str(self._folder),
            "entry": self._model.entry,
            "library": str(library) if library else None,
            "memory": memory.handle,
            "offset": memory.offset,
            "bytes": memory.bytes,
            "start_addr": memory.start_addr,
            "page_addr": page_addr,
            "register_bytes": self.device.register_bytes,
            "segments": list(segments),
            "interrupts": self.device.has_interrupt,
            "bell": line.socket.fileno() if line else None,
            "byte": line.byte if line else 0,
            "control": far.fileno(),
        }
        with far:
            bell = (line.socket.fileno(),) if line else ()
            self._spawn(task, (memory.handle, *bell, far.fileno()))
        self._await_start()

    def check(self) -> None:
        """Raise DeviceFault if the model has failed, has died, or does not answer."""
        self._receive(0.0)
        now = time.monotonic()
        if self._fault is None and self._asked_at is None:
            if now - self._answered_at > _ASK_S:
                self._ask(now)
        elif self._asked_at is not None and now - self._asked_at > ANSWER_S:
            self._fault = self._make_fault(
                "late",
                f"one call of its poll function has taken more than {ANSWER_S:g} s"
                + (f": {why}" if (why := self.stuck()) else ""),
            )
        if self._fault is not None:
            raise self._fault

    def cycles(self) -> int | None:
        """Return the cycles that the model has counted since its start, None if it counts none.

        DeviceFault if it has failed, or does not answer.
        """
        self._await_answer()  # of an earlier question, which is too old
        self._ask(time.monotonic())
        self._await_answer()
        return self.counts.get("cycles")

    def silence(self) -> DeviceFault | None:
        """Return a fault if the model has worked, but never raised the interrupt that it has."""
        if not self.device.has_interrupt or self._control is None or self._fault is not None:
            return None
        with suppress(DeviceFault):
            self.cycles()  # asks for the counts
        if not self.counts.get("worked") or self.counts.get("interrupts"):
            return None
        return self._make_fault(
            "silent",
            "it has worked, but never raised its interrupt, so on hardware a wait would find its "
            "end only at the next tick, or never; call interrupt() in Python or "
            "ethosgen_model_interrupt() in C where it ends, raise 'irq' in RTL, or write interrupt "
            "= false in accelerator.toml",
        )

    def stuck(self) -> str:
        """Return where the model's poll function hangs, "" if it returns."""
        self._receive(0.0)
        if self._asked_at is None:
            self._ask(time.monotonic())
        self._receive(_ASK_S)
        if self._asked_at is None or self._process is None or self._fault is not None:
            return ""
        self._process.send_signal(signal.SIGUSR1)  # `serving` then writes where it is
        time.sleep(_TRACE_S)
        file, name = self._model.file, self._model.member
        if self._model.verilog:
            return (
                f"the simulation of '{self.device.label}' goes on; set `limit` in [device.verilog] "
                "to fewer clock cycles, or if it only takes long, define ETHOSGEN_DEVICE_TIMEOUT_MS"
            )
        places = re.findall(rf'File ".*/{re.escape(file)}", line (\d+) in (\w+)', self._said())
        where = f": it is in {places[0][1]}(), {file}, line {places[0][0]}" if places else ""
        what = f"{name}.poll()" if name else "ethosgen_model_poll()"
        return (
            f"the model of '{self.device.label}' does not return from {what}{where}; end the loop "
            "there, or if it only takes long, define ETHOSGEN_DEVICE_TIMEOUT_MS"
        )

    def stop(self) -> None:
        """End the process."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            try:
                self._process.wait(_END_S if self._fault is None else 0.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._files.cleanup()

    def _spawn(self, task: dict[str, Any], handles: tuple[int, ...]) -> None:
        command = [*die_with_us(), sys.executable, "-P", "-m", "ethosgen.device.serving"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        if (settings := self._model.verilog) and settings.trace:
            environment["ETHOSGEN_TRACE"] = self._trace(settings.trace)
        elif self._model.is_watched and task["library"] and not settings:
            environment |= sanitizers.preloaded()
        log = (Path(self._files.name) / "said").open("wb")
        with log, hold_signals():
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=handles,
            )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(json.dumps(task).encode() + b"\n")  # if it has died, its end is reported

    def _trace(self, file: str) -> str:
        """Return the file for a waveform: each of several devices has its own."""
        path = Path(file)
        number = f"_{self.device.instance}" if self.device.instances > 1 else ""
        return str(path.with_stem(path.stem + number).absolute())

    def _await_start(self) -> None:
        ends = time.monotonic() + _START_S
        while not self._answered_at and self._fault is None:
            self._receive(max(0.0, ends - time.monotonic()))
            if time.monotonic() > ends and not self._answered_at and self._fault is None:
                self._fault = self._make_fault("late", f"it did not start within {_START_S:g} s")
        if self._fault is not None:
            raise self._fault

    def _await_answer(self) -> None:
        """Receive until no question is open; raise the model's fault."""
        self._receive(0.0)
        while self._asked_at is not None and self._fault is None:
            self._receive(_ASK_S)
            self.check()
        if self._fault is not None:
            raise self._fault

    def _ask(self, now: float) -> None:
        assert self._control is not None
        try:
            self._control.send(b"?")
        except OSError:
            return  # it has died: the next check finds its fault, or the end of the line
        self._asked_at = now

    def _receive(self, timeout_s: float) -> None:
        """Take the messages that have arrived."""
        control = self._control
        if control is None or control.fileno() < 0 or self._fault is not None:
            return
        while select.select([control], [], [], timeout_s)[0]:
            timeout_s = 0.0
            try:
                data = control.recv(4096)
            except OSError:
                data = b""
            if not data:
                self._fault = self._make_fault("died", self._cause())
                return
            self._received += data
            *lines, self._received = self._received.split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        self._answered_at, self._asked_at = time.monotonic(), None
        self.counts = message.get("counts", self.counts)
        if "fault" in message:
            self._fault = self._make_fault(message["fault"], message["reason"])

    def _make_fault(self, kind: str, reason: str) -> DeviceFault:
        return DeviceFault(self.device.label, kind, reason)

    def _cause(self) -> str:
        assert self._process is not None
        try:
            how = cause_of_death(self._process.wait(_END_S))
        except subprocess.TimeoutExpired:
            how = "it closed its control line"
        said = self._said()
        folder = str(self._folder)
        if report := sanitizers.described(said, lambda p: Path(p).name if folder in p else ""):
            return report
        log = said.strip().splitlines()
        return how + (f": {'; '.join(log[-_SAID_LINES:])}" if log else "")

    def _said(self) -> str:
        return (Path(self._files.name) / "said").read_text(errors="replace")


class DeviceProcesses:
    """The processes of several devices' models; a device without a model has none."""

    def __init__(self) -> None:
        """Begin without a process."""
        self._models: list[DeviceProcess] = []

    @property
    def fault(self) -> DeviceFault | None:
        """The first fault that ended a model, None if there was none."""
        return next(filter(None, (model.fault for model in self._models)), None)

    def start(
        self,
        device: Device,
        memory: SharedFile,
        page_addr: int,
        segments: Sequence[Part],
        line: InterruptSocket | None = None,
    ) -> None:
        """Start a device's model, as DeviceProcess does."""
        if device.model is not None:
            model = DeviceProcess(device)
            self._models.append(model)
            model.start(memory, page_addr, segments, line)

    def check(self) -> None:
        """Raise DeviceFault if a model has failed, has died, or does not answer."""
        for model in self._models:
            model.check()

    def silence(self) -> DeviceFault | None:
        """Return the fault of a model that has worked, but never raised its interrupt."""
        return next(filter(None, (model.silence() for model in self._models)), None)

    def check_interrupts(self) -> None:
        """Raise the fault of a model that has worked, but never raised its interrupt."""
        if fault := self.silence():
            raise fault

    def explain(self, is_late: bool, registers: Iterable[tuple[Device, bytes]]) -> str:
        """Return notes for a failed call: models that hang, if it is late, and registers."""
        whys = [model.stuck() for model in self._models] if is_late else []
        notes = [f"; {why}" for why in whys if why]
        return "".join([*notes, *(device.registers_text(page) for device, page in registers)])

    def cycles(self) -> int | None:
        """Return the cycles that the models have counted since their start, None if none has."""
        known = [count for model in self._models if (count := model.cycles()) is not None]
        return sum(known) if known else None

    def stop(self) -> None:
        """End the processes."""
        for model in self._models:
            model.stop()
        self._models.clear()
