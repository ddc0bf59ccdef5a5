"""Golden outputs of TensorFlow Lite Micro, and LiteRT's as a second opinion.

Both interpreters run in a child process, because they crash on damaged networks.
Samples are run in order by one interpreter, so a network with state sees them as a sequence.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ethosgen.host.child import ChildError, call, end_children
from ethosgen.oracle.oddities import answers_by_chance
from ethosgen.values.errors import InputError, InternalError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.workload import has_state, multiplications

Array = np.ndarray[Any, Any]
Result = TypeVar("Result")
Part = tuple[str, list[tuple[str, bytes, int]], list[int], list[tuple[int, tuple[int, ...], str]]]
"""An operator; its files, each with an oracle and TFLite Micro's arena size; the indices of its
inputs; the index, shape and type of each output."""

_log = logging.getLogger(__name__)

_START_S = 120.0
_SAMPLE_S = 30.0
"""Seconds allowed for a sample; TFLite Micro needs 0.3 s for MobileNetV2 at 224 x 224."""
_SLOWEST_HZ = 10_000_000
"""An interpreter does at least this many multiplications a second, even on a busy machine."""
_SPLIT_WORK = 1_000_000_000
"""With this many multiplications or more, samples are shared among this machine's processors."""


def golden_outputs(network: Network, samples: Sequence[Arrays]) -> list[Arrays]:
    """Run samples through TFLite Micro's reference kernels; outputs by tensor name.

    A sample has no outputs if a CIRCULAR_BUFFER waits for more inputs.

    Raises InputError for inputs that do not fit the model or a network that crashes the
    interpreter, and UnsupportedError for one that TFLite Micro cannot run or on which it aborts.
    """
    inputs = _ordered_inputs(network, samples)
    from ethosgen.frontend.tflite.writer import file_of  # the child processes do not need it

    data = network.source.data if network.compression and network.source else file_of(network)
    arguments = (len(network.outputs), _arena_bytes(network))
    try:
        outputs = _call_shared(network, "run_tflite_micro", data, inputs, *arguments)
    except ChildError as error:
        if error.how == "raised":
            raise UnsupportedError(
                f"TFLite Micro cannot run '{network.name}': {_last_words(error)}; nothing can be "
                "checked without its golden outputs"
            ) from None
        if "SIGABRT" in str(error):
            raise UnsupportedError(
                f"TFLite Micro aborted on '{network.name}' ({error}): a check of one of its "
                "kernels failed, on these inputs or on an option; nothing can be checked without "
                "its golden outputs"
            ) from None
        what = "did not finish" if error.how == "late" else "crashed on"
        raise InputError(
            f"TFLite Micro {what} '{network.name}' ({error}); the file is probably damaged"
        ) from None
    return _named_outputs(network, outputs)


class LateError(UnsupportedError):
    """An oracle that did not finish within its time limit."""


def litert_outputs(
    network: Network, samples: Sequence[Arrays], within_s: float | None = None
) -> list[Arrays]:
    """Run samples through LiteRT's reference kernels (BUILTIN_REF); outputs by tensor name.

    Raises InputError for inputs that do not fit the model, UnsupportedError if LiteRT cannot run
    it, LateError if it takes longer than `within_s`.
    """
    inputs = _ordered_inputs(network, samples)
    data = for_litert(network)
    try:
        outputs = _call_shared(network, "run_litert", data, inputs, within_s=within_s)
    except ChildError as error:
        if within_s is not None and error.how == "late":
            raise LateError(f"it took longer than {within_s:g} s") from None
        words = " ".join(str(error).split())
        raise UnsupportedError(f"LiteRT cannot run '{network.name}': {words}") from None
    return _named_outputs(network, outputs)


def for_litert(network: Network) -> bytes:
    """Return the file as LiteRT's reference kernels accept it.

    They support TILE up to version 2. Version 3 only adds int8, which they copy like any other
    type.
    """
    from ethosgen.frontend.tflite.writer import file_of  # the child processes do not need it

    if any(_is_new_tile(op) for graph in network.graphs for op in graph.operators):
        network = network.edited(*map(_with_old_tiles, network.graphs))
    return file_of(network)


