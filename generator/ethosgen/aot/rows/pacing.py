"""Which rows of each tensor a chain computes in each turn of its loop.

After turn t a tensor has `min(max(t * pace + lead, 0) / every, rows)` rows. The pace follows from
the later strides, the lead from the windows: nothing is computed before it is needed, or twice. A
rolling buffer has the rows that this turn or later ones still read.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from ethosgen.aot.rows.reach import POOLS, Band, RowReach, moving_inputs, row_bytes
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Pace:
    """The progress of a tensor of `rows` rows: `pace` of them in `every` turns.

    They have no common divisor. `lead` is how far it is ahead, in parts of a row: `every` make one.
    """

    rows: int
    pace: int
    every: int
    lead: int

    def done(self, turns: Array) -> Array:
        """Return the rows that are computed after each of some turns."""
        ahead = np.maximum(turns * self.pace + self.lead, 0)
        rows: Array = np.minimum(ahead // self.every, self.rows)
        return rows


@dataclass(frozen=True)
class RowLink:
    """An operator of a chain, and the rows of its inputs that it reads."""

    op: Operator
    reach: RowReach

    @property
    def output(self) -> int:
        """The tensor that it writes."""
        return self.op.outputs[0]


@dataclass(frozen=True)
class Roll:
    """A rolling buffer: `rows` rows, some of them above the picture or below it."""

    rows: int
    above: int
    below: int
    fill: int
    kept: int
    """The most rows that move to its start after a turn."""


@dataclass(frozen=True)
class Pacing:
    """A chain with a band height: its turns, and the progress and the buffer of each tensor.

    The chain's output has no buffer. An input has one, filled row by row, only if it needs rows
    outside the picture.
    """

    links: tuple[RowLink, ...]
    turns: range
    paces: Mapping[int, Pace]
    rolls: Mapping[int, Roll]
    inputs: tuple[int, ...]

    @property
    def output(self) -> int:
        """The tensor that the chain makes."""
        return self.links[-1].output

    def readers(self, tensor: int) -> list[RowLink]:
        """Return the links that read a tensor."""
        return [link for link in self.links if tensor in link.op.inputs]

    def bands(self, link: RowLink) -> list[Band]:
        """Return the different bands for which a link has a kernel, the highest first.

        A resize computes rows one by one.
        """
        if link.reach.spans:
            return [Band(1)]
        return sorted(self._bands(link), reverse=True)

    def _bands(self, link: RowLink) -> set[Band]:
        turns = np.arange(self.turns.start - 1, self.turns.stop)
        done, reach = self.paces[link.output].done(turns).tolist(), link.reach
        ends = [(before, after) for before, after in pairwise(done) if after > before]
        if reach.fill is not None:
            return {Band(after - before) for before, after in ends}
        height = self.paces[link.op.inputs[0]].rows
        return {
            Band(
                after - before,
                max(reach.before - before * reach.stride, 0),
                max(int(reach.end(after)) - height, 0),
            )
            for before, after in ends
        }

    def shares(self, fed: Collection[int] = ()) -> tuple[float, ...]:
        """Return the largest share of each operator in a turn, or in a row of an input in `fed`."""
        taken = [self.paces[i] for i in self.inputs if i in fed]
        turns = max((pieces(pace.every, pace.pace) for pace in taken), default=1)
        rows = ((max(self._bands(link)).rows, self.paces[link.output].rows) for link in self.links)
        return tuple(min(turns * most / all_, 1.0) for most, all_ in rows)


def pace_chain(
    links: Sequence[RowLink],
    tensors: Sequence[Tensor],
    rows: Fraction,
    fed: Collection[int] = (),
) -> Pacing | None:
    """Return the pacing of a chain, `rows` rows of its output in each turn, or one in several.

    Inputs in `fed` always have a buffer. None if two operators need one tensor at different paces,
    or with different rows outside it, or if the strides do not fit the number of rows.
    """
    links = [_agreed(link, links) for link in links]
    outputs = {link.output for link in links}
    inputs = dict.fromkeys(
        i for link in links for i in moving_inputs(link.op, tensors) if i not in outputs
    )
    target = links[-1].output
    paces = {target: Pace(tensors[target].shape[1], rows.numerator, rows.denominator, 0)}
    for tensor in (*(link.output for link in reversed(links[:-1])), *inputs):
        readers = [link for link in links if tensor in link.op.inputs]
        pace = _pace_of(readers, paces, tensors[tensor].shape[1])
        if pace is None:
            return None
        paces[tensor] = pace
    turns = _turns(paces)
    pacing = Pacing(tuple(links), turns, paces, {}, tuple(inputs))
    rolls = {}
    for tensor in paces:
        is_input = tensor in inputs and tensor not in fed
        if tensor == target or (is_input and _is_whole(pacing, tensor, tensors)):
            continue
        roll = _roll(pacing, tensor, tensors[tensor].shape[1])
        if roll is None:
            return None
        rolls[tensor] = roll
    return Pacing(pacing.links, turns, paces, rolls, pacing.inputs)


def _agreed(link: RowLink, links: Sequence[RowLink]) -> RowLink:
    """Return a pool that leaves out the rows outside, if another window uses another fill."""
    fills = {
        other.reach.fill
        for other in links
        if other.reach.taps > 1 and set(link.op.inputs) & set(other.op.inputs)
    }
    is_alone = len(fills - {None}) < 2 or link.op.code not in POOLS
    return link if is_alone else replace(link, reach=replace(link.reach, fill=None))


def _pace_of(readers: Sequence[RowLink], paces: Mapping[int, Pace], height: int) -> Pace | None:
    demands = [(link.reach, paces[link.output]) for link in readers]
    each = {pace.pace * reach.step / pace.every for reach, pace in demands}
    if len(each) != 1:
        return None
    pace, every = each.pop().as_integer_ratio()
    lead = max(_lead(reach, behind, Fraction(pace, every)) for reach, behind in demands)
    rows = max(min(int(reach.end(behind.rows)), height) for reach, behind in demands)
    return Pace(rows, pace, every, lead)


def _lead(reach: RowReach, behind: Pace, pace: Fraction) -> int:
    """Return the smallest lead with which each row is ready when an operator reads it.

    Rows that no one reads are also complete before the buffer begins behind them.
    """
    numbers = np.arange(1, behind.rows + 1)
    turns = -((behind.lead - numbers * behind.every) // behind.pace)  # in which they are complete
    done = behind.done(turns)
    needed = np.maximum(reach.end(done), reach.first(done))
    return int((needed * pace.denominator - turns * pace.numerator).max())


def _turns(paces: Mapping[int, Pace]) -> range:
    """Return the turns from the first row of any tensor to the last of all."""
    first = min(1 - pieces(pace.lead, pace.pace) for pace in paces.values())
    last = max(pieces(pace.rows * pace.every - pace.lead, pace.pace) for pace in paces.values())
    return range(first, last + 1)


def _is_whole(pacing: Pacing, tensor: int, tensors: Sequence[Tensor]) -> bool:
    """Return whether an input of the chain is read in place."""
    height = tensors[tensor].shape[1]
    return all(
        link.reach.fill is None
        or (link.reach.before == 0 and link.reach.end(pacing.paces[link.output].rows) <= height)
        for link in pacing.readers(tensor)
    )


def _roll(pacing: Pacing, tensor: int, height: int) -> Roll | None:
    """Return the buffer of a tensor, from a walk through all turns; None if fills disagree."""
    turns = np.arange(pacing.turns.start - 1, pacing.turns.stop + 1)
    done = pacing.paces[tensor].done(turns)[1:-1]
    firsts, ends, fills = [], [done], set()
    above = below = 0
    for link in pacing.readers(tensor):
        reach, rows = link.reach, pacing.paces[link.output].done(turns)
        first, runs = reach.first(rows), np.diff(rows)[:-1] > 0
        end = np.where(runs, reach.end(rows[1:-1]), 0)
        if (np.minimum(end, height) > done).any():
            return None
        outside = max(0, -int(first[0])), max(0, int(end.max()) - height)
        if any(outside) and reach.fill is not None:
            fills.add(reach.fill)
            above, below = max(above, outside[0]), max(below, outside[1])
        firsts.append(first[:-1])
        ends.append(end)
    start = np.min(firsts, axis=0)
    most = int((np.max(ends, axis=0) - start[:-1]).max())
    kept = int(np.where(start[1:] > start[:-1], done - start[1:], 0).max())
    return (
        Roll(most, above, below, fills.pop() if fills else 0, max(kept, 0))
        if len(fills) < 2
        else None
    )


def distance_of(pacing: Pacing, tensors: Sequence[Tensor]) -> int | None:
    """Return the bytes by which the output may begin before the input and overlap it, else None.

    The rows of a single input are copied before the output's rows are written.
    """
    if len(pacing.inputs) != 1 or pacing.inputs[0] not in pacing.rolls:
        return None
    (source,), target = pacing.inputs, pacing.output
    turns = np.arange(pacing.turns.start, pacing.turns.stop)
    written = pacing.paces[target].done(turns) * row_bytes(tensors[target])
    copied = pacing.paces[source].done(turns)
    left = copied < pacing.paces[source].rows
    ahead = np.where(left, written - copied * row_bytes(tensors[source]), 0)
    return max(int(ahead.max()), 0)


def buffer_bytes(pacing: Pacing, tensors: Sequence[Tensor], alignment: int) -> int:
    """Return the size of all rolling buffers."""
    return sum(
        pieces(roll.rows * row_bytes(tensors[tensor]), alignment) * alignment
        for tensor, roll in pacing.rolls.items()
    )
