"""Operators that work on a stream of samples, from TFLite Micro's signal library and kernels.

What an inference has no samples for yet is 0; TFLite Micro leaves there what was in memory. Both
say so in the second output.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import tirx

from ethosgen.aot.arithmetic.quantization import clamp, limits
from ethosgen.aot.graph import streams
from ethosgen.aot.loops.nest import NOT_READY, Nest, int32, number
from ethosgen.aot.operators import Kernel, operator
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.model import Operator, Tensor


def _states(
    nest: Nest, op: Operator, tensors: Sequence[Tensor], wanted: Sequence[Tensor]
) -> list[Any]:
    """Declare the states, which follow the operator's own input."""
    given = [tensors[i] for i in op.inputs[1:]]
    if [t.bytes for t in given] != [t.bytes for t in wanted]:
        raise UnsupportedError("its state is unknown")
    return [
        nest.variable(state.name, tensor, state.shape)
        for state, tensor in zip(wanted, given, strict=True)
    ]


def _move(nest: Nest, rows: Any, row: Any, count: int, start: int = 0) -> None:
    """Move the given number of elements of a row from `start` to its beginning."""
    if count and start:
        size = count * np.dtype(str(rows.dtype)).itemsize
        places = tirx.address_of(rows[row, 0]), tirx.address_of(rows[row, start])
        nest.call("memmove", *places, size)


def _clear(nest: Nest, target: Any, at: Sequence[Any], count: int) -> None:
    """Set elements that follow each other to 0."""
    with nest.loop("k", count) as k:
        nest.store(target, (*at[:-1], at[-1] + k), number(0, str(target.dtype)))


