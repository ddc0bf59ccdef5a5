"""Starts QEMU with a firmware, and attaches the NPU model and the user's GDB."""

import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from ethosgen.backend.protocol import Attach, SharedMemory
from ethosgen.board import Board, Qemu, SharedRam
from ethosgen.host.child import die_with_us
from ethosgen.host.termination import hold_signals
from ethosgen.targets.attach.connections import ALONE, Connections
from ethosgen.targets.attach.debugger import Conversation
from ethosgen.targets.attach.heap import HeapAnswer
from ethosgen.targets.attach.memory import SECURE_ALIAS, GuestMemory, copied_parts
from ethosgen.targets.attach.monitor import InterruptLine, Monitor
from ethosgen.targets.attach.npu import NO_TROUBLES, Log, RegisterWindow, Troubles, WatchedNpu
from ethosgen.targets.attach.state import describe_state
from ethosgen.targets.attach.stub import PC, SP, XPSR, XPSR_THUMB, Stub
from ethosgen.targets.qemu_files import load_arguments, make_ram, map_ram
from ethosgen.targets.stack import describe_lockup
from ethosgen.values.errors import InputError, TargetError

_START_S = 30.0
_END_S = 5.0
_STDERR = 2
_VTOR = 0xE000ED08
"""The register for the vector table's address."""
_STORE = bytes.fromhex("0160")
"""str r1, [r0]"""
_KEPT_BYTES = 1 << 14
"""Of QEMU's output; a dump of a processor's registers takes 2 KB."""


@dataclass(frozen=True)
class Attachment:
    """A run: a firmware, on a board, with an NPU or none.

    `loaded` are ELFs to load besides the one that starts. `gdb_port` is a TCP port for the user's
    GDB, `more` are further arguments for QEMU. TargetError after `limit_s` seconds, if it is not
    None.
    """

    program: Path
    elf: Path
    board: Board
    npu: str | None = None
    attach: Attach | None = None
    register_bytes: int = 0
    gdb_port: int | None = None
    limit_s: float | None = None
    more: Sequence[str] = ()
    loaded: Sequence[Path] = ()
    troubles: Troubles = NO_TROUBLES
    connections: Connections = ALONE


@dataclass(frozen=True)
class FirmwareEnd:
    """The end of a firmware: QEMU's exit status, and how often the NPU was started.

    `lockup` says where the processor locked up, if that ended QEMU.
    """

    status: int
    inferences: int
    lockup: str | None = None


def _is_whole(image: ELFFile, size: int) -> bool:
    """Return whether a file of `size` bytes has readable headers, and everything that they name."""
    try:
        ends = [segment["p_offset"] + segment["p_filesz"] for segment in image.iter_segments()]
        stored = (
            section for section in image.iter_sections() if section["sh_type"] != "SHT_NOBITS"
        )
        ends += [
            section["sh_offset"] + section["sh_size"]
            for section in stored
            if section.name is not None
        ]
    except (ELFError, ValueError, LookupError, TypeError, AttributeError):
        return False
    return max(ends, default=0) <= size