def _with_old_tiles(graph: Graph) -> Graph:
    operators = (replace(o, version=2) if _is_new_tile(o) else o for o in graph.operators)
    return replace(graph, operators=tuple(operators))


def _is_new_tile(operator: Operator) -> bool:
    return operator.code == "TILE" and operator.version == 3


@dataclass(frozen=True)
class Oracle:
    """Computes golden outputs: `run` raises UnsupportedError for a network that it cannot run.

    `name` is for the command line and JSON, `title` for people, `package` is the distribution that
    has its version.
    """

    name: str
    title: str
    package: str
    run: Callable[[Network, Sequence[Arrays]], list[Arrays]]

    @property
    def version(self) -> str:
        """Return the installed version."""
        return " and ".join(version(package) for package in self.package.split("+"))

    def opinion(self, network: Network, samples: Sequence[Arrays]) -> list[Arrays] | None:
        """Run samples; None for a network that the oracle cannot run."""
        try:
            return self.run(network, samples)
        except UnsupportedError as error:
            _log.info("%s", error)
            return None


TFLM = Oracle("tflm", "TensorFlow Lite Micro", "tflite-micro", golden_outputs)
LITERT = Oracle("litert", "LiteRT", "ai-edge-litert", litert_outputs)
"""LiteRT's reference kernels: the default ones differ from TensorFlow Lite Micro's nearly
everywhere."""


def outputs_in_pieces(
    network: Network, pieces: Sequence[Network], samples: Sequence[Arrays], within_s: float
) -> tuple[list[dict[int, Array]], list[str]]:
    """Run a network operator by operator, each by TFLite Micro if it has it, else by LiteRT.

    `pieces` are its operators as networks whose tensors have the same names. Return the value of
    every tensor by index, for each sample, and the short name of each operator's oracle.
    UnsupportedError for an operator that neither has, InternalError for a bug of ours.
    """
    indices = {tensor.name: tensor.index for tensor in network.graph.tensors}
    parts = [_part(piece, indices) for piece in pieces]
    given = [{tensor.index: _fitting(s, tensor) for tensor in network.inputs} for s in samples]
    try:
        answer = call(Path(__file__), "run_pieces", parts, given, limit_s=within_s)
    except ChildError as error:
        why = f"'{network.name}' cannot be run piece by piece: {error}"
        if error.how == "raised":  # what an interpreter raises is in the answer
            raise InternalError(why) from error
        raise UnsupportedError(why) from None
    values, oracles, lacking = answer.value
    if lacking:
        raise UnsupportedError(f"'{network.name}' cannot be run piece by piece: {lacking}")
    return values, oracles


def _part(piece: Network, indices: Mapping[str, int]) -> Part:
    from ethosgen.frontend.tflite.writer import file_of  # the child processes do not need it

    (operator,) = piece.graph.operators
    files = [("litert", for_litert(piece), 0)]
    dtype = piece.graph.tensors[operator.inputs[0]].dtype if operator.inputs else ""
    if not answers_by_chance(operator.code, dtype):
        files.insert(0, ("tflm", file_of(piece), _arena_bytes(piece)))
    made = [(indices[tensor.name], tensor.shape, tensor.dtype) for tensor in piece.outputs]
    return operator.code, files, [indices[tensor.name] for tensor in piece.inputs], made


def awaited(
    asked: Sequence[Future[Result]], meanwhile: Callable[[], object] = tuple
) -> list[Result]:
    """Return the threads' results, after calling `meanwhile`.

    If this process is about to end, end their children too.
    """
    try:
        meanwhile()
        return [one.result() for one in asked]
    except Exception:
        raise
    except BaseException:  # an interrupt or a signal: the threads would wait for minutes
        end_children()
        raise


