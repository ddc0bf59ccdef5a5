"""Attaches the NPU model to a target's registers."""

from typing import BinaryIO

from ethosgen.backend import backends, default_accelerator, require_simulator, simulation_of
from ethosgen.backend.protocol import Attach
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown


def attach_model(accelerator: Accelerator) -> Attach:
    """Return a function that attaches the NPU model to a target's register page.

    UnsupportedError if it lacks this NPU, or its registers.
    """
    require_simulator(accelerator)
    return simulation_of(accelerator).attach(accelerator)


def serve_npu(name: str | None, requests: BinaryIO, answers: BinaryIO) -> None:
    """Run a backend's simulator for a Zephyr application on native_sim, until the application ends.

    Older applications do not name the backend; InputError for an unknown one.
    """
    known = {backend.name: backend for backend in backends()}
    chosen = default_accelerator().family if name is None else name
    if chosen not in known:
        raise InputError(unknown("backend", chosen, known))
    known[chosen].serve(requests, answers)
