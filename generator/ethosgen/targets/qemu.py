"""QEMU with the NPU model attached, or alone for a board without an NPU.

QEMU has no Ethos-U. Its board's DDR is a file that this process also maps; the end of it is the
NPU's register file, and the firmware's driver uses it like the NPU's own. The model polls the page,
runs command streams on the mapped memory, and sends a byte to an unused UART; the firmware's
handler for that UART pends the NPU's interrupt.

The user's devices have their own pages below it, and their models have their own processes; the
byte identifies the device whose interrupt is pended.
"""

import contextlib
import mmap
import os
import signal
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.backend.protocol import Attach, NpuModel, SharedMemory
from ethosgen.board import Board, Qemu, SharedRam
from ethosgen.device.process import DeviceProcesses, InterruptSocket, Part, SharedFile
from ethosgen.host.child import die_with_us
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.attachment import NpuThread
from ethosgen.targets.buffers import PortIndex, find_buffers
from ethosgen.targets.cache import PAGE_BYTES, CachedNpu
from ethosgen.targets.console import SerialConsole
from ethosgen.targets.process import ProcessTarget
from ethosgen.targets.qemu_files import load_arguments, loader_arguments, make_ram
from ethosgen.targets.security import images
from ethosgen.targets.slots import find_slots, without_slots
from ethosgen.targets.stack import describe_lockup
from ethosgen.values.device import bell_byte, device_pages
from ethosgen.values.errors import InputError, TargetError


