"""Connects the NPU model to a target: a page of registers, shared memory, an interrupt line."""

import threading
import time

from ethosgen.backend.protocol import NpuModel
from ethosgen.values.errors import EthosgenError

_EAGER_S = 0.05
"""For this long after an event, the registers are polled as often as possible."""
_EAGER_SLEEP_S = 20e-6
_LAZY_SLEEP_S = 500e-6


class NpuThread:
    """Serves an NPU model's registers in a thread until it is stopped."""

    def __init__(self, model: NpuModel) -> None:
        self._model = model
        self._stop = threading.Event()
        self._crash: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="npu", daemon=True)

    @property
    def last_fault(self) -> EthosgenError | None:
        """The fault that ended the last command stream, None if it ended normally."""
        return self._model.last_fault

    def start(self) -> None:
        """Start to serve."""
        self._thread.start()

    def check(self) -> None:
        """Raise the model's exception, which is a bug: it reports faults of the NPU itself."""
        if self._crash is not None:
            raise self._crash

    def stop(self, timeout_s: float = 2.0) -> None:
        """Stop serving; abandon a model that is in the middle of a long operation."""
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
        except BaseException as error:  # passed to the thread that waits for an answer
            self._crash = error
