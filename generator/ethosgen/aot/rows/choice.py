"""Chooses the chains of a schedule: the cheapest with which every step fits a number of bytes.

A schedule is cut into single steps and chains. Each cut needs memory for the tensors that are live
in it, and a chain also for its rolling buffers. The bytes are a lower bound, and the costs an
estimate, since the memory plan and the kernels are made later.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from ethosgen.aot.graph.storage import ALIGNMENT, SAME_BYTES
from ethosgen.aot.memory.plan import lifetimes
from ethosgen.aot.registry import goes_in_place
from ethosgen.aot.rows.pacing import Pacing, buffer_bytes, distance_of
from ethosgen.aot.rows.reach import row_bytes
from ethosgen.aot.rows.streaming import RowChain, fed_inputs, pacing_of, row_steps
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.values.multiples import rounded_up

HEIGHTS = tuple(map(Fraction, (16, 8, 4, 2, 1))) + tuple(Fraction(1, 2**i) for i in range(1, 6))
"""Rows of a chain's output in each turn that are tried, the cheapest first."""
NO_LIMIT = 2**40
"""More bytes than any arena has."""
LONGEST = 64
"""Most operators of a chain."""
CALL_CYCLES, TURN_CYCLES, BYTE_CYCLES = 1000, 30, 0.5
"""The estimated cost of a call for a band, of a link in a turn without one, and of a moved byte.

A call on QEMU took 500 (Cortex-M3) to 1,700 (M4) instructions more than its share of a whole one.
"""


@dataclass(frozen=True)
class Cut:
    """A chain or a single step, its memory and its cost."""

    first: int
    end: int
    bytes: int
    cycles: float = 0.0
    chain: RowChain | None = None


