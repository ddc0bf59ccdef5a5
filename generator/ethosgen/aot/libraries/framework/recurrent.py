"""The matrices and curves of layers with state."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ethosgen.aot.libraries.framework import core
from ethosgen.aot.libraries.framework.calls import CFunction
from ethosgen.aot.libraries.framework.order import Array, folded_biases, padded
from ethosgen.aot.operators.activation import sigmoid_table
from ethosgen.aot.operators.recurrent import (
    Lstm,
    Svdf,
    cell_clip,
    cell_multipliers,
    cell_shift,
    gate_multiplier,
    read_lstm,
    read_svdf,
)
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, Table, address
from ethosgen.aot.tir.quantization import (
    Multiplier,
    quantize_multiplier,
    scale_of,
    zero_point_of,
)
from ethosgen.values.network import Operator, Tensor

MOST_FACTOR = (1 << 16) - 1
"""The largest factor whose product with an int16 fits into 32 bits."""
SVDF = frozenset({"ethosgen_dsp_sums.h", "ethosgen_dsp_svdf.c"})
LSTM = frozenset({"ethosgen_dsp_sums.h", "ethosgen_dsp_lstm.c", "ethosgen_dsp_cell.h"})
BLOCK = 8
"""Filters, or units of an LSTM, that are computed at a time."""
MOST_SUM = 1 << 30
"""The bound of sums that can be doubled."""
MOST_INPUT = 256
"""The bound of an input without its zero point."""
MOST_SHIFT = 30


@dataclass(frozen=True)
class RowSums:
    """A library's C for the sums of a row, which SVDF and LSTM call."""

    sources: frozenset[str]
    weights: Callable[[Array], Array]
    """Packs a block of filters, which are (filter, depth)."""
    biases: Callable[[Array, Array], Array]
    """Returns the biases of filters as the C wants them, given the filters and their biases."""
    row_bytes: Callable[[int], int]
    """Returns the temporary memory of a row."""


def gate_matrices(layer: Lstm) -> list[tuple[Tensor, Tensor]]:
    """Return for each gate the weights of the input and of the hidden state, with their rows."""
    return [
        pair
        for first, second in zip(layer.inputs, layer.recurrent, strict=True)
        for pair in ((layer.source, first), (layer.hidden, second))
    ]


Item = TypeVar("Item")


def four(gates: Sequence[Item]) -> tuple[Item, Item, Item, Item]:
    """Return the values of the four gates in the order of a struct's array."""
    into, forgotten, cell, output = gates
    return into, forgotten, cell, output


def curve_lines() -> Array:
    """Return the sigmoid's upper half minus its middle, as lines between the table's entries."""
    heights = np.append(sigmoid_table(), sigmoid_table()[-1]) - (1 << 15)
    slopes = np.diff(heights)
    starts = heights[:-1] - slopes * np.arange(len(slopes))
    return np.concatenate([starts, slopes]).astype(np.int16)


def svdf_of(op: Operator, tensors: Sequence[Tensor], sums: RowSums) -> Kernel | None:
    """Return the kernel of an SVDF with a library's sums."""
    layer = read_svdf(op, tensors)
    shape = _svdf_shape(layer) if is_covered(layer) else None
    if shape is None:
        return None
    weights = layer.features.array()
    biases = sums.biases(weights, folded_biases(weights, zero_point_of(layer.source)))
    constants: dict[str, Table] = {
        "weights": _blocks([weights], sums),
        "biases": padded(biases, BLOCK),
        "time_weights": layer.time.array(),
        "unit_biases": layer.bias.array(),
        "shape": shape,
    }
    function = CFunction(
        "ethosgen_dsp_svdf_s8", SVDF | sums.sources, sums.row_bytes(layer.source.shape[1])
    )
    return svdf_kernel(layer, function, constants)


