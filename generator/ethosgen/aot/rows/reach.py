"""The input rows that an operator reads to compute rows of its output, and the operator for a band.

A band has the padding above and below as rows in memory, so all bands of an operator share one
kernel, wherever they are.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ethosgen.aot.graph.fusion import EXPLICIT
from ethosgen.aot.loops.window import Axis, make_window, pool_window
from ethosgen.aot.operators.resize import ROW_OF, bilinear_places, nearest_places
from ethosgen.aot.registry import goes_in_place
from ethosgen.aot.tir.quantization import limits
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import ABSENT, Operator, Tensor

CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("MAX_POOL_2D", "AVERAGE_POOL_2D")
RESIZES = ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR")
DTYPES = ("int8", "int16")
QUANTIZED_FROM = (*DTYPES, "uint8", "float32")
"""Types whose rows a QUANTIZE reads, such as a camera's."""
Array = np.ndarray[Any, Any]
WORD = 4
"""Rows are whole words, so that all rows of a tensor are aligned as its first is."""


@dataclass(frozen=True)
class Spans:
    """The input rows of each output row y, from `firsts[y]` to before `ends[y]`.

    The first rows are `step` rows apart on average.
    """

    firsts: tuple[int, ...]
    ends: tuple[int, ...]
    step: Fraction

    @property
    def nexts(self) -> tuple[int, ...]:
        """The first rows and, behind the last one's, the end."""
        return *self.firsts, self.ends[-1]


@dataclass(frozen=True)
class RowReach:
    """Output row y reads the input rows from `y * stride - before`, `taps` of them.

    `fill` is the byte of rows outside the input; with None the operator leaves them out. With
    `spans` each output row has rows of its own, `taps` at most, none of them outside.
    """

    taps: int
    stride: int
    before: int
    fill: int | None = 0
    spans: Spans | None = None

    @property
    def step(self) -> Fraction:
        """How many input rows further the next output row begins, on average."""
        return self.spans.step if self.spans else Fraction(self.stride)

    def first(self, rows: Array) -> Array:
        """Return the first input row that is kept behind some numbers of output rows.

        Rows above the first one that is read also come, so the buffer begins with them.
        """
        if self.spans:
            return np.where(rows > 0, np.take(self.spans.nexts, rows), 0)
        return rows * self.stride - self.before

    def end(self, rows: Array | int) -> Array:
        """Return the end of the input rows that output rows before others, from 1 on, read."""
        last = np.asarray(rows) - 1
        if self.spans:
            return np.take(self.spans.ends, last)
        return last * self.stride + self.taps - self.before


POINT = RowReach(1, 1, 0)


def reach_of(op: Operator, tensors: Sequence[Tensor]) -> RowReach | None:
    """Return the reach of an operator, None for one that bands do not cover."""
    if len(op.outputs) != 1 or not op.inputs:
        return None
    target = tensors[op.outputs[0]]
    moving = moving_inputs(op, tensors)
    among = QUANTIZED_FROM if op.code == "QUANTIZE" else DTYPES
    if not moving or not all(has_rows(tensors[i], among) for i in moving) or not has_rows(target):
        return None
    if any(tensors[i].is_variable for i in op.inputs if i != ABSENT):
        return None
    if op.code in (*CONVOLUTIONS, *POOLS):
        return _of_window(op, tensors) if moving == op.inputs[:1] else None
    if op.code in RESIZES:
        return _of_resize(op, tensors) if moving == op.inputs[:1] else None
    if op.code == "CONCATENATION":
        is_by_row = _joins_rows(op, tensors)
    else:
        is_by_row = goes_in_place(op) and _is_by_row(op, tensors)
    return POINT if is_by_row else None


