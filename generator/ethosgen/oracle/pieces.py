"""Golden outputs operator by operator, for networks that no single oracle runs completely."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.host.child import ChildError
from ethosgen.oracle import litert, tflm, tosa
from ethosgen.oracle.excerpt import single_operator
from ethosgen.oracle.interpreters import Array, ask_child, file_of
from ethosgen.oracle.oddities import (
    chance_of,
    may_be_undefined,
    undefined_elements,
    when_undefined,
    with_room,
)
from ethosgen.samples.fitting import fitting
from ethosgen.values.errors import InternalError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, LeftOut

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Shape = tuple[int, ...]
File = tuple[str, bytes, int, list[Shape]]
Part = tuple[str, list[File], list[int], list[tuple[int, Shape, str]]]
"""An operator; its files, each with an oracle and TFLite Micro's arena size; the indices of its
inputs; the index, shape and type of each output."""

_WITHIN_S = 300.0


@dataclass(frozen=True)
class Pieces:
    """The value of every tensor of a network by index, for each sample; each operator's oracle."""

    network: Network
    values: Sequence[dict[int, np.ndarray[Any, Any]]]
    oracles: Sequence[str]

    @property
    def outputs(self) -> list[Arrays]:
        """The network's outputs by name."""
        return [{t.name: value[t.index] for t in self.network.outputs} for value in self.values]

    @property
    def note(self) -> str:
        """A note that lists the operators that LiteRT ran."""
        pairs = zip(self.network.graph.operators, self.oracles, strict=True)
        lacking = dict.fromkeys(op.code for op, oracle in pairs if oracle == litert.NAME)
        if not lacking:
            return "operator by operator: TFLite Micro for all"
        return f"operator by operator: LiteRT for {', '.join(lacking)}, TFLite Micro for the rest"


def undefined_outputs(
    network: Network, samples: Sequence[Arrays], oracle: str | None = None
) -> LeftOut | None:
    """Return the elements of the outputs that are undefined in C++, None if there are none.

    The oracle's value for them depends on its compiler. Results computed from them are undefined
    too, with state also in later samples. A network that cannot be taken apart has none.
    """
    if network.is_tosa:
        return tosa.unpredictable_outputs(network, samples)
    if not any(may_be_undefined(op, network.graph.tensors) for op in network.graph.operators):
        return None
    try:
        pieces = take_apart(network, samples)
    except UnsupportedError:
        return None
    is_one = oracle in (tflm.NAME, litert.NAME)
    oracles = [oracle] * len(pieces.oracles) if oracle and is_one else pieces.oracles
    lasting: dict[int, Mask] = {}
    masks, why = [], ""
    for value in pieces.values:
        reached = dict(lasting)
        cause = _spread(network, value, oracles, reached, lasting)
        why = why or cause
        masks.append({t.name: reached[t.index] for t in network.outputs if t.index in reached})
    if not any(masks):
        return None
    return LeftOut(masks, f"C++ leaves the result of {why}")


def _spread(
    network: Network,
    value: Mapping[int, np.ndarray[Any, Any]],
    oracles: Sequence[str],
    reached: dict[int, Mask],
    lasting: dict[int, Mask],
) -> str:
    """Add a sample's undefined elements to `reached`; return their cause.

    An operator that reads one has an undefined result, and so have its variables. If it has state,
    they are undefined in later samples, too: `lasting`.
    """
    tensors, why = network.graph.tensors, ""
    for op, oracle in zip(network.graph.operators, oracles, strict=True):
        if not reached.keys().isdisjoint(op.inputs):
            written = (*op.outputs, *(i for i in op.inputs if i >= 0 and tensors[i].is_variable))
            reached |= {i: np.ones(tensors[i].shape, bool) for i in written}
            if op.code == "CUSTOM" or len(written) > len(op.outputs):
                lasting |= {i: reached[i] for i in written}
        elif may_be_undefined(op, tensors):
            mask = undefined_elements(op, tensors, oracle, value)
            if mask.any():
                name = f"{op.custom_code or op.code} with output '{tensors[op.outputs[0]].name}'"
                why = why or f"{name} undefined {when_undefined(op)}"
                reached[op.outputs[0]] = mask.reshape(tensors[op.outputs[0]].shape)
    return why


