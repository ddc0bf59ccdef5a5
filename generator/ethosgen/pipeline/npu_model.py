"""Attaches the NPU model to a target's registers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ethosgen.backend.ethosu.accelerator import require_model
from ethosgen.values.accelerator import Accelerator

if TYPE_CHECKING:
    from ethosgen.target import Attach, SharedMemory


def attach_model(accelerator: Accelerator) -> "Attach":
    """Return a function that attaches the NPU model to a target's register page.

    UnsupportedError if the model does not cover this NPU.
    """
    from ethosgen.backend.ethosu.simulator.machine import Machine
    from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
    from ethosgen.backend.ethosu.simulator.registers import RegisterFile

    npu = require_model(accelerator)

    def attach(
        page: np.ndarray[Any, np.dtype[np.uint32]],
        memories: "Sequence[SharedMemory]",
        raise_irq: Callable[[], None],
    ) -> RegisterFile:
        segments = [Segment(m.start_addr, m.memory, m.writable, m.name) for m in memories]
        registers = RegisterFile(page, Machine(npu, Bus(segments)), raise_irq)
        registers.power_on()
        return registers

    return attach


def serve_npu(requests: BinaryIO, answers: BinaryIO) -> None:
    """Run the NPU model for a Zephyr application on native_sim, until the application ends."""
    from ethosgen.backend.ethosu.simulator.server import serve

    serve(requests, answers)
