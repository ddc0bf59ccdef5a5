"""Finds the element of a pipeline whose outputs are wrong for the inputs that it received."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.stages.cuts import Stage
from ethosgen.stages.frames import offsets
from ethosgen.stages.report import Suspect
from ethosgen.values.network import Graph
from ethosgen.values.outcome import Arrays, Difference, compare
from ethosgen.verdict.judgement import golden_answer

NOT_AGAIN = (
    "in a second run each element answered correctly for what it received: the fault does not "
    "repeat"
)


def find_suspect(
    graph: Graph,
    stages: Sequence[Stage],
    names: Sequence[str],
    frames: Sequence[Sequence[bytes]],
    oracle: str | None,
) -> Suspect:
    """Ask the oracle about each element in turn, with the frames that it received.

    `frames` are the tensors on each line, from the first element's to the host's.
    """
    for k, (stage, name) in enumerate(zip(stages, names, strict=True)):
        pairs = [(a, b) for a, b in zip(frames[k], frames[k + 1], strict=False) if a and b]
        received = [decode(graph, stage.receives, frame) for frame, _ in pairs]
        sent = [decode(graph, stage.sends, frame) for _, frame in pairs]
        difference = _changed(graph, stage, received, sent) or _wrong(
            graph, stage, received, sent, oracle
        )
        if difference is not None:
            return Suspect(name, difference)
    return Suspect(None, note=NOT_AGAIN)


def decode(graph: Graph, tensors: Sequence[int], data: bytes) -> Arrays:
    """Return the tensors of a frame by name."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for i, at in offsets(graph, tensors).items():
        tensor = graph.tensors[i]
        array = np.frombuffer(data[at : at + tensor.bytes], tensor.dtype)
        arrays[tensor.name] = array.reshape(tensor.shape).copy()
    return arrays


def _wrong(
    graph: Graph,
    stage: Stage,
    received: Sequence[Arrays],
    sent: Sequence[Arrays],
    oracle: str | None,
) -> Difference | None:
    """Return the first output of a stage that differs from the oracle's."""
    inputs, outputs = _names(graph, stage.reads), _names(graph, stage.makes)
    samples: list[Arrays] = [{name: frame[name] for name in inputs} for frame in received]
    computed: list[Arrays] = [{name: frame[name] for name in outputs} for frame in sent]
    golden = golden_answer(stage.network, samples, oracle)
    return golden.compared(computed).first


def _changed(
    graph: Graph, stage: Stage, received: Sequence[Arrays], sent: Sequence[Arrays]
) -> Difference | None:
    """Return the first difference in tensors that a stage only passes on."""
    names = _names(graph, [i for i in stage.sends if i not in stage.makes])
    before: list[Arrays] = [{name: frame[name] for name in names} for frame in received]
    behind: list[Arrays] = [{name: frame[name] for name in names} for frame in sent]
    return compare("handed on", behind, before).first


def _names(graph: Graph, tensors: Sequence[int]) -> list[str]:
    return [graph.tensors[i].name for i in tensors]
