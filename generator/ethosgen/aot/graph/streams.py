"""Operators on a stream of samples: checked options and shapes, and state variables.

TensorFlow Lite Micro keeps past samples in circular buffers of twice their size. Here the state is
exactly the samples that the next inference reads, oldest first, so it needs no pointers at run
time. The initial bytes of a state are 0, those of a CIRCULAR_BUFFER the zero point.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.aot.graph.custom_options import read_integers
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

DELAY, FRAMER, STACKER, OVERLAP_ADD, CIRCULAR_BUFFER = (
    "SignalDelay",
    "SignalFramer",
    "SignalStacker",
    "SignalOverlapAdd",
    "CIRCULAR_BUFFER",
)
"""Custom codes, as TensorFlow Lite Micro's resolver registers them."""

_MOST = 1 << 24
"""Upper bound of any option: more samples than a Cortex-M's memory holds."""


def _ends(op: Operator, tensors: Sequence[Tensor], outputs: int) -> list[Tensor]:
    """Return the input and the outputs; UnsupportedError if their count is wrong."""
    if len(op.outputs) != outputs or not op.inputs or op.inputs[0] < 0:
        raise UnsupportedError(f"it does not have one input and {counted(outputs, 'output')}")
    source = tensors[op.inputs[0]]
    if not source.elements:
        raise UnsupportedError(f"its input '{source.name}' has no elements")
    return [source, *(tensors[i] for i in op.outputs)]


def _expect(target: Tensor, dtype: str, elements: int) -> None:
    if target.dtype != dtype or target.elements != elements:
        raise UnsupportedError(
            f"its output '{target.name}' is {target.dtype} {list(target.shape)}, but its "
            f"options require {elements} of {dtype}"
        )


def _state(name: str, dtype: str, shape: tuple[int, ...]) -> Tensor:
    return Tensor(0, name, shape, dtype, is_variable=True)


@dataclass(frozen=True)
class Delay:
    """SignalDelay: delay `rows` signals, of `size` samples per inference, by `length` samples."""

    source: Tensor
    target: Tensor
    rows: int
    size: int
    length: int

    @property
    def states(self) -> tuple[Tensor, ...]:
        """The samples still to be output, oldest first."""
        shape = (self.rows, self.length)
        return (_state("delayed", "int16", shape),) if self.length else ()