def is_covered(layer: Svdf) -> bool:
    """Return whether an SVDF has the types of the kernels, and constants."""
    types = [t.dtype for t in (layer.features, layer.time, layer.state, layer.bias)]
    constants = (layer.features, layer.time, layer.bias)
    is_usual = types == ["int8", "int16", "int16", "int32"] and not zero_point_of(layer.state)
    return is_usual and all(tensor.data is not None for tensor in constants)


def svdf_kernel(layer: Svdf, function: CFunction, constants: Mapping[str, Table]) -> Kernel:
    """Return a call for each row of an SVDF's input."""
    nest = Nest()
    x, tables = nest.read("input", layer.source), nest.tables(constants)
    y, state = nest.write("output", layer.target), nest.variable("state", layer.state)
    room = function.declare_room(nest)
    with nest.loop("n", layer.source.shape[0]) as n:
        nest.call(function.name, *(address(view, n, 0) for view in (y, x, state)), *room, *tables)
    return nest.kernel(function.sources)


def svdf_multipliers(layer: Svdf) -> tuple[Multiplier, Multiplier]:
    """Return the factors from sums of features to the state, and from the state to the output."""
    held = scale_of(layer.state)
    into = quantize_multiplier(scale_of(layer.source) * scale_of(layer.features) / held)
    return into, quantize_multiplier(held * scale_of(layer.time) / scale_of(layer.target))


def _svdf_shape(layer: Svdf) -> core.CoreSvdf | None:
    """Return the struct of a layer, None if the kernel does not cover the layer."""
    into, out = svdf_multipliers(layer)
    first = multiplier_of(into, _most(layer.features))
    # The totals are not doubled, since they may have all 32 bits.
    last = multiplier_of(out, 0)
    if first is None or last is None:
        return None
    return core.CoreSvdf(
        depth=layer.source.shape[1],
        filters=layer.time.shape[0],
        rank=layer.rank,
        memory=layer.memory,
        into=first,
        out=replace(last, left=last.left - 1),
        zero_point=zero_point_of(layer.target),
    )


def multiplier_of(by: Multiplier, most: int) -> core.CoreMultiplier | None:
    """Return a multiplier for sums of at most `most`, None if they overflow."""
    left, right = max(by.shift, 0), max(-by.shift, 0)
    if left + 1 > MOST_SHIFT or right > MOST_SHIFT or most << left >= MOST_SUM:
        return None
    return core.CoreMultiplier(
        left=1 + left,
        mantissa=by.mantissa,
        sign=-1 if right else 0,
        half=1 << right >> 1,
        right=right,
    )


def _most(weights: Tensor) -> int:
    """Return a bound of a layer's sums without biases."""
    return MOST_INPUT * int(np.abs(weights.array().astype(np.int64)).sum(axis=1).max(initial=0))


def _blocks(matrices: Sequence[Array], sums: RowSums) -> Array:
    """Pack matrices of (filter, depth) by blocks of filters; each matrix's are consecutive."""
    filters = len(matrices[0])
    return np.concatenate(
        [
            sums.weights(matrix[first : first + BLOCK])
            for first in range(0, filters, BLOCK)
            for matrix in matrices
        ]
    )


def lstm_of(op: Operator, tensors: Sequence[Tensor], sums: RowSums) -> Kernel | None:
    """Return the kernel of an LSTM with a library's sums."""
    layer = read_lstm(op, tensors)
    shape = _lstm_shape(layer)
    if shape is None:
        return None
    _, _, features, units = layer.sizes
    constants: dict[str, Table] = {
        "weights": _lstm_weights(layer, sums),
        "biases": _lstm_biases(layer, sums),
        "lines": curve_lines(),
        "shape": shape,
    }
    room = sums.row_bytes(features) + sums.row_bytes(units)
    function = CFunction("ethosgen_dsp_lstm_s8", LSTM | sums.sources, room)
    return lstm_kernel(layer, function, constants)


