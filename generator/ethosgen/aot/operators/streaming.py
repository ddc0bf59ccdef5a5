"""Operators on a stream of samples, from TFLite Micro's signal library and kernels.

Outputs for which samples are still missing are 0; TFLite Micro leaves them uninitialized. The
second output reports them as invalid in both.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.graph import streams
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import NOT_READY, Nest, int32, number
from ethosgen.aot.tir.quantization import clamp, limits
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor


def _states(
    nest: Nest, op: Operator, tensors: Sequence[Tensor], wanted: Sequence[Tensor]
) -> list[Any]:
    """Declare the state variables, which follow the operator's own input."""
    states = [tensors[i] for i in op.inputs[1:]]
    if [t.bytes for t in states] != [t.bytes for t in wanted]:
        raise UnsupportedError("its state is unknown")
    return [
        nest.variable(state.name, tensor, state.shape)
        for state, tensor in zip(wanted, states, strict=True)
    ]


def _move(nest: Nest, rows: Any, row: Any, count: int, start: int = 0) -> None:
    """Move `count` elements of a row from `start` to the beginning."""
    if count and start:
        size = count * np.dtype(str(rows.dtype)).itemsize
        places = tirx.address_of(rows[row, 0]), tirx.address_of(rows[row, start])
        nest.call("memmove", *places, size)


def _clear(nest: Nest, target: Any, at: Sequence[Any], count: int) -> None:
    """Set `count` consecutive elements to 0."""
    with nest.loop("k", count) as k:
        nest.store(target, (*at[:-1], at[-1] + k), number(0, str(target.dtype)))


