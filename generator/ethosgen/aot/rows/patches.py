"""Patches: ranges of columns that a chain computes one after another, each from top to bottom.

The rows of a rolling buffer are as wide as a patch. Windows read columns beside it, so neighbouring
patches compute some columns of the tensors inside the chain twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ethosgen.aot.graph.fusion import EXPLICIT
from ethosgen.aot.loops.window import Axis
from ethosgen.aot.rows.pacing import Pacing, RowLink, buffer_bytes, pace_chain
from ethosgen.aot.rows.reach import (
    CONVOLUTIONS,
    POOLS,
    Band,
    axes_of,
    band_of,
    has_rows,
    moving_inputs,
    row_bytes,
)
from ethosgen.values.multiples import pieces, rounded_up
from ethosgen.values.network import ABSENT, Operator, Tensor

UNITS = (8, 4, 2, 1)
"""Multiples of columns at which patches meet, the best first: rows have whole words of bytes."""


@dataclass(frozen=True)
class Patch:
    """A chain, or some columns of its output and what computes them.

    `tensors` have the shapes of the buffers. `columns` has those of each tensor of the chain, and
    nothing for a whole chain.
    """

    pacing: Pacing
    tensors: Sequence[Tensor]
    columns: Mapping[int, range]
    wanted: Mapping[tuple[int, int], range]
    """The columns of an input that a link needs, by output and input, if they are fewer."""

    def band(self, link: RowLink, band: Band) -> tuple[Operator, tuple[Tensor, ...]]:
        """Return the operator of a band, and the tensors with its shapes."""
        tensors = list(self.tensors)
        for tensor in link.op.inputs:
            if (link.output, tensor) in self.wanted:
                tensors[tensor] = _narrowed(tensors[tensor], self.wanted[link.output, tensor])
        return band_of(link.op, tensors, link.reach, band)

    def is_by_row(self, link: RowLink) -> bool:
        """Return whether a link computes single rows: an input's row has more than it needs."""
        return any(output == link.output for output, _ in self.wanted)

    def bands(self, link: RowLink) -> list[Band]:
        """Return the different bands for which a link has a kernel."""
        return [Band(1)] if self.is_by_row(link) else self.pacing.bands(link)

    @property
    def output_bytes(self) -> int:
        """The bytes of the rows of its output that it computes in a turn; 0 for a whole chain."""
        if not self.columns:
            return 0
        link = self.pacing.links[-1]
        return max(self.bands(link)).rows * row_bytes(self.tensors[link.output])

    def bytes(self, alignment: int) -> int:
        """Return the size of its buffers."""
        rolls = buffer_bytes(self.pacing, self.tensors, alignment)
        return rolls + rounded_up(self.output_bytes, alignment)


def whole(pacing: Pacing, tensors: Sequence[Tensor]) -> Patch:
    """Return a chain that computes all columns together."""
    return Patch(pacing, tensors, {}, {})


def patches_of(
    links: Sequence[RowLink], tensors: Sequence[Tensor], rows: Fraction, count: int
) -> tuple[Patch, ...] | None:
    """Return `count` patches of about equal width, None if the operators do not allow it."""
    width = tensors[links[-1].output].shape[2]
    for unit in UNITS:
        step = rounded_up(pieces(width, count), unit)
        ranges = [range(at, min(at + step, width)) for at in range(0, width, step)]
        if len(ranges) != count:
            continue
        patches = [patch for each in ranges if (patch := _patch(links, tensors, rows, each))]
        if len(patches) == count:
            return tuple(patches)
    return None


def _patch(
    links: Sequence[RowLink], tensors: Sequence[Tensor], rows: Fraction, columns: range
) -> Patch | None:
    """Return the patch that computes some columns of the output."""
    needed, wanted = {links[-1].output: columns}, {}
    for link in reversed(links):
        for tensor in dict.fromkeys(moving_inputs(link.op, tensors)):
            want = _columns(link, tensors, needed[link.output])
            if want is None:
                return None
            wanted[link.output, tensor] = want
            known = needed.get(tensor, want)
            needed[tensor] = range(min(known.start, want.start), max(known.stop, want.stop))
    fewer = {ends: want for ends, want in wanted.items() if want != needed[ends[1]]}
    points = {link.output for link in links if link.reach.taps == link.reach.stride == 1}
    changed = [
        _narrowed(tensor, needed[i]) if i in needed else tensor for i, tensor in enumerate(tensors)
    ]
    views = [changed[i] for i in needed]
    views += [_narrowed(tensors[tensor], want) for (_, tensor), want in fewer.items()]
    if not {output for output, _ in fewer} <= points:
        return None
    if not all(has_rows(view, (view.dtype,)) for view in views):
        return None
    narrow = [RowLink(_padded(link.op, tensors, needed), link.reach) for link in links]
    inputs = needed.keys() - {link.output for link in links}
    pacing = pace_chain(narrow, changed, rows, inputs)
    return None if pacing is None else Patch(pacing, tuple(changed), needed, fewer)


def _narrowed(tensor: Tensor, columns: range) -> Tensor:
    batch, height, _, channels = tensor.shape
    return replace(tensor, shape=(batch, height, len(columns), channels))


def _columns(link: RowLink, tensors: Sequence[Tensor], columns: range) -> range | None:
    """Return the columns that a link reads to make others, None if it cannot make them alone."""
    op = link.op
    if op.code in (*CONVOLUTIONS, *POOLS):
        axes = axes_of(op, tensors)
        return None if axes is None else _under(axes[1], columns)
    target = tensors[op.outputs[0]]
    if link.reach.spans or (op.code == "CONCATENATION" and int(op.options["axis"]) % 4 != 3):
        return None
    constants = [tensors[i] for i in op.inputs if i != ABSENT and tensors[i].data is not None]
    varies = any(len(each.shape) > 1 and each.shape[-2] != 1 for each in constants)
    return None if varies or len(target.shape) != 4 else columns


def _under(across: Axis, outputs: range) -> range:
    """Return the columns of the input that are under the windows of some outputs."""
    first, end = _span(across, outputs)
    return range(max(first, 0), min(end, across.source))


def _span(across: Axis, outputs: range) -> tuple[int, int]:
    first = outputs.start * across.stride - across.padding
    return first, first + across.span(len(outputs))


def _padded(op: Operator, tensors: Sequence[Tensor], needed: Mapping[int, range]) -> Operator:
    """Return an operator with the padding that remains beside its columns."""
    axes = axes_of(op, tensors) if op.code in (*CONVOLUTIONS, *POOLS) else None
    if axes is None:
        return op
    down, across = axes
    first, end = _span(across, needed[op.outputs[0]])
    beside = max(-first, 0), max(end - across.source, 0)
    padding = (down.padding, down.padding_after), beside
    return replace(op, options={**op.options, "padding": EXPLICIT, "explicit_padding": padding})