def take_apart(network: Network, samples: Sequence[Arrays], within_s: float = _WITHIN_S) -> Pieces:
    """Run a network operator by operator.

    UnsupportedError for an operator that no oracle has, and for networks that cannot be taken
    apart: those with subgraphs, resources or compressed constants.
    """
    operators = network.graph.operators
    if len(network.graphs) > 1 or network.compression:
        raise UnsupportedError(f"'{network.name}' cannot be taken apart")
    arrays = [{tensor.index: fitting(s, tensor) for tensor in network.inputs} for s in samples]
    pieces = [single_operator(network, op.index, with_states=True) for op in operators]
    whole = [piece for piece in pieces if piece is not None]
    if len(whole) < len(operators):
        raise UnsupportedError(f"'{network.name}' cannot be taken apart: it keeps resources")
    return Pieces(network, *_run_pieces(network, whole, arrays, within_s))


def run(
    network: Network, samples: Sequence[Arrays], within_s: float | None = None, steps: int = 0
) -> list[Arrays]:
    """Run samples operator by operator; return the network's outputs by tensor name."""
    size = steps or len(samples) or 1
    parts = (samples[start : start + size] for start in range(0, len(samples), size))
    runs = (take_apart(network, part, within_s or _WITHIN_S).outputs for part in parts)
    return [outputs for part in runs for outputs in part]


def _run_pieces(
    network: Network, pieces: Sequence[Network], samples: list[dict[int, Array]], within_s: float
) -> tuple[list[dict[int, Array]], list[str]]:
    """Run a network operator by operator, each by TFLite Micro if it has it, else by LiteRT.

    `pieces` are its operators as networks whose tensors have the same names. Return the value of
    every tensor by index, for each sample, and the short name of each operator's oracle.
    UnsupportedError for an operator that neither has, InternalError for a bug of ours.
    """
    indices = {tensor.name: tensor.index for tensor in network.graph.tensors}
    parts = [_part(piece, indices) for piece in pieces]
    try:
        answer = ask_child(Path(__file__), "run_pieces", parts, samples, limit_s=within_s)
    except ChildError as error:
        why = f"'{network.name}' cannot be run piece by piece: {error}"
        if error.how == "raised":  # the answer has the interpreter's exception
            raise InternalError(why) from error
        raise UnsupportedError(why) from None
    values, oracles, lacking = answer
    if lacking:
        raise UnsupportedError(f"'{network.name}' cannot be run piece by piece: {lacking}")
    return values, oracles


def _part(piece: Network, indices: Mapping[str, int]) -> Part:
    (operator,) = piece.graph.operators
    files: list[File] = [(litert.NAME, litert.for_litert(piece), 0, _shapes(piece))]
    flat = with_room(piece) if chance_of(operator, piece.graph.tensors) else piece
    if flat is not None:
        files.insert(0, (tflm.NAME, file_of(flat), tflm.arena_bytes(flat), _shapes(flat)))
    outputs = [(indices[tensor.name], tensor.shape, tensor.dtype) for tensor in piece.outputs]
    return operator.code, files, [indices[tensor.name] for tensor in piece.inputs], outputs


def _shapes(piece: Network) -> list[Shape]:
    return [tensor.shape for tensor in piece.inputs]


# ---- code that runs in the child -----------------------------------------------------------------


def run_pieces(
    parts: list[Part], samples: list[dict[int, Array]]
) -> tuple[list[dict[int, Array]], list[str], str]:
    """Return the value of every tensor for each sample, and which oracle ran each operator.

    The last text names an operator that no oracle runs; it is empty if there is none.
    """
    values, oracles = [dict(sample) for sample in samples], []
    for code, files, read, declared in parts:
        inputs = [[value[i] for i in read] for value in values]
        why = []
        for oracle, data, arena_bytes, shapes in files:
            shaped = [[a.reshape(s) for a, s in zip(each, shapes, strict=True)] for each in inputs]
            try:
                if oracle == tflm.NAME:
                    outputs = tflm.run_tflite_micro(data, shaped, len(declared), arena_bytes)
                else:
                    outputs = litert.run_litert(data, shaped)
                made_values = [_as_declared(declared, answer) for answer in outputs]
            except Exception as error:  # any exception of an interpreter means that it cannot
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
    declared: list[tuple[int, tuple[int, ...], str]], answer: list[Array]
) -> dict[int, Array]:
    """Return an interpreter's outputs by tensor; ValueError if they have other sizes."""
    return {
        index: array.reshape(shape).astype(dtype, copy=False)
        for (index, shape, dtype), array in zip(declared, answer, strict=True)
    }
