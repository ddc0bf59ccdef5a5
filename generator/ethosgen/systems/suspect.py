"""Finds the element of a pipeline whose outputs are wrong for the inputs that it received."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ethosgen.stages.cuts import Stage
from ethosgen.stages.frames import offsets
from ethosgen.stages.report import Suspect
from ethosgen.values.network import Graph
from ethosgen.values.outcome import Arrays, Difference, compare
from ethosgen.values.wiring import Wiring
from ethosgen.verdict.judgement import golden_answer

NOT_AGAIN = (
    "in a second run each element answered correctly for what it received: the fault does not "
    "repeat"
)

Frames = Mapping[int, Sequence[Arrays]]
"""By hand-over, the tensors of each sample's frame, by name."""


def find_suspect(
    graph: Graph,
    stages: Sequence[Stage],
    names: Sequence[str],
    wiring: Wiring,
    lines: Sequence[Sequence[bytes]],
    oracle: str | None,
) -> Suspect:
    """Ask the oracle about each stage in turn, with the frames that its elements received.

    `lines` are the tensors of the frames on each line.
    """
    count = min(_recorded(wiring, edge, lines) for edge in range(len(wiring.edges)))
    frames = {edge: _frames(graph, wiring, edge, lines, count) for edge in range(len(wiring.edges))}
    samples = [n for n in range(count) if all(each[n] for each in frames.values())]
    for k, stage in enumerate(stages):
        received = [
            {
                name: array
                for edge in wiring.edges_before(k)
                for name, array in frames[edge][n].items()
            }
            for n in samples
        ]
        sent = [[frames[edge][n] for n in samples] for edge in wiring.edges_behind(k)]
        difference = _changed(graph, stage, received, sent) or _wrong(
            graph, stage, received, sent, oracle
        )
        if difference is not None:
            return Suspect(names[wiring.element(k, samples[difference.sample])], difference)
    return Suspect(None, note=NOT_AGAIN)


def decode(graph: Graph, tensors: Sequence[int], data: bytes) -> Arrays:
    """Return the tensors of a frame by name."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for i, at in offsets(graph, tensors).items():
        tensor = graph.tensors[i]
        array = np.frombuffer(data[at : at + tensor.bytes], tensor.dtype)
        arrays[tensor.name] = array.reshape(tensor.shape).copy()
    return arrays


def _recorded(wiring: Wiring, edge: int, lines: Sequence[Sequence[bytes]]) -> int:
    """Return the number of samples of which a hand-over's frames were recorded."""
    sample = 0
    while sample // wiring.period(edge) < len(lines[wiring.line_of(edge, sample)]):
        sample += 1
    return sample


def _frames(
    graph: Graph, wiring: Wiring, edge: int, lines: Sequence[Sequence[bytes]], count: int
) -> list[Arrays]:
    """Return the tensors of a hand-over for each sample, none of a frame without."""
    tensors = wiring.edges[edge].tensors
    data = (
        lines[wiring.line_of(edge, sample)][sample // wiring.period(edge)]
        for sample in range(count)
    )
    return [decode(graph, tensors, frame) if frame else {} for frame in data]


def _wrong(
    graph: Graph,
    stage: Stage,
    received: Sequence[Arrays],
    sent: Sequence[Sequence[Arrays]],
    oracle: str | None,
) -> Difference | None:
    """Return the first output of a stage that differs from the oracle's, in any frame with it."""
    inputs, outputs = _names(graph, stage.reads), _names(graph, stage.makes)
    samples: list[Arrays] = [{name: frame[name] for name in inputs} for frame in received]
    golden = golden_answer(stage.network, samples, oracle)
    whole: list[dict[str, np.ndarray[Any, Any]]] = [{} for _ in received]
    for frames in sent:
        for sample, frame in zip(whole, frames, strict=True):
            sample.update((name, frame[name]) for name in outputs if name in frame)
    for frames in sent:
        computed: list[Arrays] = [
            {name: frame.get(name, sample[name]) for name in outputs}
            for sample, frame in zip(whole, frames, strict=True)
        ]
        if (first := golden.compared(computed).first) is not None:
            return first
    return None


def _changed(
    graph: Graph, stage: Stage, received: Sequence[Arrays], sent: Sequence[Sequence[Arrays]]
) -> Difference | None:
    """Return the first difference in tensors that a stage only passes on."""
    computed = set(_names(graph, stage.makes))
    for frames in sent:
        before: list[Arrays] = []
        behind: list[Arrays] = []
        for frame, own in zip(frames, received, strict=True):
            behind.append({name: array for name, array in frame.items() if name not in computed})
            before.append({name: own[name] for name in behind[-1]})
        if (first := compare("handed on", behind, before).first) is not None:
            return first
    return None


def _names(graph: Graph, tensors: Sequence[int]) -> list[str]:
    return [graph.tensors[i].name for i in tensors]
