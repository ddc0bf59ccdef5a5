"""Layers cut along input channels, computed part by part in numpy with TFLite's arithmetic."""

import random
from typing import Any

import numpy as np

from ethosgen.optimizer.intervals.scaling import twice
from ethosgen.optimizer.intervals.windows import window_of
from ethosgen.splitting.boxes import Box
from ethosgen.splitting.grid import Grid
from ethosgen.splitting.parts import OperatorShare, parts_of, runs_of
from ethosgen.splitting.reading import PARTIAL
from ethosgen.splitting.sums import with_sums
from ethosgen.values.network import ABSENT, Graph, Operator
from ethosgen.values.rescaling import activation_range, quantize_multiplier, scale_of

Ints = np.ndarray[Any, np.dtype[np.int64]]


def computed(graph: Graph, values: Ints, depth: int, rng: random.Random) -> Ints:
    """Return the output of a layer alone for an input, from sums over `depth` groups of channels.

    The sums, and the total, are cut at random, too.
    """
    cut, _ = with_sums(graph, {0: depth})
    arrays = {cut.inputs[0]: values}
    count = len(cut.operators)
    for run in runs_of(cut, range(count + 1)):
        target = cut.tensors[run.results[0]]
        output = arrays[run.results[0]] = np.zeros(target.shape, np.int64)
        way = Grid(*(rng.randint(1, min(3, most)) for most in Grid.limits(target.shape)))
        parts = parts_of(cut, run, way)
        assert parts is not None
        for part in parts:
            (piece,) = part.pieces
            operator = cut.operators[piece.operator]
            compute = _partial if operator.custom_code == PARTIAL else _total
            output[_slices(piece.box)] = compute(cut, operator, piece, arrays)
    return arrays[cut.outputs[0]]


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(*span) for span in box)


def _partial(
    graph: Graph, operator: Operator, piece: OperatorShare, arrays: dict[int, Ints]
) -> Ints:
    """Return the sums of products of a part, which wrap around as an int32 does."""
    source, weights = (graph.tensors[i] for i in operator.inputs)
    boxes = [box for box in piece.reading.boxes if box is not None]
    values = arrays[source.index][_slices(boxes[0])] - source.first_zero_point
    filters = weights.array()[_slices(boxes[1])].astype(np.int64)
    if filters.ndim == 2:
        return _int32(values @ filters.T)
    if piece.reading.pads:
        values = np.pad(values, piece.reading.pads)
    options = {**operator.options, **piece.reading.options}
    out = tuple(end - start for start, end in piece.box)
    window = window_of(options, values.shape, out, filters.shape[1:3])
    axes = window.rows, window.columns
    around = [(axis.before, axis.taps * axis.dilation) for axis in axes]
    values = np.pad(values, [(0, 0), *around, (0, 0)])
    total = np.zeros(out, np.int64)
    for row in range(filters.shape[1]):
        for column in range(filters.shape[2]):
            spans = [
                slice(
                    tap * axis.dilation, tap * axis.dilation + axis.out * axis.stride, axis.stride
                )
                for tap, axis in zip((row, column), axes, strict=True)
            ]
            seen = values[:, spans[0], spans[1]][:, : out[1], : out[2]]
            total += seen @ filters[:, row, column].T
    return _int32(total)


def _total(graph: Graph, operator: Operator, piece: OperatorShare, arrays: dict[int, Ints]) -> Ints:
    """Return the outputs of a part: sums and bias added in int32, then rescaled once."""
    target = graph.tensors[operator.outputs[0]]
    total = np.zeros([end - start for start, end in piece.box], np.int64)
    for index, box in zip(operator.inputs, piece.reading.boxes, strict=True):
        if index == ABSENT or box is None:
            continue
        tensor = graph.tensors[index]
        constant = None if tensor.data is None else tensor.array().astype(np.int64)
        total = _int32(total + (arrays[index] if constant is None else constant)[_slices(box)])
    first = graph.operators[0]
    source, weights = (graph.tensors[i] for i in first.inputs[:2])
    gains = [scale_of(source) * scale / scale_of(target) for scale in weights.scales]
    factors = [quantize_multiplier(gain) for gain in gains]
    some = slice(*piece.box[-1]) if len(factors) > 1 else slice(None)
    mantissas = np.array([f.mantissa for f in factors])[some]
    shifts = np.array([f.shift for f in factors])[some]
    low, high = activation_range(operator, target)
    return np.clip(twice(total, mantissas, shifts) + target.first_zero_point, low, high)


def _int32(values: Ints) -> Ints:
    return values.astype(np.int32).astype(np.int64)