class Cutting:
    """The cuts of a schedule whose kernels are built."""

    def __init__(self, schedule: StepSchedule) -> None:
        self.schedule = schedule
        self.tensors = schedule.graph.tensors
        self._lives = lifetimes(schedule)
        self._sizes = {
            i: 0
            if i in schedule.ports
            else rounded_up(schedule.plan.buffer_bytes(self.tensors[i]), ALIGNMENT)
            for i in self._lives
        }
        self._rooms = [step.kernel.workspace_bytes if step.kernel else 0 for step in schedule.steps]
        self._scratch = _scratches(schedule)
        self._rows = row_steps(schedule)
        self._fed = fed_inputs(schedule)
        self._cuts: dict[RowChain, Cut | None] = {}
        self.alone = [self._alone(i) for i in range(len(schedule.steps))]

    def within(self, limit: int) -> tuple[Cut, ...] | None:
        """Return the cheapest cuts that need at most a limit in bytes, None if there are none."""
        count = len(self.alone)
        best: list[tuple[float, tuple[Cut, ...]]] = [(0.0, ()), *(((inf, ()),) * count)]
        for first in range(count):
            cost, before = best[first]
            if cost == inf:
                continue
            for cut in self._from(first, limit):
                total = cost + cut.cycles
                if total < best[cut.end][0]:
                    best[cut.end] = total, (*before, cut)
        return best[count][1] if best[count][0] < inf else None

    def smallest(self) -> tuple[Cut, ...]:
        """Return cuts that need about as few bytes as possible."""
        cuts = self.within(NO_LIMIT) or tuple(self.alone)
        low, high = 0, max((cut.bytes for cut in cuts), default=0)
        while high - low > max(ALIGNMENT, high // 256):
            limit = (low + high) // 2
            found = self.within(limit)
            if found is None:
                low = limit
            else:
                cuts, high = found, max((cut.bytes for cut in found), default=0)
        return cuts

    def _from(self, first: int, limit: int) -> Iterator[Cut]:
        """Yield the cuts that begin with a step and fit."""
        is_fed = first == 0 and bool(self._fed)
        if self.alone[first].bytes <= limit and not is_fed:
            yield self.alone[first]
        too_large = self.alone[first].bytes > limit or is_fed
        shortest = 1 if is_fed else 2
        for end in range(first + shortest, min(len(self.alone), first + LONGEST) + 1):
            if not self._rows[end - 1] or not self._rows[first]:
                return
            too_large |= self.alone[end - 1].bytes > limit
            target = self.schedule.writes(self.schedule.steps[end - 1])[0]
            if not too_large or self._around(first, end) - self._sizes[target] > limit:
                continue
            for rows in HEIGHTS:
                cut = self._cut(RowChain(first, end, rows))
                if cut is not None and cut.bytes <= limit:
                    yield cut
                    break

    def _around(self, first: int, end: int) -> int:
        """Return the bytes of the tensors outside a cut that are live in it."""
        last = end - 1
        return sum(
            size
            for i, size in self._sizes.items()
            if (min(self._lives[i]) < first or self._is_input(i) or max(self._lives[i]) > last)
            and min(self._lives[i]) <= last
            and max(self._lives[i]) >= first
        )

    def _is_input(self, tensor: int) -> bool:
        return tensor in self.schedule.graph.inputs

    def _may_overlap(self, tensor: int, chain: RowChain) -> bool:
        """Return whether a chain is the last to read a tensor that the memory plan places."""
        is_ours = bool(self._sizes[tensor]) and tensor not in self.schedule.plan.offsets
        return is_ours and max(self._lives[tensor]) < chain.end

    def _alone(self, index: int) -> Cut:
        step = self.schedule.steps[index]
        return Cut(index, index + 1, self.bytes_of(index, step))

    def bytes_of(self, index: int, step: Step) -> int:
        """Return the bytes that are live in a step, or in another one in its place."""
        scratch = self._scratch.get(index, 0)
        inside = self.schedule.plan.offsets if scratch else {}
        live = scratch + sum(
            size for i, size in self._sizes.items() if index in self._lives[i] and i not in inside
        )
        room = step.kernel.workspace_bytes if step.kernel else 0
        return live + room - self._saved(index, step)

    def _saved(self, index: int, step: Step) -> int:
        """Return the bytes of an output that lie over an input."""
        read, written = self.schedule.reads(step), self.schedule.writes(step)
        if len(written) != 1:
            return 0
        size = self._sizes[written[0]]
        last = [i for i in read if max(self._lives[i]) == index]
        shares = step.in_place or goes_in_place(step.operator) or step.operator.code in SAME_BYTES
        shares = shares or (step.kernel is not None and step.kernel.in_place)
        if shares and any(self._sizes[i] == size for i in last):
            return size
        distance = step.kernel.distance if step.kernel else None
        ends = {*read, *written}
        if distance is None or len(read) != 1 or not last or ends & {*self.schedule.plan.offsets}:
            return 0
        return max(0, min(size - rounded_up(distance, ALIGNMENT), self._sizes[read[0]]))

    def _cut(self, chain: RowChain) -> Cut | None:
        if chain not in self._cuts:
            pacing = pacing_of(self.schedule, chain)
            if pacing is not None and not self._is_fed_well(chain, pacing):
                pacing = None
            self._cuts[chain] = None if pacing is None else self._streamed(chain, pacing)
        return self._cuts[chain]

    def _is_fed_well(self, chain: RowChain, pacing: Pacing) -> bool:
        """Return whether a chain takes all inputs that the caller feeds, or none of them."""
        if not self._fed or chain.first:
            return True
        after = self.schedule.steps[chain.end :]
        is_read = any(i in self.schedule.reads(step) for step in after for i in self._fed)
        return pacing.inputs == self._fed and not is_read

    def _streamed(self, chain: RowChain, pacing: Pacing) -> Cut:
        around = self._around(chain.first, chain.end)
        rooms = max(self._rooms[chain.first : chain.end])
        size = around + rounded_up(buffer_bytes(pacing, self.tensors, ALIGNMENT) + rooms, ALIGNMENT)
        distance = distance_of(pacing, self.tensors)
        if distance is not None and self._may_overlap(pacing.inputs[0], chain):
            source, target = self._sizes[pacing.inputs[0]], self._sizes[pacing.output]
            size -= max(0, min(target - rounded_up(distance, ALIGNMENT), source))
        turns = len(pacing.turns)
        cycles = 0.0
        for link in pacing.links:
            pace = pacing.paces[link.output]
            most = 1 if link.reach.spans else max(pace.pace / pace.every, 1)
            cycles += CALL_CYCLES * (pace.rows / most) + TURN_CYCLES * turns
        for tensor, roll in pacing.rolls.items():
            pace = pacing.paces[tensor]
            moves = roll.kept * pace.rows / max(pace.pace / pace.every, 1)
            copied = pace.rows if tensor in pacing.inputs else 0
            cycles += BYTE_CYCLES * row_bytes(self.tensors[tensor]) * (moves + copied)
        return Cut(chain.first, chain.end, size, cycles, chain)


def _scratches(schedule: StepSchedule) -> dict[int, int]:
    """Return the bytes of Vela's scratch during the steps from the first partition to the last."""
    on_npu = [index for index, step in enumerate(schedule.steps) if step.on_npu]
    size = sum(scratch.bytes for scratch in schedule.plan.scratches)
    return dict.fromkeys(range(on_npu[0], on_npu[-1] + 1), size) if on_npu else {}


def chains_of(cuts: Sequence[Cut]) -> tuple[RowChain, ...]:
    """Return the chains among cuts."""
    return tuple(cut.chain for cut in cuts if cut.chain is not None)