@operator(streams.DELAY, dtypes=("int16",))
def delay(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Samples of `delay_length` before (delay.cc)."""
    line, nest = streams.read_delay(op, tensors), Nest()
    x = nest.read("input", line.source, (line.rows, line.size))
    y = nest.write("output", line.target, (line.rows, line.size))
    held = _states(nest, op, tensors, line.states)
    late = min(line.length, line.size)
    with nest.loop("row", line.rows) as row:
        if late:
            nest.copy(y, (row, 0), held[0], (row, 0), late)
            _move(nest, held[0], row, line.length - late, late)
            nest.copy(held[0], (row, line.length - late), x, (row, line.size - late), late)
        if late < line.size:
            nest.copy(y, (row, late), x, (row, 0), line.size - late)
    return nest.kernel()


@operator(streams.FRAMER, dtypes=("int16",))
def framer(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Frames that overlap (framer.cc); all are valid, or the second output is false."""
    cut, nest = streams.read_framer(op, tensors), Nest()
    length = cut.frames * cut.step
    x = nest.read("input", cut.source, (cut.rows, length))
    y = nest.write("output", cut.target, (cut.rows, cut.frames, cut.size))
    valid = nest.write("valid", cut.valid, (1,))
    states = _states(nest, op, tensors, cut.states)
    past = states[0] if cut.kept else None
    skipped = nest.let("gone", states[-1][0]) if cut.missing else int32(0)
    early = min(-(-cut.kept // cut.step), cut.frames)
    with nest.loop("row", cut.rows) as row:
        for frame in range(early):
            old = min(cut.kept - frame * cut.step, cut.size)

            def write(frame: int = frame, old: int = old, row: Any = row) -> None:
                nest.copy(y, (row, frame, 0), past, (row, frame * cut.step), old)
                if old < cut.size:
                    nest.copy(y, (row, frame, old), x, (row, 0), cut.size - old)

            if frame < cut.missing:
                with nest.when(skipped + frame >= cut.missing):
                    write()
                with nest.when(skipped + frame < cut.missing):
                    _clear(nest, y, (row, frame, 0), cut.size)
            else:
                write()
        with nest.loop("frame", cut.frames - early, early) as frame:
            nest.copy(y, (row, frame, 0), x, (row, frame * cut.step - cut.kept), cut.size)
        new = min(cut.kept, length)
        if new:
            _move(nest, past, row, cut.kept - new, new)
            nest.copy(past, (row, cut.kept - new), x, (row, length - new), new)
    nest.store(valid, (0,), skipped >= cut.missing)
    if cut.missing:
        nest.store(states[-1], (0,), tirx.min(skipped + cut.frames, cut.missing))
    return nest.kernel()


@operator(streams.STACKER, dtypes=("int16",))
def stacker(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Some inputs as one (stacker.cc); the second output says whether there are enough."""
    pile, nest = streams.read_stacker(op, tensors), Nest()
    x = nest.read("input", pile.source, (pile.channels,))
    y = nest.write("output", pile.target, (pile.depth, pile.channels))
    valid = nest.write("valid", pile.valid, (1,))
    stack, height = _states(nest, op, tensors, pile.states)
    before = nest.local("before", height[0])
    if pile.repeats:
        with nest.when(height[1] == 0):
            with nest.loop("k", pile.repeats) as k:
                nest.copy(stack, (k, 0), x, (0,), pile.channels)
            nest.store(before, (0,), int32(pile.repeats))
            nest.store(height, (1,), int32(1))
    top = nest.let("top", before[0])
    nest.copy(stack, (top, 0), x, (0,), pile.channels)
    full = nest.let("full", top + 1 >= pile.depth)
    nest.store(valid, (0,), full)
    nest.store(height, (0,), top + 1)
    with nest.when(tirx.Not(full)), nest.loop("n", pile.depth) as n:
        _clear(nest, y, (n, 0), pile.channels)
    with nest.when(full):
        nest.copy(y, (0, 0), stack, (0, 0), pile.depth * pile.channels)
        nest.store(height, (0,), int32(pile.depth - pile.step))
        with nest.loop("n", pile.depth - pile.step) as n:
            nest.copy(stack, (n, 0), stack, (n + pile.step, 0), pile.channels)
    return nest.kernel()


@operator(streams.OVERLAP_ADD, dtypes=("int16", "float32"))
def overlap_add(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Frames added where they overlap (overlap_add.cc); int16 saturates at each addition."""
    sums, nest = streams.read_overlap_add(op, tensors), Nest()
    x = nest.read("input", sums.source, (sums.rows, sums.frames, sums.size))
    y = nest.write("output", sums.target, (sums.rows, sums.frames, sums.step))
    (held,) = _states(nest, op, tensors, sums.states)
    is_real = sums.source.dtype == "float32"
    with nest.loop("row", sums.rows) as row, nest.loop("frame", sums.frames) as frame:
        with nest.loop("i", sums.size) as i:
            if is_real:
                nest.store(held, (row, i), held[row, i] + x[row, frame, i])
            else:
                total = nest.let("total", int32(x[row, frame, i]) + int32(held[row, i]))
                nest.store(held, (row, i), clamp(total, *limits("int16")))
        nest.copy(y, (row, frame, 0), held, (row, 0), sums.step)
        rest = sums.size - sums.step
        _move(nest, held, row, rest, sums.step)
        _clear(nest, held, (row, rest), sums.step)
    return nest.kernel()


@operator(streams.CIRCULAR_BUFFER, dtypes=("int8",))
def circular_buffer(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """The last inputs, the newest last (circular_buffer.cc).

    Only at every `cycles_max`-th input the network goes on; the inferences between end here.
    """
    ring, nest = streams.read_circular_buffer(op, tensors), Nest()
    x = nest.read("input", ring.source, (ring.depth,))
    y = nest.write("output", ring.target, (ring.slots, ring.depth))
    slots, *waiting = _states(nest, op, tensors, ring.states)
    size = (ring.slots - 1) * ring.depth
    if size:
        nest.call("memmove", tirx.address_of(slots[0, 0]), tirx.address_of(slots[1, 0]), size)
    nest.copy(slots, (ring.slots - 1, 0), x, (0,), ring.depth)
    if waiting:
        inputs = nest.let("inputs", waiting[0][0] + 1)
        with nest.when(inputs < ring.cycles):
            nest.store(waiting[0], (0,), inputs)
            nest.fail(NOT_READY)
        nest.store(waiting[0], (0,), int32(0))
    nest.copy(y, (0, 0), slots, (0, 0), ring.slots * ring.depth)
    return nest.kernel()
