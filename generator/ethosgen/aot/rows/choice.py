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
from ethosgen.aot.libraries import least_cycles
from ethosgen.aot.memory.plan import lifetimes
from ethosgen.aot.registry import goes_in_place
from ethosgen.aot.rows.pacing import Pacing, distance_of
from ethosgen.aot.rows.patches import Patch
from ethosgen.aot.rows.reach import row_bytes
from ethosgen.aot.rows.streaming import RowChain, fed_inputs, patches_in, row_steps
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.values.multiples import rounded_up

HEIGHTS = tuple(map(Fraction, (16, 8, 4, 2, 1))) + tuple(Fraction(1, 2**i) for i in range(1, 6))
"""Rows of a chain's output in each turn that are tried, the cheapest first."""
NO_LIMIT = 2**40
"""More bytes than any arena has."""
LONGEST = 64
"""Most operators of a chain."""
PATCHES = (2, 4)
"""Numbers of patches that are tried where whole rows are too wide."""
PATCH_HEIGHTS = (Fraction(1), Fraction(1, 4))
MOST_PATCHED = 16
"""Most operators of a chain in patches: in longer ones they compute most columns twice."""
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
    """The cuts of a schedule whose kernels are built.

    With `is_over` outputs of single steps lie over inputs as far as each allows alone, which the
    memory plan may not reach for all of them together.
    """

    def __init__(self, schedule: StepSchedule, is_over: bool = False) -> None:
        self.schedule = schedule
        self._is_over = is_over
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
        self._estimates: dict[int, int] = {}
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
            fitting = self.within(limit)
            if fitting is None:
                low = limit
            else:
                cuts, high = fitting, max((cut.bytes for cut in fitting), default=0)
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
            cuts = (self._cut(chain) for chain in self._chains(first, end, limit))
            fitting = next((cut for cut in cuts if cut and cut.bytes <= limit), None)
            if fitting:
                yield fitting

    def _chains(self, first: int, end: int, limit: int) -> Iterator[RowChain]:
        """Yield the chains to try, the cheapest first: those in patches if no whole one fits."""
        yield from (RowChain(first, end, rows) for rows in HEIGHTS)
        least = self._cut(RowChain(first, end, HEIGHTS[-1]))
        around = self._around(first, end)
        is_sliced = self.schedule.plan.options.schedule.is_sliced
        if is_sliced or least is None or end - first > MOST_PATCHED:
            return
        for patches in PATCHES:
            if around + (least.bytes - around) // patches <= limit:
                yield from (RowChain(first, end, rows, patches) for rows in PATCH_HEIGHTS)

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
        if self._is_over:
            return Cut(index, index + 1, self.bytes_over(index, step))
        return Cut(index, index + 1, self._bytes(index, step) - self._in_place(index, step))

    def bytes_over(self, index: int, step: Step) -> int:
        """Return the bytes of a step, or another in its place, with the output over the input."""
        saved = self._in_place(index, step) or self._over_input(index, step)
        return self._bytes(index, step) - saved

    def _bytes(self, index: int, step: Step) -> int:
        scratch = self._scratch.get(index, 0)
        inside = self.schedule.plan.offsets if scratch else {}
        live = scratch + sum(
            size for i, size in self._sizes.items() if index in self._lives[i] and i not in inside
        )
        room = step.kernel.workspace_bytes if step.kernel else 0
        return live + room

    def _in_place(self, index: int, step: Step) -> int:
        """Return the bytes of an output that takes an input's place."""
        read, written = self.schedule.reads(step), self.schedule.writes(step)
        if len(written) != 1:
            return 0
        size = self._sizes[written[0]]
        last = [i for i in read if max(self._lives[i]) == index]
        shares = step.in_place or goes_in_place(step.operator) or step.operator.code in SAME_BYTES
        shares = shares or (step.kernel is not None and step.kernel.in_place)
        return size if shares and any(self._sizes[i] == size for i in last) else 0

    def _over_input(self, index: int, step: Step) -> int:
        """Return the bytes of an output that lie over an input at its kernel's distance."""
        read, written = self.schedule.reads(step), self.schedule.writes(step)
        if step.kernel is None or len(read) != 1 or len(written) != 1:
            return 0
        if max(self._lives[read[0]]) != index or {*read, *written} & {*self.schedule.plan.offsets}:
            return 0
        return step.kernel.shared_bytes(self._sizes[read[0]], self._sizes[written[0]], ALIGNMENT)

    def _cut(self, chain: RowChain) -> Cut | None:
        if chain not in self._cuts:
            patches = patches_in(self.schedule, chain)
            if patches and not self._is_fed_well(chain, patches[0].pacing):
                patches = None
            self._cuts[chain] = self._streamed(chain, patches) if patches else None
        return self._cuts[chain]

    def _is_fed_well(self, chain: RowChain, pacing: Pacing) -> bool:
        """Return whether a chain takes all inputs that the caller feeds, or none of them."""
        if not self._fed or chain.first:
            return True
        after = self.schedule.steps[chain.end :]
        is_read = any(i in self.schedule.reads(step) for step in after for i in self._fed)
        return pacing.inputs == self._fed and not is_read

    def _streamed(self, chain: RowChain, patches: Sequence[Patch]) -> Cut:
        around = self._around(chain.first, chain.end)
        rooms = max(self._rooms[chain.first : chain.end])
        buffers = max(patch.bytes(ALIGNMENT) for patch in patches)
        size = around + rounded_up(buffers + rooms, ALIGNMENT)
        if len(patches) == 1:
            size -= self._trailing(chain, patches[0].pacing)
        cycles = sum(self._added(patch) for patch in patches) + self._repeated(patches)
        return Cut(chain.first, chain.end, size, cycles, chain)

    def _trailing(self, chain: RowChain, pacing: Pacing) -> int:
        """Return the bytes of a chain's output that lie over its input."""
        distance = distance_of(pacing, self.tensors)
        if distance is None or not self._may_overlap(pacing.inputs[0], chain):
            return 0
        source, target = self._sizes[pacing.inputs[0]], self._sizes[pacing.output]
        return max(0, min(target - rounded_up(distance, ALIGNMENT), source))

    def _added(self, patch: Patch) -> float:
        """Return the cost of calls, turns and moved bytes."""
        cycles, pacing = 0.0, patch.pacing
        for link in pacing.links:
            pace = pacing.paces[link.output]
            is_by_row = link.reach.spans or patch.is_by_row(link)
            most = 1 if is_by_row else max(pace.pace / pace.every, 1)
            cycles += CALL_CYCLES * (pace.rows / most) + TURN_CYCLES * len(pacing.turns)
        for tensor, roll in pacing.rolls.items():
            pace = pacing.paces[tensor]
            moves = roll.kept * pace.rows / max(pace.pace / pace.every, 1)
            copied = pace.rows if tensor in pacing.inputs else 0
            cycles += BYTE_CYCLES * row_bytes(patch.tensors[tensor]) * (moves + copied)
        return cycles

    def _repeated(self, patches: Sequence[Patch]) -> float:
        """Return the cost of the columns that several patches compute."""
        cycles = 0.0
        for link in patches[0].pacing.links if len(patches) > 1 else ():
            width = self.tensors[link.output].shape[2]
            computed = sum(patch.tensors[link.output].shape[2] for patch in patches)
            cycles += self._cycles(link.op.index) * (computed / width - 1)
        return cycles

    def _cycles(self, operator: int) -> int:
        if operator not in self._estimates:
            graph, extension = self.schedule.graph, self.schedule.plan.extension
            op = next(s.operator for s in self.schedule.steps if s.operator.index == operator)
            self._estimates[operator] = least_cycles(graph, op, extension) or 0
        return self._estimates[operator]


def _scratches(schedule: StepSchedule) -> dict[int, int]:
    """Return the bytes of Vela's scratch during the steps from the first partition to the last."""
    on_npu = [index for index, step in enumerate(schedule.steps) if step.on_npu]
    size = sum(scratch.bytes for scratch in schedule.plan.scratches)
    return dict.fromkeys(range(on_npu[0], on_npu[-1] + 1), size) if on_npu else {}


def chains_of(cuts: Sequence[Cut]) -> tuple[RowChain, ...]:
    """Return the chains among cuts."""
    return tuple(cut.chain for cut in cuts if cut.chain is not None)
