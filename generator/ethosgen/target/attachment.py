"""Where the NPU model meets a target: a page of registers, shared memory, an interrupt line."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ethosgen.values.errors import EthosgenError

_EAGER_S = 0.05
"""For so long after something happened the registers are looked at as often as possible."""
_EAGER_SLEEP_S = 20e-6
_LAZY_SLEEP_S = 500e-6


@dataclass(frozen=True)
class SharedMemory:
    """A part of the target's memory as the NPU sees it: its address, and the bytes themselves."""

    name: str
    start_addr: int
    memory: np.ndarray[Any, np.dtype[np.uint8]]
    writable: bool


class NpuModel(Protocol):
    """The NPU model as a target uses it: registers are in the page that it was made with."""

    def poll(self) -> bool:
        """Poll the registers and execute what they request; return whether there was anything."""

    @property
    def last_fault(self) -> EthosgenError | None:
        """What ended the last command stream, None if it came to its end."""


Attach = Callable[
    [np.ndarray[Any, np.dtype[np.uint32]], Sequence[SharedMemory], Callable[[], None]], NpuModel
]
"""Makes a model: called with the register page, the memory, and what raises the interrupt."""


class NpuThread:
    """Serves an NPU model's registers in a thread until it is stopped."""

    def __init__(self, model: NpuModel) -> None:
        self._model = model
        self._stop = threading.Event()
        self._crash: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="npu", daemon=True)

    @property
    def last_fault(self) -> EthosgenError | None:
        """What ended the last command stream, None if it came to its end."""
        return self._model.last_fault

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def check(self) -> None:
        """Raise what the model raised: a fault of the NPU it reports, all else is a bug."""
        if self._crash is not None:
            raise self._crash

    def stop(self, timeout_s: float = 2.0) -> None:
        """Stop serving; a model in the middle of a long operation is left behind."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _serve(self) -> None:
        last_event = time.monotonic()
        try:
            while not self._stop.is_set():
                if self._model.poll():
                    last_event = time.monotonic()
                    continue
                is_eager = time.monotonic() - last_event < _EAGER_S
                time.sleep(_EAGER_SLEEP_S if is_eager else _LAZY_SLEEP_S)
        except BaseException as error:  # carried to the thread that waits for an answer
            self._crash = error
