"""Parts of runs of operators: each computes a box of the run's results, from boxes of its inputs.

Each part computes the halos inside the run that it needs, so parts of a run exchange nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ethosgen.splitting.boxes import Box, hull, volume, whole
from ethosgen.splitting.grid import Grid
from ethosgen.splitting.reading import PartReading
from ethosgen.splitting.rules import reading_of
from ethosgen.values.network import ABSENT, Graph


@dataclass(frozen=True)
class OperatorRun:
    """Consecutive operators, `start` to `stop` - 1; others, or the user, get `results`."""

    start: int
    stop: int
    results: tuple[int, ...]


@dataclass(frozen=True)
class OperatorShare:
    """The share of an operator in a part: the box of its output, and what it reads for it."""

    operator: int
    box: Box
    reading: PartReading


@dataclass(frozen=True)
class OperatorPart:
    """A part of a run, with its pieces in the order of operators.

    `reads` are the boxes of tensors from outside the run, `wanted` those of all that it reads or
    makes; `makes` are the boxes of results that it gives to others. Parts of a run share none of
    the latter.
    """

    graph: Graph
    pieces: tuple[OperatorShare, ...]
    reads: Mapping[int, Box]
    wanted: Mapping[int, Box]
    makes: Mapping[int, Box]

    @property
    def read_bytes(self) -> int:
        """The bytes that it reads from outside the run."""
        return sum(bytes_of(self.graph, tensor, box) for tensor, box in self.reads.items())

    @property
    def made_bytes(self) -> int:
        """The bytes of results that it gives to others."""
        return sum(bytes_of(self.graph, tensor, box) for tensor, box in self.makes.items())

    @cached_property
    def memory_bytes(self) -> int:
        """The constants, and the most that it has in memory besides what it reads and makes."""
        constants, alive = set[tuple[int, Box]](), dict[int, list[int]]()
        for number, piece in enumerate(self.pieces):
            operator = self.graph.operators[piece.operator]
            for tensor, box in zip(operator.inputs, piece.reading.boxes, strict=True):
                if box is None:
                    continue
                if is_kept(self.graph, tensor):
                    constants.add((tensor, box))
                elif tensor in alive:
                    alive[tensor].append(number)
            for tensor in operator.outputs:
                if self.makes.get(tensor) != self.wanted.get(tensor):
                    alive[tensor] = [number]
        sizes = {t: bytes_of(self.graph, t, self.wanted[t]) for t in alive}
        most = max(
            sum(sizes[t] for t, times in alive.items() if times[0] <= number <= times[-1])
            for number in range(len(self.pieces))
        )
        return most + sum(bytes_of(self.graph, tensor, box) for tensor, box in constants)

    def shares(self) -> Iterator[tuple[int, int, int]]:
        """Yield each operator, the elements of its output that the part computes, and all."""
        for piece in self.pieces:
            target = self.graph.operators[piece.operator].outputs[0]
            yield piece.operator, volume(piece.box), self.graph.tensors[target].elements


def is_kept(graph: Graph, tensor: int) -> bool:
    """Return whether a tensor stays on its element: a constant or a state."""
    return graph.tensors[tensor].data is not None or graph.tensors[tensor].is_variable


def bytes_of(graph: Graph, tensor: int, box: Box) -> int:
    """Return the bytes of a box of a tensor."""
    return volume(box) * np.dtype(graph.tensors[tensor].dtype).itemsize


def runs_of(graph: Graph, boundaries: Sequence[int]) -> list[OperatorRun]:
    """Return the runs between boundaries, which include both ends."""
    runs = []
    for start, stop in pairwise(boundaries):
        runs.append(OperatorRun(start, stop, results_of(graph, start, stop)))
    return runs


def results_of(graph: Graph, start: int, stop: int) -> tuple[int, ...]:
    """Return the tensors that operators from `start` on make for later ones or for the user."""
    later = {i for op in graph.operators[stop:] for i in op.inputs} | set(graph.outputs)
    outputs = (i for op in graph.operators[start:stop] for i in op.outputs)
    return tuple(i for i in dict.fromkeys(outputs) if i in later)


def parts_of(graph: Graph, run: OperatorRun, cut: Grid) -> list[OperatorPart] | None:
    """Return the parts of a run, None if it cannot be cut so."""
    boxes = [cut.boxes(graph.tensors[result].shape) for result in run.results]
    parts = []
    for owned in zip(*boxes, strict=True):
        makes = {t: box for t, box in zip(run.results, owned, strict=True) if box is not None}
        part = part_of(graph, run, makes)
        if part is None:
            return None
        parts.append(part)
    return parts


def part_of(graph: Graph, run: OperatorRun, makes: Mapping[int, Box]) -> OperatorPart | None:
    """Return the part of a run that makes these boxes, None if there is none.

    The operators are followed backwards: each computes what those after it need.
    """
    if not makes:
        return None
    wanted, pieces = dict(makes), list[OperatorShare]()
    for operator in reversed(graph.operators[run.start : run.stop]):
        if not any(tensor in wanted for tensor in operator.outputs):
            continue
        box = _box(graph, operator.outputs, wanted)
        reading = None if box is None else reading_of(graph, operator, box)
        if box is None or reading is None:
            return None
        pieces.append(OperatorShare(operator.index, box, reading))
        for tensor, region in zip(operator.inputs, reading.boxes, strict=True):
            if region is None or tensor == ABSENT or is_kept(graph, tensor):
                continue
            wanted[tensor] = hull(wanted[tensor], region) if tensor in wanted else region
    computed = {i for piece in pieces for i in graph.operators[piece.operator].outputs}
    reads = {tensor: box for tensor, box in wanted.items() if tensor not in computed}
    return OperatorPart(graph, tuple(pieces[::-1]), reads, wanted, makes)


def _box(graph: Graph, outputs: Sequence[int], wanted: dict[int, Box]) -> Box | None:
    """Return the box of an operator's output; all outputs of one that has several."""
    if len(outputs) == 1:
        return wanted[outputs[0]]
    for tensor in outputs:
        wanted[tensor] = whole(graph.tensors[tensor].shape)
    return wanted[outputs[0]]
