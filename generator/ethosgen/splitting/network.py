"""The network of the parts, in TFLite's operators: it computes what the whole network does.

Parts read boxes of other parts' results with SLICE and CONCATENATION, and pad with PAD.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from ethosgen.splitting.boxes import Box, meet, relative, sizes, whole
from ethosgen.splitting.parts import OperatorPart, OperatorShare, is_kept
from ethosgen.splitting.reading import PARTIAL, TOTAL
from ethosgen.values.editing import GraphEdit, compacted
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import (
    ABSENT,
    PLACEMENT,
    Graph,
    Network,
    Operator,
    Quantization,
    Tensor,
)
from ethosgen.values.rescaling import limits

_MOST_JOINED = 10
"""The most inputs of TensorFlow Lite Micro's CONCATENATION."""


@dataclass(frozen=True)
class PartNetwork:
    """A network of parts; `spans` are the first and the last operator of each part."""

    network: Network
    spans: tuple[tuple[int, int], ...]


def network_of(network: Network, parts: Sequence[OperatorPart]) -> PartNetwork:
    """Return the network of these parts, which make all its results, each once, in order.

    A part slices its results for others, so that they get what they read. The last part joins the
    outputs. UnsupportedError for sums over input channels.
    """
    graph = parts[0].graph
    for operator in graph.operators:
        if operator.custom_code in (PARTIAL, TOTAL):
            raise UnsupportedError(
                f"'{network.name}': a layer is cut along its input channels, and no operator of "
                "TFLite's has sums in int32 as its output; give the elements more memory"
            )
    writer = _Writer(graph)
    for part in parts:
        writer.add(part)
    outputs = [writer.region(i, whole(graph.tensors[i].shape)) for i in graph.outputs]
    cut = replace(graph, outputs=tuple(outputs))
    metadata = {name: data for name, data in network.metadata.items() if name != PLACEMENT}
    first = compacted(cut, writer.tensors, [op for ops in writer.operators for op in ops])
    ends = [*accumulate(map(len, writer.operators))]
    spans = [(end - len(ops), end - 1) for end, ops in zip(ends, writer.operators, strict=True)]
    edited = network.edited(first, *network.graphs[1:], metadata=metadata)
    return PartNetwork(edited, tuple(spans))


