"""Loads a functional model: a Python class, or a library compiled for this machine."""

import ctypes
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.device.memory import DeviceMemory, DeviceRegisters, MemoryPart
from ethosgen.host.child import module_of
from ethosgen.values.errors import DeviceFault

Words = np.ndarray[Any, np.dtype[np.uint32]]


@dataclass(frozen=True)
class LoadedModel:
    """A model that runs: `poll` serves the registers once and returns whether there was work.

    `cycles` returns the cycles that the model has counted since its start, None if it counts none.
    """

    poll: Callable[[], bool]
    cycles: Callable[[], int | None]


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of a model: its registers, the memories, and its interrupt."""

    name: str
    words: Words
    segments: Sequence[MemoryPart]
    interrupt: Callable[[], None]


def load(folder: Path, entry: str, library: Path | None, around: Surroundings) -> LoadedModel:
    """Load a model and set its registers to their values after power-on.

    `library` is the compiled model, for C and RTL. DeviceFault if it cannot be loaded.
    """
    if library is not None:
        return _load_c(library, around)
    file, _, name = entry.partition(":")
    return _load_python(folder / file, name, around)


def _load_python(path: Path, name: str, around: Surroundings) -> LoadedModel:
    sys.path.insert(0, str(path.parent))
    with _blaming(around.name, path):
        module = module_of(path, f"ethosgen_model_{path.stem}")
    kind: Any = getattr(module, name, None)
    if not inspect.isclass(kind) or not callable(getattr(kind, "poll", None)):
        raise DeviceFault(
            around.name, "raised", f"'{path.name}' has no class '{name}' with a method 'poll'"
        )
    with _blaming(around.name, path):
        registers = DeviceRegisters(around.name, around.words)
        make: Any = kind
        model = make(registers, DeviceMemory(around.name, around.segments), around.interrupt)

    def poll() -> bool:
        with _blaming(around.name, path):
            return bool(model.poll())

    def cycles() -> int | None:
        with _blaming(around.name, path):
            return int(model.cycles) if hasattr(model, "cycles") else None

    return LoadedModel(poll, cycles)


class _blaming:  # noqa: N801 - used like a function
    """Turns an exception of the model into a DeviceFault with the place where it was raised."""

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        self._path = path

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, Exception) or isinstance(error, DeviceFault):
            return
        own = [
            f"{Path(frame.filename).name}, line {frame.lineno}"
            for frame in traceback.extract_tb(trace)
            if Path(frame.filename).parent == self._path.parent
        ]
        if isinstance(error, SyntaxError) and error.filename == str(self._path):
            own = [f"{self._path.name}, line {error.lineno}"]
        where = own[-1] if own else self._path.name
        text = str(error).splitlines()
        what = f"{type(error).__name__}{': ' + text[0] if text else ''}"
        raise DeviceFault(self._name, "raised", f"{where}: it raised {what}") from error


class _CSegment(ctypes.Structure):
    """`struct segment` of ethosgen_model.c."""

    _fields_ = (
        ("start_addr", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("memory", ctypes.c_void_p),
        ("writable", ctypes.c_uint32),
    )


_IDLE, _WORKED, _BAD_REGISTER, _BAD_WRITE, _FAILED = 0, 1, 2, 4, 5
"""Results of ethosgen_model_step, as the C defines them; 3 is a bad read."""


_KEPT: list[Any] = []


def _load_c(path: Path, around: Surroundings) -> LoadedModel:
    library = ctypes.CDLL(str(path))
    for function in ("take_interrupts", "fault_address", "fault_bytes"):
        getattr(library, f"ethosgen_model_{function}").restype = ctypes.c_uint32
    library.ethosgen_model_cycles.restype = ctypes.c_uint64
    library.ethosgen_model_why.restype = ctypes.c_char_p
    table = (_CSegment * max(len(around.segments), 1))()
    for entry, part in zip(table, around.segments, strict=False):
        entry.start_addr, entry.bytes = part.start_addr, len(part.memory)
        entry.memory, entry.writable = part.memory.ctypes.data, part.writable
    _KEPT.append(table)  # the library uses it until the process ends
    words = ctypes.c_void_p(around.words.ctypes.data)
    memory = DeviceMemory(around.name, around.segments)
    registers = DeviceRegisters(around.name, around.words)

    def judge(how: int) -> bool:
        for _ in range(library.ethosgen_model_take_interrupts()):
            around.interrupt()
        if how in (_IDLE, _WORKED):
            return how == _WORKED
        if how == _FAILED:
            why = library.ethosgen_model_why().decode(errors="replace")
            raise DeviceFault(around.name, "raised", why)
        address = library.ethosgen_model_fault_address()
        if how == _BAD_REGISTER:
            registers[address]
        memory.check(address, library.ethosgen_model_fault_bytes(), writes=how == _BAD_WRITE)
        raise ValueError(f"the model reported fault {how} at 0x{address:x}, which is none")

    def poll() -> bool:
        return judge(library.ethosgen_model_step())

    def cycles() -> int | None:
        return library.ethosgen_model_cycles() or None

    judge(library.ethosgen_model_start(words, len(around.words), table, len(around.segments)))
    return LoadedModel(poll, cycles)