def check_elf(elf: Path) -> None:
    """Raise InputError for a file that is not an ELF for Arm."""
    try:
        with elf.open("rb") as file:
            image = ELFFile(file)
            machine = image["e_machine"]
            is_whole = _is_whole(image, elf.stat().st_size)
    except ELFError:
        raise InputError(
            f"'{elf}' is not an ELF file; pass the linker's output, not a .bin or .hex"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read '{elf}': {error.strerror}") from None
    if not is_whole:
        raise InputError(f"'{elf}' is truncated or damaged; link it or copy it again")
    if machine != "EM_ARM":
        raise InputError(
            f"'{elf}' is a program for {str(machine).removeprefix('EM_')}, not for a Cortex-M; "
            "pass the firmware's ELF"
        )


def run_attached(attachment: Attachment, log: Log) -> FirmwareEnd:
    """Run a firmware until it ends; its console is this process's terminal, unless it has lines.

    `log` receives each inference of the NPU. Raises what its connections raise to end it.
    """
    facts = attachment.board.run.qemu
    if facts is None:
        raise InputError(
            f"QEMU has no machine for board '{attachment.board.name}'; 'ethosgen boards' lists "
            "those on which firmware runs on QEMU"
        )
    with ExitStack() as stack:
        return _Session(attachment, facts, stack).run(log)


class _Errors:
    """Passes on QEMU's stderr, and keeps its end."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._last = b""
        self._thread = threading.Thread(target=self._pass_on, name="stderr", daemon=True)
        self._thread.start()

    def end(self) -> str:
        """Return its end, once QEMU has ended."""
        self._thread.join(_END_S)
        return self._last.decode(errors="replace")

    def _pass_on(self) -> None:
        with self._pipe as pipe:
            while data := os.read(pipe.fileno(), _KEPT_BYTES):
                os.write(_STDERR, data)
                self._last = (self._last + data)[-_KEPT_BYTES:]


class _TimeIsUpError(Exception):
    """The firmware has not ended in the time that it has."""


class _Session:
    """One run; `stack` closes what it opens."""

    def __init__(self, attachment: Attachment, facts: Qemu, stack: ExitStack) -> None:
        self._attachment = attachment
        self._facts = facts
        self._stack = stack
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ethosgen-"))
        self._sockets = Path(folder)

    def run(self, log: Log) -> FirmwareEnd:
        """Run the firmware until it ends."""
        ram = self._make_ram()
        listener = self._listen()
        process = self._start(ram[0] if ram else None)
        stub = Stub(self._connect("gdb", process))
        self._stack.callback(stub.close)
        monitor = Monitor(self._connect("qmp", process))
        self._stack.callback(monitor.close)
        stub.begin()
        if (vectors := self._attachment.connections.vectors) is not None:
            _start_at(stub, vectors)
        npu = self._attach(stub, monitor, ram, process, log)
        limit_s = self._attachment.limit_s
        ends = None if limit_s is None else time.monotonic() + limit_s

        def check() -> None:
            if ends is not None and time.monotonic() > ends:
                raise _TimeIsUpError
            self._attachment.connections.supervise(monitor)

        conversation = Conversation(stub, npu, listener, self._heap(stub))
        try:
            conversation.run(check)
        except _TimeIsUpError:
            elfs = (self._attachment.elf, *self._attachment.loaded)
            state = f": {describe_state(stub, elfs)}" if conversation.halt() else ""
            raise TargetError(
                f"the firmware has not ended after {limit_s:g} s{state}; it must call "
                "semihosting's SYS_EXIT, or pass a longer --timeout"
            ) from None
        try:
            status = process.wait(_END_S)
        except subprocess.TimeoutExpired:
            raise TargetError("QEMU has closed its GDB stub but does not end") from None
        lockup = describe_lockup(self._errors.end(), self._attachment.elf)
        return FirmwareEnd(status, npu.inferences if npu else 0, lockup)

    def _heap(self, stub: Stub) -> HeapAnswer | None:
        """Return the handler of SYS_HEAPINFO, None if QEMU answers it."""
        semihosting = self._attachment.connections.semihosting
        if semihosting.heap is None or not semihosting.is_enabled:
            return None
        elfs = (self._attachment.elf, *self._attachment.loaded)
        return HeapAnswer(stub, elfs, semihosting.heap)

    def _make_ram(self) -> tuple[Path, int, SharedRam] | None:
        """Create the file of QEMU's memory: path, open handle, and address; None without NPU."""
        shared = self._facts.shared
        if shared is None or self._attachment.attach is None:
            return None
        path, handle = make_ram(shared, 0)
        self._stack.callback(path.unlink, missing_ok=True)
        self._stack.callback(os.close, handle)
        self._stack.callback(self._save, handle, shared)
        return path, handle, shared

    def _save(self, handle: int, shared: SharedRam) -> None:
        """Write the parts of the memory that are asked for, once QEMU has ended."""
        for part in self._attachment.connections.saved:
            try:
                part.file.write_bytes(map_ram(handle, shared, part.addr, part.size).data)
            except OSError as error:
                raise InputError(f"cannot write '{part.file}': {error.strerror}") from None

    def _listen(self) -> socket.socket | None:
        port = self._attachment.gdb_port
        if port is None:
            return None
        try:
            listener = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise TargetError(
                f"cannot open port {port} for GDB: {error.strerror}; pass another --gdb PORT"
            ) from None
        self._stack.callback(listener.close)
        return listener

    def _start(self, ram: Path | None) -> "subprocess.Popen[bytes]":
        """Start QEMU, stopped at reset."""
        command = [*die_with_us(), str(self._attachment.program), *self._arguments(ram)]
        around = self._attachment.connections
        try:
            with hold_signals():
                process = subprocess.Popen(
                    command,
                    stderr=subprocess.PIPE,
                    cwd=around.folder,
                    pass_fds=[line.fileno() for line in around.sockets],
                )
        except OSError as error:
            raise TargetError(f"cannot start '{command[0]}': {error.strerror}") from None
        for line in around.sockets:
            line.close()
        assert process.stderr is not None
        self._errors = _Errors(process.stderr)
        self._stack.callback(self._errors.end)
        self._stack.callback(_end, process)
        return process

    def _arguments(self, ram: Path | None) -> list[str]:
        facts, shared = self._facts, self._facts.shared
        machine = ["-M", facts.machine]
        if ram is not None and shared is not None:
            backend = shared.memory_backend
            size = shared.shared_size_bytes
            memory = f"memory-backend-file,id={backend},share=on,mem-path={ram},size={size}"
            machine = ["-M", f"{facts.machine},memory-backend={backend}", "-object", memory]
        return [
            *machine,
            *facts.options,
            *load_arguments(self._attachment.elf, self._attachment.loaded),
            *("-display", "none", "-monitor", "none"),
            *("-icount", f"shift={facts.instruction_ns.bit_length() - 1},sleep=on"),
            *self._attachment.connections.arguments(facts.serial),
            "-S",
            *(
                word
                for name in ("gdb", "qmp", "qtest")
                for word in (f"-{name}", f"unix:{self._sockets / name},server=on,wait=off")
            ),
            *("-qtest-log", "none"),
            *self._attachment.more,
        ]

    def _connect(self, name: str, process: "subprocess.Popen[bytes]") -> socket.socket:
        """Connect to a socket of QEMU's; TargetError if QEMU has ended."""
        ends = time.monotonic() + _START_S
        while True:
            line = socket.socket(socket.AF_UNIX)
            try:
                line.connect(str(self._sockets / name))
                return line
            except OSError:
                line.close()
            if process.poll() is not None:
                raise TargetError(
                    f"QEMU ended early with status {process.returncode}; it has printed why"
                )
            if time.monotonic() > ends:
                raise TargetError(f"QEMU has not opened its socket '{name}' within {_START_S:g} s")
            time.sleep(0.02)

    def _attach(
        self,
        stub: Stub,
        monitor: Monitor,
        ram: tuple[Path, int, SharedRam] | None,
        process: "subprocess.Popen[bytes]",
        log: Log,
    ) -> WatchedNpu | None:
        """Attach the NPU model, if there is one."""
        board, attach = self._attachment.board, self._attachment.attach
        if ram is None or attach is None or board.npu is None or self._attachment.npu is None:
            return None
        _, handle, shared = ram
        start, size = shared.shared_start_addr, shared.shared_size_bytes
        mapped = SharedMemory("ddr", start, map_ram(handle, shared, start, size), True)
        memory = self._stack.enter_context(
            GuestMemory(
                stub,
                monitor,
                copied_parts(board, (self._attachment.elf, *self._attachment.loaded), shared),
            )
        )
        npu_facts = board.npu
        assert npu_facts.irq is not None
        line = InterruptLine(self._connect("qtest", process), monitor.find_core(), npu_facts.irq)
        self._stack.callback(line.close)
        place = _place(self._attachment, board, shared)
        return WatchedNpu(stub, place, attach, mapped, memory, line, log, self._attachment.troubles)


def _place(attachment: Attachment, board: Board, shared: SharedRam) -> RegisterWindow:
    """Return the NPU's place: at the board's address, and where projects for QEMU have it."""
    assert board.npu is not None and board.npu.base_addr is not None
    base = board.npu.base_addr
    bases = (base, base ^ SECURE_ALIAS, shared.npu_base_addr)
    return RegisterWindow(
        attachment.npu or board.npu.default,
        bases,
        attachment.register_bytes,
        tuple(board.npu.timing_adapters),
    )


def _start_at(stub: Stub, vectors: int) -> None:
    """Let the processor start with a vector table, as it does at reset with its own.

    The stub writes only memory, so the processor itself sets VTOR, with an instruction at the top
    of the stack.
    """
    stack, entry = stub.read_word(vectors), stub.read_word(vectors + 4)
    if not stack or not entry & 1:
        raise InputError(
            f"the firmware has no vectors at 0x{vectors:08x}, where the processor starts"
        )
    stub.set_register(XPSR, stub.register(XPSR) | XPSR_THUMB)
    before = [stub.register(number) for number in (0, 1)]
    place = stack - 8 & ~3
    covered = stub.read(place, len(_STORE))
    stub.write(place, _STORE)
    for number, value in ((0, _VTOR), (1, vectors), (PC, place)):
        stub.set_register(number, value)
    stub.step()
    stub.write(place, covered)
    for number, value in (*enumerate(before), (SP, stack), (PC, entry & ~1)):
        stub.set_register(number, value)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End QEMU in order: it has changed the terminal's settings, and restores them."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
