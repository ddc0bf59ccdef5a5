"""Attaches the NPU model to a target's registers."""

from typing import BinaryIO

from ethosgen.backend import Attach, backend_of, backends, require_simulator
from ethosgen.values.accelerator import Accelerator


def attach_model(accelerator: Accelerator) -> Attach:
    """Return a function that attaches the NPU model to a target's register page.

    UnsupportedError if there is none of this NPU.
    """
    require_simulator(accelerator)
    return backend_of(accelerator).attach(accelerator)


def serve_npu(requests: BinaryIO, answers: BinaryIO) -> None:
    """Run the NPU model for a Zephyr application on native_sim, until the application ends."""
    backends()[0].serve(requests, answers)  # the only one that Zephyr has a driver for