def lstm_kernel(layer: Lstm, function: CFunction, constants: Mapping[str, Table]) -> Kernel:
    """Return a call for each batch of an LSTM's input, for all time steps."""
    batch, _, _, units = layer.sizes
    nest = Nest()
    x, tables = nest.read("input", layer.source), nest.tables(constants)
    y = nest.write("output", layer.target)
    hidden = nest.variable("hidden_state", layer.hidden, (batch, units))
    cell = nest.variable("cell_state", layer.cell, (batch, units))
    room = function.declare_room(nest)
    with nest.loop("n", batch) as n:
        row = (0, n, 0) if layer.by_time else (n, 0, 0)
        states = address(hidden, n, 0), address(cell, n, 0)
        nest.call(function.name, address(y, *row), address(x, *row), *states, *room, *tables)
    return nest.kernel(function.sources)


def _by_block(gates: Sequence[Array]) -> list[Array]:
    """Return the rows of all gates for each block of units, gate by gate."""
    return [
        np.concatenate([gate[first : first + BLOCK] for gate in gates])
        for first in range(0, len(gates[0]), BLOCK)
    ]


def _lstm_weights(layer: Lstm, sums: RowSums) -> Array:
    """Return the weights of each block: those of the input, then those of the hidden state."""
    forward, back = (
        _by_block([weights.array() for weights in side]) for side in (layer.inputs, layer.recurrent)
    )
    pairs = zip(forward, back, strict=True)
    return np.concatenate([sums.weights(block) for pair in pairs for block in pair])


def _lstm_biases(layer: Lstm, sums: RowSums) -> Array:
    """Return the biases in the order of the weights; those of the hidden state are 0."""
    biases = [b for bias in layer.biases for b in (bias.array().astype(np.int64), 0)]
    folded = [
        sums.biases(weights.array(), folded_biases(weights.array(), zero_point_of(rows), bias))
        for (rows, weights), bias in zip(gate_matrices(layer), biases, strict=True)
    ]
    pairs = zip(_by_block(folded[::2]), _by_block(folded[1::2]), strict=True)
    return np.concatenate([block for pair in pairs for block in pair])


def _lstm_shape(layer: Lstm) -> core.CoreLstm | None:
    """Return the struct of a layer, None if the kernel does not cover the layer."""
    batch, steps, features, units = layer.sizes
    pairs, cell = gate_matrices(layer), cell_of(layer)
    constants = [*(weights for _, weights in pairs), *layer.biases]
    if any(t.data is None for t in constants) or cell is None:
        return None
    biases = [int(np.abs(bias.array().astype(np.int64)).max(initial=0)) for bias in layer.biases]
    starts = [most for bias in biases for most in (bias, 0)]
    gates = [
        multiplier_of(gate_multiplier(rows, weights), _most(weights) + most)
        for (rows, weights), most in zip(pairs, starts, strict=True)
    ]
    multipliers = [gate for gate in gates if gate is not None]
    if len(multipliers) < len(gates):
        return None
    return core.CoreLstm(
        steps=steps,
        row_step=batch if layer.by_time else 1,
        features=features,
        units=units,
        forward=four(multipliers[::2]),
        back=four(multipliers[1::2]),
        cell=cell,
    )


def cell_of(layer: Lstm) -> core.CoreCell | None:
    """Return the struct of a layer's cell, None if the kernels do not cover the cell."""
    factor, shift = cell_shift(scale_of(layer.cell))
    # Products of two 16-bit values, one of them from a curve, are below the bound.
    kept, added, output = (multiplier_of(by, MOST_SUM - 1) for by in cell_multipliers(layer))
    if kept is None or added is None or output is None:
        return None
    if factor > MOST_FACTOR or shift > MOST_SHIFT:
        return None
    low, high = cell_clip(layer)
    return core.CoreCell(
        kept=kept,
        added=added,
        hidden=output,
        low=low,
        high=high,
        factor=factor,
        half=1 << shift >> 1,
        shift=shift,
        zero_point=zero_point_of(layer.hidden),
    )