def read_delay(op: Operator, tensors: Sequence[Tensor]) -> Delay:
    """Return a checked SignalDelay (delay.cc)."""
    source, target = _ends(op, tensors, 1)
    _expect(target, "int16", source.elements)
    size = source.shape[-1] if source.shape else 1
    length = read_integers(op, delay_length=(0, _MOST))["delay_length"]
    return Delay(source, target, source.elements // size, size, length)


@dataclass(frozen=True)
class Framer:
    """SignalFramer: frames of `size` samples, one every `step` samples.

    Each inference outputs `frames` frames for each of `rows` signals and reads `kept` past samples
    again. The first `missing` frames after a reset are invalid.
    """

    source: Tensor
    target: Tensor
    valid: Tensor
    rows: int
    frames: int
    size: int
    step: int
    kept: int
    missing: int

    @property
    def states(self) -> tuple[Tensor, ...]:
        """The past samples, and the number of missing frames skipped so far."""
        past = [_state("past", "int16", (self.rows, self.kept))] if self.kept else []
        return (*past, *([_state("skipped", "int32", (1,))] if self.missing else []))


def read_framer(op: Operator, tensors: Sequence[Tensor]) -> Framer:
    """Return a checked SignalFramer (framer.cc).

    Its buffer holds whole steps; a frame is the oldest samples in it. With `prefill` it starts with
    a frame minus one step of zeros.
    """
    source, target, valid = _ends(op, tensors, 2)
    options = read_integers(op, frame_size=(1, _MOST), frame_step=(1, _MOST), prefill=(0, 1))
    size, step, prefilled = (options[n] for n in ("frame_size", "frame_step", "prefill"))
    length = source.shape[-1] if source.shape else 1
    if length % step or (prefilled and size < step):
        raise UnsupportedError(
            f"frames of {counted(size, 'sample')}, one every {step}, do not fit signals of {length}"
        )
    rows, frames, whole = source.elements // length, length // step, pieces(size, step)
    _expect(target, "int16", rows * frames * size)
    _expect(valid, "bool", 1)
    kept = size - step if prefilled else (whole - 1) * step
    missing = 0 if prefilled else whole - 1
    return Framer(source, target, valid, rows, frames, size, step, kept, missing)


@dataclass(frozen=True)
class Stacker:
    """SignalStacker: stack `depth` inputs of `channels` values, once every `step` inputs.

    The first input is repeated `repeats` times.
    """

    source: Tensor
    target: Tensor
    valid: Tensor
    channels: int
    depth: int
    step: int
    repeats: int

    @property
    def states(self) -> tuple[Tensor, ...]:
        """The stack; its number of inputs, and whether there was a first input."""
        stack = _state("stack", "int16", (self.depth, self.channels))
        return (stack, _state("height", "int32", (2,)))


def read_stacker(op: Operator, tensors: Sequence[Tensor]) -> Stacker:
    """Return a checked SignalStacker (stacker.cc)."""
    source, target, valid = _ends(op, tensors, 2)
    options = read_integers(
        op,
        num_channels=(1, _MOST),
        stacker_left_context=(0, _MOST),
        stacker_right_context=(0, _MOST),
        stacker_step=(1, _MOST),
    )
    channels, left, right, step = options.values()
    depth = left + right + 1
    if step > depth or channels != source.elements:
        raise UnsupportedError(
            f"a stack of {left} + 1 + {right} = {counted(depth, 'input')} of "
            f"{counted(channels, 'number')}, moved by {step}, does not fit its input of "
            f"{source.elements}"
        )
    _expect(target, "int16", depth * channels)
    _expect(valid, "bool", 1)
    return Stacker(source, target, valid, channels, depth, step, left)


@dataclass(frozen=True)
class OverlapAdd:
    """SignalOverlapAdd: add `frames` frames of `size` samples, one every `step` samples."""

    source: Tensor
    target: Tensor
    rows: int
    frames: int
    size: int
    step: int

    @property
    def states(self) -> tuple[Tensor, ...]:
        """The partial sums, from the next output sample on; the last `step` are 0."""
        return (_state("sum", self.source.dtype, (self.rows, self.size)),)


def read_overlap_add(op: Operator, tensors: Sequence[Tensor]) -> OverlapAdd:
    """Return a checked SignalOverlapAdd (overlap_add.cc)."""
    source, target = _ends(op, tensors, 1)
    step = read_integers(op, T=(0, _MOST), frame_step=(1, _MOST))["frame_step"]
    if len(source.shape) < 2 or step > source.shape[-1]:
        raise UnsupportedError(f"a frame_step of {step} does not fit {list(source.shape)}")
    frames, size = source.shape[-2:]
    rows = source.elements // (frames * size)
    _expect(target, source.dtype, rows * frames * step)
    return OverlapAdd(source, target, rows, frames, size, step)


@dataclass(frozen=True)
class CircularBuffer:
    """CIRCULAR_BUFFER: the last `slots` inputs of `depth` values, output every `cycles` inputs."""

    source: Tensor
    target: Tensor
    slots: int
    depth: int
    cycles: int

    @property
    def states(self) -> tuple[Tensor, ...]:
        """The inputs and, if needed, the number of inputs since the last output.

        The inputs are initialized with the output's zero point, as TensorFlow Lite does.
        """
        shape, quantization = (self.slots, self.depth), self.target.quantization
        slots = Tensor(0, "slots", shape, "int8", quantization, is_variable=True)
        return (slots, _state("waiting", "int32", (1,))) if self.cycles > 1 else (slots,)


_ONCE_SLOTS = (5, 13, 25)
"""Slot counts for which cycles_max defaults to 1 (circular_buffer_common.cc)."""


def read_circular_buffer(op: Operator, tensors: Sequence[Tensor]) -> CircularBuffer:
    """Return a checked CIRCULAR_BUFFER (circular_buffer.cc)."""
    source, target = _ends(op, tensors, 1)
    slots = target.shape[1] if len(target.shape) == 4 else 0
    fits = slots and source.shape == (target.shape[0], 1, *target.shape[2:])
    if not fits or target.shape[0] != 1 or target.dtype != "int8":
        raise UnsupportedError(
            f"its output {target.dtype} {list(target.shape)} does not hold inputs "
            f"{list(source.shape)}"
        )
    cycles = read_integers(op, cycles_max=(-_MOST, _MOST))["cycles_max"] if op.options else 0
    if cycles < 1 and slots not in _ONCE_SLOTS:
        raise UnsupportedError(
            "its options lack cycles_max, which TFLite Micro then guesses from the order of "
            "operators; add cycles_max to the network"
        )
    return CircularBuffer(source, target, slots, math.prod(target.shape[2:]), max(cycles, 1))