@operator(streams.DELAY, dtypes=("int16",))
def delay(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Output the samples `delay_length` later (delay.cc)."""
    spec, nest = streams.read_delay(op, tensors), Nest()
    x = nest.read("input", spec.source, (spec.rows, spec.size))
    y = nest.write("output", spec.target, (spec.rows, spec.size))
    held = _states(nest, op, tensors, spec.states)
    delayed = min(spec.length, spec.size)
    with nest.loop("row", spec.rows) as row:
        if delayed:
            nest.copy(y, (row, 0), held[0], (row, 0), delayed)
            _move(nest, held[0], row, spec.length - delayed, delayed)
            nest.copy(held[0], (row, spec.length - delayed), x, (row, spec.size - delayed), delayed)
        if delayed < spec.size:
            nest.copy(y, (row, delayed), x, (row, 0), spec.size - delayed)
    return nest.kernel()


@operator(streams.FRAMER, dtypes=("int16",))
def framer(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Cut overlapping frames (framer.cc); the second output is whether all frames are valid."""
    spec, nest = streams.read_framer(op, tensors), Nest()
    length = spec.frames * spec.step
    x = nest.read("input", spec.source, (spec.rows, length))
    y = nest.write("output", spec.target, (spec.rows, spec.frames, spec.size))
    valid = nest.write("valid", spec.valid, (1,))
    states = _states(nest, op, tensors, spec.states)
    past = states[0] if spec.kept else None
    skipped = nest.let("gone", states[-1][0]) if spec.missing else int32(0)
    overlapping = min(pieces(spec.kept, spec.step), spec.frames)
    with nest.loop("row", spec.rows) as row:
        for frame in range(overlapping):
            old = min(spec.kept - frame * spec.step, spec.size)

            def write(frame: int = frame, old: int = old, row: Any = row) -> None:
                nest.copy(y, (row, frame, 0), past, (row, frame * spec.step), old)
                if old < spec.size:
                    nest.copy(y, (row, frame, old), x, (row, 0), spec.size - old)

            if frame < spec.missing:
                with nest.when(skipped + frame >= spec.missing):
                    write()
                with nest.when(skipped + frame < spec.missing):
                    _clear(nest, y, (row, frame, 0), spec.size)
            else:
                write()
        with nest.loop("frame", spec.frames - overlapping, overlapping) as frame:
            nest.copy(y, (row, frame, 0), x, (row, frame * spec.step - spec.kept), spec.size)
        new = min(spec.kept, length)
        if new:
            _move(nest, past, row, spec.kept - new, new)
            nest.copy(past, (row, spec.kept - new), x, (row, length - new), new)
    nest.store(valid, (0,), skipped >= spec.missing)
    if spec.missing:
        nest.store(states[-1], (0,), tirx.min(skipped + spec.frames, spec.missing))
    return nest.kernel()


@operator(streams.STACKER, dtypes=("int16",))
def stacker(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Stack the last inputs (stacker.cc); the second output is whether there are enough."""
    spec, nest = streams.read_stacker(op, tensors), Nest()
    x = nest.read("input", spec.source, (spec.channels,))
    y = nest.write("output", spec.target, (spec.depth, spec.channels))
    valid = nest.write("valid", spec.valid, (1,))
    stack, height = _states(nest, op, tensors, spec.states)
    before = nest.local("before", height[0])
    if spec.repeats:
        with nest.when(height[1] == 0):
            with nest.loop("k", spec.repeats) as k:
                nest.copy(stack, (k, 0), x, (0,), spec.channels)
            nest.store(before, (0,), int32(spec.repeats))
            nest.store(height, (1,), int32(1))
    top = nest.let("top", before[0])
    nest.copy(stack, (top, 0), x, (0,), spec.channels)
    full = nest.let("full", top + 1 >= spec.depth)
    nest.store(valid, (0,), full)
    nest.store(height, (0,), top + 1)
    with nest.when(tirx.Not(full)), nest.loop("n", spec.depth) as n:
        _clear(nest, y, (n, 0), spec.channels)
    with nest.when(full):
        nest.copy(y, (0, 0), stack, (0, 0), spec.depth * spec.channels)
        nest.store(height, (0,), int32(spec.depth - spec.step))
        with nest.loop("n", spec.depth - spec.step) as n:
            nest.copy(stack, (n, 0), stack, (n + spec.step, 0), spec.channels)
    return nest.kernel()


@operator(streams.OVERLAP_ADD, dtypes=("int16", "float32"))
def overlap_add(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add overlapping frames (overlap_add.cc); int16 saturates at each addition."""
    spec, nest = streams.read_overlap_add(op, tensors), Nest()
    x = nest.read("input", spec.source, (spec.rows, spec.frames, spec.size))
    y = nest.write("output", spec.target, (spec.rows, spec.frames, spec.step))
    (held,) = _states(nest, op, tensors, spec.states)
    is_float = spec.source.dtype == "float32"
    with nest.loop("row", spec.rows) as row, nest.loop("frame", spec.frames) as frame:
        with nest.loop("i", spec.size) as i:
            if is_float:
                nest.store(held, (row, i), held[row, i] + x[row, frame, i])
            else:
                total = nest.let("total", int32(x[row, frame, i]) + int32(held[row, i]))
                nest.store(held, (row, i), clamp(total, *limits("int16")))
        nest.copy(y, (row, frame, 0), held, (row, 0), spec.step)
        rest = spec.size - spec.step
        _move(nest, held, row, rest, spec.step)
        _clear(nest, held, (row, rest), spec.step)
    return nest.kernel()


@operator(streams.CIRCULAR_BUFFER, dtypes=("int8",))
def circular_buffer(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Output the last inputs, oldest first (circular_buffer.cc).

    Only every `cycles_max`-th inference continues; the others end here with NOT_READY.
    """
    spec, nest = streams.read_circular_buffer(op, tensors), Nest()
    x = nest.read("input", spec.source, (spec.depth,))
    y = nest.write("output", spec.target, (spec.slots, spec.depth))
    slots, *waiting = _states(nest, op, tensors, spec.states)
    size = (spec.slots - 1) * spec.depth
    if size:
        nest.call("memmove", tirx.address_of(slots[0, 0]), tirx.address_of(slots[1, 0]), size)
    nest.copy(slots, (spec.slots - 1, 0), x, (0,), spec.depth)
    if waiting:
        inputs = nest.let("inputs", waiting[0][0] + 1)
        with nest.when(inputs < spec.cycles):
            nest.store(waiting[0], (0,), inputs)
            nest.fail(NOT_READY)
        nest.store(waiting[0], (0,), int32(0))
    nest.copy(y, (0, 0), slots, (0, 0), spec.slots * spec.depth)
    return nest.kernel()