def _call_shared(
    network: Network,
    function: str,
    data: bytes,
    inputs: list[list[Array]],
    *more: int,
    within_s: float | None = None,
) -> list[list[Array]]:
    """Run samples in one child, or in several at once if that is worth it."""
    work = multiplications(network)
    shares = [inputs]
    if work * len(inputs) >= _SPLIT_WORK and not has_state(network):
        count = min(os.cpu_count() or 1, len(inputs))
        shares = [inputs[i::count] for i in range(count)]

    def run(share: list[list[Array]]) -> list[list[Array]]:
        limit_s = within_s or _START_S + max(_SAMPLE_S, work / _SLOWEST_HZ) * len(share)
        value = call(Path(__file__), function, data, share, *more, limit_s=limit_s).value
        return list(value)

    with ThreadPoolExecutor(len(shares)) as pool:
        parts = awaited([pool.submit(run, share) for share in shares])
    return [parts[i % len(parts)][i // len(parts)] for i in range(len(inputs))]


def _ordered_inputs(network: Network, samples: Sequence[Arrays]) -> list[list[Array]]:
    """Return each sample's arrays in the signature's order, after checking that they fit."""
    return [[_fitting(sample, tensor) for tensor in network.inputs] for sample in samples]


def _fitting(sample: Arrays, tensor: Any) -> Array:
    array = sample.get(tensor.name)
    if array is None:
        raise InputError(f"input '{tensor.name}' is missing; found: {', '.join(sample) or 'none'}")
    if array.shape != tensor.shape or array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"input '{tensor.name}' is {array.dtype}{list(array.shape)}, "
            f"but the network expects {tensor.dtype}{list(tensor.shape)}"
        )
    return np.asarray(array, order="C")  # ascontiguousarray makes a scalar one-dimensional


def _named_outputs(network: Network, runs: list[list[Array]]) -> list[Arrays]:
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


def _arena_bytes(network: Network) -> int:
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
    data: bytes, samples: list[list[Array]], output_count: int, arena_bytes: int
) -> list[list[Array]]:
    """Return the outputs of each sample in the signature's order."""
    from tflite_micro.python.tflite_micro import runtime

    try:
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=arena_bytes)
    except RuntimeError:  # a kernel's scratch buffers may exceed the estimate
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=16 * arena_bytes)
    outputs = []
    for sample in samples:
        for index, array in enumerate(sample):
            interpreter.set_input(array, index)
        count = 0 if interpreter.invoke() == _ABORT else output_count
        outputs.append([np.array(interpreter.get_output(i)) for i in range(count)])
    return outputs


def run_litert(data: bytes, samples: list[list[Array]]) -> list[list[Array]]:
    """Return the outputs of each sample in the signature's order."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    input_indices = [detail["index"] for detail in interpreter.get_input_details()]
    output_indices = [detail["index"] for detail in interpreter.get_output_details()]
    outputs = []
    for sample in samples:
        for index, array in zip(input_indices, sample, strict=True):
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        outputs.append([np.array(interpreter.get_tensor(index)) for index in output_indices])
    return outputs


def run_pieces(
    parts: list[Part], samples: list[dict[int, Array]]
) -> tuple[list[dict[int, Array]], list[str], str]:
    """Return the value of every tensor for each sample, and which oracle ran each operator.

    The last text says which operator no oracle runs; it is empty if each has one.
    """
    values, oracles = [dict(sample) for sample in samples], []
    for code, files, given, made in parts:
        inputs = [[value[i] for i in given] for value in values]
        why = []
        for oracle, data, arena_bytes in files:
            try:
                if oracle == "tflm":
                    outputs = run_tflite_micro(data, inputs, len(made), arena_bytes)
                else:
                    outputs = run_litert(data, inputs)
                made_values = [_as_declared(made, answer) for answer in outputs]
            except Exception as error:  # whatever an interpreter raises means that it cannot
                why.append(f"{oracle}: {type(error).__name__}: {str(error)[:200]}")
                continue
            for value, more in zip(values, made_values, strict=True):
                value.update(more)
            oracles.append(oracle)
            break
        else:
            return values, oracles, f"no oracle runs {code}: {'; '.join(why)}"
    return values, oracles, ""


def _as_declared(
    made: list[tuple[int, tuple[int, ...], str]], answer: list[Array]
) -> dict[int, Array]:
    """Return an interpreter's outputs by tensor; ValueError if they have other sizes."""
    return {
        index: array.reshape(shape).astype(dtype, copy=False)
        for (index, shape, dtype), array in zip(made, answer, strict=True)
    }
