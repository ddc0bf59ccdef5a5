"""The common part of the interpreters of .tflite files: child processes, inputs, outputs.

They run in child processes, because they crash on damaged networks. Samples are run in order by one
interpreter, so a network with state sees them as a sequence.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ethosgen.host.child import call, end_children
from ethosgen.samples.fitting import fitting
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays

Array = np.ndarray[Any, Any]
Result = TypeVar("Result")

_START_S = 120.0
_SAMPLE_S = 30.0
"""Seconds allowed for a sample; TFLite Micro needs 0.3 s for MobileNetV2 at 224 x 224."""
_SLOWEST_HZ = 10_000_000
"""An interpreter does at least this many multiplications a second, even on a busy machine."""
_SPLIT_WORK = 1_000_000_000
"""With this many multiplications or more, samples are shared among this machine's processors."""


class LateError(UnsupportedError):
    """An oracle that did not finish within its time limit."""


def file_of(network: Network) -> bytes:
    """Return a network's .tflite file; the child processes do not need to import the writer."""
    from ethosgen.frontend.tflite import writer

    return writer.file_of(network)


def awaited(
    asked: Sequence[Future[Result]], meanwhile: Callable[[], object] = tuple
) -> list[Result]:
    """Return the threads' results, after calling `meanwhile`.

    If this process is about to end, end their children, too.
    """
    try:
        meanwhile()
        return [future.result() for future in asked]
    except Exception:
        raise
    except BaseException:  # an interrupt or a signal: the threads would wait for minutes
        end_children()
        raise


def ask_child(script: Path, function: str, *arguments: Any, limit_s: float) -> Any:
    """Run a function of a file in a child process; raises ChildError."""
    return call(script, function, *arguments, limit_s=limit_s).value


def run_in_children(
    network: Network,
    script: Path,
    function: str,
    data: bytes,
    inputs: list[list[Array]],
    *more: int,
    within_s: float | None = None,
) -> list[list[Array]]:
    """Run samples in one child, or in several at once if that is worth it."""
    work = network.multiplications
    shares = [inputs]
    if work * len(inputs) >= _SPLIT_WORK and not network.has_state:
        count = min(os.cpu_count() or 1, len(inputs))
        shares = [inputs[i::count] for i in range(count)]

    def run(share: list[list[Array]]) -> list[list[Array]]:
        limit_s = within_s or _START_S + max(_SAMPLE_S, work / _SLOWEST_HZ) * len(share)
        value = ask_child(script, function, data, share, *more, limit_s=limit_s)
        return list(value)

    with ThreadPoolExecutor(len(shares)) as pool:
        parts = awaited([pool.submit(run, share) for share in shares])
    return [parts[i % len(parts)][i // len(parts)] for i in range(len(inputs))]


def ordered_inputs(network: Network, samples: Sequence[Arrays]) -> list[list[Array]]:
    """Return each sample's arrays in the signature's order, after checking that they fit."""
    return [[fitting(sample, tensor) for tensor in network.inputs] for sample in samples]


def named_outputs(network: Network, runs: list[list[Array]]) -> list[Arrays]:
    """Name and reshape an interpreter's outputs; TFLite Micro turns scalars into vectors.

    An inference that a CIRCULAR_BUFFER ended has no outputs. UnsupportedError for an output whose
    size differs from the file's: LiteRT computes shapes again.
    """
    return [
        {
            tensor.name: _shaped(array, tensor)
            for tensor, array in zip(network.outputs if run else (), run, strict=True)
        }
        for run in runs
    ]


def _shaped(array: Array, tensor: Tensor) -> Array:
    if array.size != tensor.elements:
        raise UnsupportedError(
            f"output '{tensor.name}' has {counted(array.size, 'element')}, but the file declares "
            f"{tensor.elements}"
        )
    return array.reshape(tensor.shape)