class _Writer:
    """The tensors so far, and the operators of each part.

    `places` has the boxes of each original tensor, `makers` the part that makes a tensor for
    others.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.edit = GraphEdit(graph)
        self.tensors = self.edit.tensors
        self.operators: list[list[Operator]] = []
        self.places: dict[int, dict[Box, int]] = {
            i: {whole(graph.tensors[i].shape): i} for i in graph.inputs
        }
        self.makers: dict[int, int] = {}
        self.constants: dict[object, int] = {}
        self.slices: dict[tuple[int, Box], int] = {}

    def add(self, part: OperatorPart) -> None:
        """Add the operators of a part."""
        self.operators.append([])
        outside = self.places
        inside = {t: {box: self.region(t, box)} for t, box in part.reads.items()}
        self.places = inside
        for piece in part.pieces:
            self._add_piece(piece)
        results = [(t, box, self.region(t, box)) for t, box in part.makes.items()]
        self.places = outside
        for tensor, box, index in results:
            self.places.setdefault(tensor, {})[box] = index
            self.makers[index] = len(self.operators) - 1

    def region(self, tensor: int, box: Box) -> int:
        """Return the tensor with a box of an original one, sliced and joined from its places."""
        places = self.places[tensor]
        if box in places:
            return places[box]
        pieces = {}
        for place, index in places.items():
            shared = meet(place, box)
            if shared is not None:
                pieces[shared] = self._sliced(tensor, index, place, shared)
        for axis in reversed(range(len(box))):
            rows: dict[Box, list[tuple[Box, int]]] = {}
            for place, index in sorted(pieces.items()):
                rows.setdefault((*place[:axis], *place[axis + 1 :]), []).append((place, index))
            pieces = dict(self._joined(tensor, axis, row) for row in rows.values())
        ((joined, index),) = pieces.items()
        assert joined == box, "the places do not cover it"
        return index

    def _add_piece(self, piece: OperatorShare) -> None:
        operator, reading = self.graph.operators[piece.operator], piece.reading
        inputs = []
        for position, (tensor, box) in enumerate(zip(operator.inputs, reading.boxes, strict=True)):
            if box is None and tensor != ABSENT:
                continue
            index = ABSENT
            if position in reading.values:
                values = np.array(reading.values[position])
                index = self._constant(self.graph.tensors[tensor], values, None)
            elif box is not None:
                index = self._read(tensor, box)
            if position == 0 and reading.pads:
                index = self._padded(operator, index, reading.pads)
            inputs.append(index)
        if len(operator.outputs) > 1:
            boxes = [whole(self.graph.tensors[i].shape) for i in operator.outputs]
        else:
            boxes = [piece.box]
        outputs = []
        for tensor, box in zip(operator.outputs, boxes, strict=True):
            outputs.append(self._new(tensor, box))
            self.places.setdefault(tensor, {})[box] = outputs[-1]
        edited = replace(
            operator,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            options={**operator.options, **reading.options},
        )
        self._append(edited)

    def _read(self, tensor: int, box: Box) -> int:
        """Return a box of a tensor; constants are sliced here, with their channels' scales."""
        original = self.graph.tensors[tensor]
        if box == whole(original.shape) and is_kept(self.graph, tensor):
            return tensor
        if original.data is None:
            return self.region(tensor, box)
        key = tensor, box
        if key not in self.constants:
            values = original.array()[tuple(slice(*span) for span in box)]
            known = original.quantization
            scales = known.of_channels(range(*box[known.axis])) if known else None
            self.constants[key] = self._constant(original, values, scales)
        return self.constants[key]

    def _padded(self, operator: Operator, index: int, pads: Sequence[tuple[int, int]]) -> int:
        source = self.tensors[index]
        shape = tuple(a + n + b for (a, b), n in zip(pads, source.shape, strict=True))
        widths = self._parameter(np.array(pads))
        code, inputs = "PAD", [index, widths]
        if operator.code == "MAX_POOL_2D":
            lowest = (
                np.finfo("float32").min if source.dtype == "float32" else limits(source.dtype)[0]
            )
            value = self._constant(source, np.array([lowest]), source.quantization)
            code, inputs = "PADV2", [index, widths, value]
        padded = replace(source, index=len(self.tensors), name=f"{source.name}_padded", shape=shape)
        self.tensors.append(padded)
        self._append(Operator(0, code, tuple(inputs), (padded.index,)))
        return padded.index

    def _sliced(self, tensor: int, index: int, place: Box, box: Box) -> int:
        if place == box:
            return index
        if (index, box) in self.slices and index in self.makers:
            return self.slices[index, box]
        begin = [start for start, _ in relative(box, place)]
        inputs = index, self._parameter(np.array(begin)), self._parameter(np.array(sizes(box)))
        new = self._new(tensor, box)
        self._append(Operator(0, "SLICE", inputs, (new,)), self.makers.get(index, -1))
        self.slices[index, box] = new
        return new

    def _joined(self, tensor: int, axis: int, row: list[tuple[Box, int]]) -> tuple[Box, int]:
        """Join boxes that follow each other along an axis."""
        while len(row) > 1:
            longer = []
            for first in range(0, len(row), _MOST_JOINED):
                some = row[first : first + _MOST_JOINED]
                box = _around(axis, some)
                if len(some) == 1:
                    longer += some
                    continue
                new = self._new(tensor, box)
                inputs = tuple(index for _, index in some)
                self._append(Operator(0, "CONCATENATION", inputs, (new,), options={"axis": axis}))
                longer.append((box, new))
            row = longer
        return row[0]

    def _new(self, tensor: int, box: Box) -> int:
        original, index = self.graph.tensors[tensor], len(self.tensors)
        is_whole = box == whole(original.shape)
        name = original.name if is_whole else f"{original.name}_part{index}"
        self.tensors.append(replace(original, index=index, name=name, shape=sizes(box), data=None))
        return index

    def _parameter(self, values: np.ndarray[Any, Any]) -> int:
        like = Tensor(0, "cut", values.shape, "int32")
        return self._constant(like, values, None)

    def _constant(
        self, like: Tensor, values: np.ndarray[Any, Any], quantization: Quantization | None
    ) -> int:
        named = replace(like, name=f"{like.name}_part{len(self.tensors)}")
        return self.edit.constant(named, values, quantization)

    def _append(self, operator: Operator, part: int = -1) -> None:
        """Add an operator to a part, by default the last one."""
        self.operators[part].append(operator)


def _around(axis: int, row: list[tuple[Box, int]]) -> Box:
    (first, _), (last, _) = row[0], row[-1]
    return (*first[:axis], (first[axis][0], last[axis][1]), *first[axis + 1 :])