def moving_inputs(op: Operator, tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """Return the inputs that are not constants."""
    return tuple(i for i in op.inputs if i != ABSENT and tensors[i].data is None)


def row_bytes(tensor: Tensor) -> int:
    """Return the bytes of a row."""
    return tensor.bytes // tensor.shape[1]


def has_rows(tensor: Tensor, dtypes: Collection[str] = DTYPES) -> bool:
    """Return whether a tensor is a picture, of one of these types, whose rows are whole words."""
    return (
        len(tensor.shape) == 4
        and tensor.shape[0] == 1
        and tensor.elements > 0
        and tensor.dtype in dtypes
        and row_bytes(tensor) % WORD == 0
    )


def axes_of(op: Operator, tensors: Sequence[Tensor]) -> tuple[Axis, Axis] | None:
    """Return the windows of a convolution or a pool, None if they do not match the shapes."""
    try:
        if op.code in POOLS:
            return pool_window(op, tensors)
        _, height, width, _ = tensors[op.inputs[1]].shape
        return make_window(op, (height, width), tensors[op.inputs[0]], tensors[op.outputs[0]])
    except (UnsupportedError, LookupError, ValueError):
        return None


def _of_window(op: Operator, tensors: Sequence[Tensor]) -> RowReach | None:
    axes, source = axes_of(op, tensors), tensors[op.inputs[0]]
    if axes is None:
        return None
    down, _ = axes
    reach = RowReach(down.span(1), down.stride, down.padding)
    if down.is_inside:
        return reach
    if op.code in POOLS:
        is_filled = op.code == "MAX_POOL_2D" and source.dtype == "int8"
        return replace(reach, fill=limits("int8")[0] if is_filled else None)
    if source.quantization is None:
        return None
    zero = source.quantization.zero_point[0]
    return replace(reach, fill=zero) if source.dtype == "int8" or not zero else None


def _of_resize(op: Operator, tensors: Sequence[Tensor]) -> RowReach:
    """Return the reach of a resize."""
    source, target = (tensors[i] for i in (op.inputs[0], op.outputs[0]))
    before, after = source.shape[1], target.shape[1]
    if op.code == "RESIZE_BILINEAR":
        places = bilinear_places(op, source, before, after)
        firsts, lasts = places["low"], np.maximum(places["low"], places["high"])
    else:
        firsts = lasts = nearest_places(op, before, after)
    ends, is_aligned = lasts + 1, bool(op.options.get("align_corners")) and min(before, after) > 1
    step = Fraction(before - 1, after - 1) if is_aligned else Fraction(before, after)
    spans = Spans(tuple(firsts.tolist()), tuple(ends.tolist()), step)
    return RowReach(int((ends - firsts).max()), 1, 0, None, spans)


def _joins_rows(op: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether a CONCATENATION joins columns or channels of variable tensors."""
    axis = int(op.options["axis"]) % len(tensors[op.outputs[0]].shape)
    return axis in (2, 3) and moving_inputs(op, tensors) == op.inputs


def _is_by_row(op: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether each output row needs only the same row of each input."""
    target = tensors[op.outputs[0]]
    for index in op.inputs:
        if index == ABSENT:
            continue
        tensor = tensors[index]
        is_same = tensor.shape == target.shape
        is_one_row = len(tensor.shape) < 3 or tensor.shape[-3] == 1
        if not (is_same if tensor.data is None else is_one_row):
            return False
    return True


@dataclass(frozen=True, order=True)
class Band:
    """Rows that an operator computes in a turn; `above` and `below` are rows that it leaves out."""

    rows: int
    above: int = 0
    below: int = 0


def band_of(
    op: Operator, tensors: Sequence[Tensor], reach: RowReach, band: Band
) -> tuple[Operator, tuple[Tensor, ...]]:
    """Return an operator that computes a band, and the tensors with the band's shapes."""
    changed, rows = list(tensors), band.rows
    height = (rows - 1) * reach.stride + reach.taps - band.above - band.below
    whole = tuple(tensors[i].shape[1] for i in (op.inputs[0], op.outputs[0]))
    for index in moving_inputs(op, tensors):
        changed[index] = _with_rows(tensors[index], height)
    changed[op.outputs[0]] = _with_rows(tensors[op.outputs[0]], rows)
    if op.code in RESIZES:
        return replace(op, options={**op.options, ROW_OF: whole}), tuple(changed)
    axes = axes_of(op, tensors) if op.code in (*CONVOLUTIONS, *POOLS) else None
    if axes is None:
        return op, tuple(changed)
    across = axes[1]
    # Columns that no window covers are not padding, but count for the output's size.
    outside = band.above, band.below
    options = {
        "padding": EXPLICIT,
        "explicit_padding": (outside, (across.padding, across.padding_after)),
    }
    return replace(op, options={**op.options, **options}), tuple(changed)


def _with_rows(tensor: Tensor, rows: int) -> Tensor:
    return replace(tensor, shape=(1, rows, *tensor.shape[2:]))
