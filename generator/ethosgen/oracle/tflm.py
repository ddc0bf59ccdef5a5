"""TensorFlow Lite Micro's reference kernels."""

import platform
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.host.child import ChildError
from ethosgen.oracle.interpreters import (
    Array,
    LateError,
    file_of,
    named_outputs,
    ordered_inputs,
    run_in_children,
)
from ethosgen.oracle.oddities import operator_by_chance
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays

NAME = "tflm"
PACKAGE = "tflite-micro"
_MODULE = "tflite_micro"


def has_wheel() -> bool:
    """Return whether there is a package for this system; pyproject.toml requires it only there."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64"


def _require() -> None:
    """Raise UnsupportedError where there is no package, so that LiteRT answers alone."""
    if find_spec(_MODULE) is None and not has_wheel():
        raise UnsupportedError("TensorFlow Lite Micro has no package for this system")


def golden_outputs(
    network: Network, samples: Sequence[Arrays], within_s: float | None = None, steps: int = 0
) -> list[Arrays]:
    """Run samples through TFLite Micro's reference kernels; return the outputs by tensor name.

    A sample has no outputs if a CIRCULAR_BUFFER waits for more inputs. A new interpreter, whose
    state is initial, runs each `steps` samples; with 0, one runs all.

    Raises InputError for inputs that do not fit the network or a network that crashes the
    interpreter, and UnsupportedError for one that TFLite Micro cannot run, on which it aborts, or
    that it answers by chance.
    """
    _require()
    if by_chance := operator_by_chance(network):
        raise UnsupportedError(
            f"TFLite Micro computes {by_chance}; its answer for '{network.name}' varies"
        )
    inputs = ordered_inputs(network, samples)
    data = network.source.data if network.compression and network.source else file_of(network)
    arguments = (data, inputs, len(network.outputs), arena_bytes(network), steps)
    script = Path(__file__)
    try:
        runs = run_in_children(network, script, "run_tflite_micro", *arguments, within_s=within_s)
    except ChildError as error:
        raise _refusal(network, error, within_s) from None
    return named_outputs(network, runs)


def _refusal(network: Network, error: ChildError, within_s: float | None) -> InputError:
    if error.how == "late" and within_s is not None:
        return LateError(f"it took longer than {within_s:g} s")
    if error.how == "raised":
        return UnsupportedError(
            f"TFLite Micro cannot run '{network.name}': {_last_words(error)}; nothing can be "
            "checked without its golden outputs"
        )
    if "SIGABRT" in str(error):
        return UnsupportedError(
            f"TFLite Micro aborted on '{network.name}' ({error}): a check of one of its kernels "
            "failed, on these inputs or on an option; nothing can be checked without its golden "
            "outputs"
        )
    what = "did not finish" if error.how == "late" else "crashed on"
    return InputError(
        f"TFLite Micro {what} '{network.name}' ({error}); the file is probably damaged"
    )


def arena_bytes(network: Network) -> int:
    """Estimate an arena for all activations at once and TFLite Micro's own records."""
    activations = [t for graph in network.graphs for t in graph.tensors if t.data is None]
    records = sum(len(graph.tensors) + len(graph.operators) for graph in network.graphs)
    return (1 << 20) + 2 * sum(tensor.bytes for tensor in activations) + 4096 * records


def _last_words(error: ChildError) -> str:
    """Return TFLite Micro's message about its failure, without the noise."""
    lines = [line.strip() for line in error.log.splitlines() if line.strip()]
    return lines[0] if lines else str(error)


# ---- code that runs in the child -----------------------------------------------------------------


_ABORT = 15
"""kTfLiteAbort, with which a CIRCULAR_BUFFER ends an inference (micro_context.h)."""


def run_tflite_micro(
    data: bytes,
    samples: list[list[Array]],
    output_count: int,
    arena_bytes: int,
    steps: int = 0,
) -> list[list[Array]]:
    """Return the outputs of each sample in the signature's order."""
    interpreter, outputs = None, []
    for number, sample in enumerate(samples):
        if interpreter is None or (steps and number % steps == 0):
            interpreter = _interpreter(data, arena_bytes)
        for index, array in enumerate(sample):
            interpreter.set_input(array, index)
        count = 0 if interpreter.invoke() == _ABORT else output_count
        outputs.append([np.array(interpreter.get_output(i)) for i in range(count)])
    return outputs


def _interpreter(data: bytes, arena_bytes: int) -> Any:
    from tflite_micro.python.tflite_micro import runtime

    try:
        return runtime.Interpreter.from_bytes(data, arena_size=arena_bytes)
    except RuntimeError:  # a kernel's scratch buffers may exceed the estimate
        return runtime.Interpreter.from_bytes(data, arena_size=16 * arena_bytes)