class QemuTarget(ProcessTarget):
    """A firmware on QEMU, from entering the context to leaving it; also its console.

    `program` is the path of qemu-system-arm. Without `attach` there is no NPU. With `info`, large
    inputs and outputs can bypass the console, and the models of its devices are attached. With
    `cache_seed` there is a data cache between processor and NPU (ethosgen.targets.cache), which
    evicts lines, seeded with it. TargetError with QEMU's own output if it dies, DeviceFault if a
    device's model fails. `wires` are connected to serial ports by QEMU's
    numbers, and are closed here. `ram` is a file that others share, instead of its own. `options`
    are more arguments for QEMU.
    """

    noise = ("icount sleep disabled and no active timers",)  # printed for firmware that sleeps

    def __init__(
        self,
        program: Path,
        elf: Path,
        board: Board,
        attach: Attach | None,
        info: ProjectInfo | None = None,
        cache_seed: int | None = None,
        wires: Mapping[int, socket.socket] | None = None,
        ram: Path | None = None,
        options: Sequence[str] = (),
    ) -> None:
        if board.run.qemu is None:
            raise InputError(f"board '{board.name}' does not run on QEMU")
        super().__init__("QEMU")
        self._program = program
        self._elf = elf
        self._machine = board.run.qemu
        self._shared = board.run.qemu.shared
        self._board = board
        self._attach = attach
        self._cache_seed = cache_seed
        self._npu: NpuThread | None = None
        self._bell: socket.socket | None = None
        self._far_bell: socket.socket | None = None
        self._buffers = find_buffers(elf, info) if info else {}
        self._devices = info.devices if info else ()
        self._loaded = find_slots(elf, info) if info else {}
        self._models = DeviceProcesses()
        self._memory: np.ndarray[Any, np.dtype[np.uint8]] | None = None
        self._ram: Path | None = None
        self._loadable_elf: Path | None = None
        self._wires = dict(wires or {})
        self._given_ram = ram
        self._options = tuple(options)
        self._ram_folder: Path | None = None

    @property
    def last_fault(self) -> Exception | None:
        """The fault that ended the last command stream, or a device; None if there was none."""
        npu = self._npu.last_fault if self._npu else None
        return npu or self._models.fault

    def check(self) -> None:
        """Raise TargetError with QEMU's output if it has died, or a model's fault."""
        if self._npu is not None:
            self._npu.check()
        self._models.check()
        super().check()

    def device_notes(self, is_late: bool) -> str:
        """Return the models that hang, if a call is late, and the registers that devices show."""
        registers = []
        pages = device_pages(self._facts.npu_base_addr, self._devices) if self._devices else []
        for device, page in zip(self._devices, pages, strict=True):
            assert self._memory is not None
            start = page - self._start_addr
            registers.append((device, self._memory[start:][: device.page_bytes].tobytes()))
        return self._models.explain(is_late, registers)

    def wait_for_exit(self) -> int | None:
        """Return the firmware's exit status; DeviceFault if a model never raised its interrupt."""
        self._models.check_interrupts()
        return super().wait_for_exit()

    def settle(self) -> None:
        """Delete the files that QEMU has open: from here on the memory lives as long as QEMU."""
        if self._loadable_elf is not None:
            self._loadable_elf.unlink(missing_ok=True)
            self._loadable_elf = None
        if self._ram is not None:
            self._ram.unlink(missing_ok=True)
            self._ram = None

    def buffer(self, place: PortIndex) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
        """Return the firmware's buffer of a large input or output, if it is in shared memory."""
        if self._memory is None or place not in self._buffers:
            return None
        address, size = self._buffers[place]
        start = address - self._start_addr
        inside = start >= 0 and address + size <= self._facts.npu_base_addr
        return self._memory[start : start + size] if inside else None

    def close(self) -> None:
        """End QEMU and the model, and remove the shared memory."""
        super().close()
        if self._npu is not None:
            self._npu.stop()
        self._models.stop()
        for bell in (self._bell, self._far_bell):
            if bell is not None:
                bell.close()
        self.settle()

    @property
    def _facts(self) -> SharedRam:
        """The shared memory, for code that runs only with an NPU or devices."""
        assert self._shared is not None
        return self._shared

    def _open(self) -> None:
        if self._shared is None:
            self._start(None, None)
            return
        file, handle = self._open_ram()
        try:
            memory = self._memory = self._map(handle)
            self._bell, self._far_bell = socket.socketpair()
            self._start_models(handle, self._bell)
        except OSError as error:
            raise TargetError(
                f"cannot map {self._facts.shared_size_bytes >> 20} MiB of shared memory in "
                f"'{file.parent}': {error.strerror}"
            ) from None
        finally:
            os.close(handle)
        if self._attach is not None:
            self._npu = NpuThread(self._make_npu(self._attach, memory))
        with self._far_bell as far_bell:
            self._start(file, far_bell)
        if self._npu is not None:
            self._npu.start()

    def _start_models(self, handle: int, bell: socket.socket) -> None:
        """Start the devices' models, which share the memory's file."""
        size = self._board.memories[self._facts.npu_memory].size_bytes
        offset = self._start_addr - self._facts.shared_start_addr
        shared = SharedFile(handle, offset, size, self._start_addr)
        pages = device_pages(self._facts.npu_base_addr, self._devices)
        for index, (device, page) in enumerate(zip(self._devices, pages, strict=True)):
            line = InterruptSocket(bell, bell_byte(index))
            self._models.start(device, shared, page, list(self._parts()), line)

    def _open_ram(self) -> tuple[Path, int]:
        """Return the file of the shared memory, created unless given, and its open handle."""
        if self._given_ram is not None:
            return self._given_ram, os.open(self._given_ram, os.O_RDWR)
        file, handle = make_ram(self._facts, self._used_bytes())
        self._ram, self._ram_folder = file, file.parent
        return file, handle

    def _make_npu(self, attach: Attach, memory: np.ndarray[Any, np.dtype[np.uint8]]) -> NpuModel:
        page_offset = self._facts.npu_base_addr - self._start_addr
        page = memory[page_offset:].view(np.uint32)
        if self._cache_seed is None:
            return attach(page, self._segments(memory), self._ring)
        cache_page = memory[page_offset - PAGE_BYTES :][:PAGE_BYTES].view(np.uint32)
        segments = self._segments(memory, load=True)
        return CachedNpu(attach, (cache_page, page), segments, self._ring, self._cache_seed)

    def _death(self, status: int) -> str:
        if status == -signal.SIGBUS:
            return (
                f"QEMU was ended by SIGBUS: '{self._ram_folder}', which holds the memory that it "
                "shares with the NPU model, is full; free some space"
            )
        return describe_lockup(self._read_log(), self._elf) or super()._death(status)

    def _words(self) -> str:
        """Return the end of QEMU's output, without an already described dump of registers."""
        return "" if describe_lockup(self._read_log(), self._elf) else super()._words()

    def _used_bytes(self) -> int:
        """Return the part of the shared memory that the firmware occupies."""
        facts = self._facts
        end_addr = facts.shared_start_addr + facts.shared_size_bytes
        with self._elf.open("rb") as file:
            return sum(
                int(section["sh_size"])
                for section in ELFFile(file).iter_sections()
                if facts.shared_start_addr <= section["sh_addr"] < end_addr
                and section["sh_flags"] & SH_FLAGS.SHF_ALLOC
            )

    @property
    def _start_addr(self) -> int:
        return self._board.memories[self._facts.npu_memory].start_addr

    def _map(self, handle: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        size = self._board.memories[self._facts.npu_memory].size_bytes
        offset = self._start_addr - self._facts.shared_start_addr
        return np.frombuffer(mmap.mmap(handle, size, offset=offset), np.uint8)

    def _segments(
        self, memory: np.ndarray[Any, np.dtype[np.uint8]], load: bool = False
    ) -> list[SharedMemory]:
        """Return the firmware's sections in shared memory; the NPU must not access anything else.

        With `load` they have their contents at once, before QEMU has started.
        """
        segments = []
        for (name, start, size, is_writable), data in self._parts(load).items():
            offset = start - self._start_addr
            view = memory[offset : offset + size]
            if load:
                view[:] = np.frombuffer(data, np.uint8)
            segments.append(SharedMemory(name, start, view, is_writable))
        return segments

    def _parts(self, load: bool = False) -> dict[Part, bytes]:
        """Return name, address, size and writability of these sections.

        With `load` they have their contents.
        """
        end_addr = self._facts.npu_base_addr
        parts = {}
        with self._elf.open("rb") as file:
            for section in ELFFile(file).iter_sections():
                start, size = section["sh_addr"], section["sh_size"]
                inside = self._start_addr <= start and start + size <= end_addr
                if not size or not inside or not section["sh_flags"] & SH_FLAGS.SHF_ALLOC:
                    continue
                is_writable = bool(section["sh_flags"] & SH_FLAGS.SHF_WRITE)
                parts[section.name, start, size, is_writable] = section.data() if load else b""
        return parts

    def _ring(self) -> None:
        """Send the NPU's interrupt. QEMU may have ended meanwhile: `check` reports that."""
        if self._bell is not None:
            with contextlib.suppress(OSError):
                self._bell.send(bytes([bell_byte(None)]))

    def _start(self, ram: Path | None, bell: socket.socket | None) -> None:
        """Start QEMU, with a file as its shared memory and a bell if there is an NPU model."""
        command = [*die_with_us(), str(self._program)]
        with socket.create_server(("127.0.0.1", 0)) as listener:
            loadable = self._loadable()
            first, *more = (
                loadable if image == self._elf else image
                for image in images(self._elf, self._board)
            )
            command += qemu_arguments(self._machine, first, ram, listener, bell, self._wires, more)
            command += [*loader_arguments(self._loaded), *self._options]
            lines = (listener, *([bell] if bell else []), *self._wires.values())
            self._spawn(command, pass_fds=[line.fileno() for line in lines])
            for wire in self._wires.values():
                wire.close()
            self._console = SerialConsole(f"socket://127.0.0.1:{listener.getsockname()[1]}")

    def _loadable(self) -> Path:
        """Return the ELF, or one that leaves the slots for weights to QEMU's loader."""
        if not self._loaded:
            return self._elf
        handle, name = tempfile.mkstemp(prefix="ethosgen-", suffix=".elf")
        self._loadable_elf = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(without_slots(self._elf, self._loaded))
        return self._loadable_elf


def qemu_arguments(
    facts: Qemu,
    elf: Path,
    ram: Path | None,
    listener: socket.socket,
    bell: socket.socket | None,
    wires: Mapping[int, socket.socket],
    more: Sequence[Path] = (),
) -> list[str]:
    """Return QEMU's arguments: memory, console, bell, and time counted in instructions.

    `more` are images to load besides the one that starts.
    """
    serials = {facts.serial: "chardev:console"}
    serials |= {number: f"chardev:wire{number}" for number in wires}
    arguments = [
        *_memory_arguments(facts, ram),
        *facts.options,
        *load_arguments(elf, more),
        *("-semihosting-config", "enable=on,target=native"),
        *("-display", "none", "-monitor", "none"),
        *("-icount", f"shift={facts.instruction_ns.bit_length() - 1},sleep=on"),
        # Without nodelay every answer waits 40 ms for the acknowledgement of its first byte.
        # A multiplexed line buffers 32 bytes where the UART buffers one, which is 2.5 times
        # faster. Its escape character is set to a value that no byte has.
        *(
            "-chardev",
            f"socket,id=console,fd={listener.fileno()},server=on,wait=off,nodelay=on,mux=on",
        ),
        *("-echr", "256"),
    ]
    if facts.bell is not None and bell is not None:
        serials[facts.bell.serial] = "chardev:bell"
        arguments += ["-chardev", f"socket,id=bell,fd={bell.fileno()}"]
    for number, wire in wires.items():
        # Multiplexed for the same reason as the console.
        arguments += ["-chardev", f"socket,id=wire{number},fd={wire.fileno()},mux=on"]
    for number in range(max(serials) + 1):
        arguments += ["-serial", serials.get(number, "null")]
    return arguments


def _memory_arguments(facts: Qemu, ram: Path | None) -> list[str]:
    """Return the machine, with a memory that is a file if it shares one with the NPU model."""
    shared = facts.shared
    if shared is None:
        return ["-M", facts.machine]
    return [
        *("-M", f"{facts.machine},memory-backend={shared.memory_backend}"),
        *(
            "-object",
            f"memory-backend-file,id={shared.memory_backend},share=on,mem-path={ram},"
            f"size={shared.shared_size_bytes}",
        ),
    ]
