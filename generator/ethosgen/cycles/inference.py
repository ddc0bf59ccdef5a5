"""The processor's cycles of each inference of a firmware on QEMU, and of each of its steps.

The firmware reads its board's counter, in board_ticks(), where an inference begins and ends, where
the wait for an NPU or a device begins and ends, and, in a build for profiles, where a step begins.
Each read is a mark. Code in waits, and code that measures, is left out.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ethosgen.cycles.code import CodeText, read_code
from ethosgen.cycles.costs import PieceTimer, cost_of
from ethosgen.cycles.counting import BlockCounter, CodeCount
from ethosgen.cycles.models import model_of, source_of
from ethosgen.cycles.timing import BlockTimer
from ethosgen.values.errors import ToolError, UnsupportedError
from ethosgen.values.time import InferenceCycles

_LOOK = "board_ticks"
_HOOK = "ethosgen_profile_step"
_ENDS = 2
"""The network calls the hook after its last step, and so does the application."""
_MARKS = 2
"""An inference has a mark at its begin and one at its end."""
_MEASURES = re.compile(
    rf"{_LOOK}|{_HOOK}|profile_(next|begin|clear)|run|ticks_since|stop_counting|go_on_counting"
    r"|ethosgen_(npu|device)_(wait_begin|wait_end|begin|end|resume|reset_begin|reset_end)"
)
"""The functions of the application that measure, in its main.c and profile.c."""


class InferenceCounter:
    """Counts on QEMU the cost of a firmware's inferences on a core; a context with its files.

    `mark_addr` is the address of the counter that the firmware reads. UnsupportedError for a core
    without a model, or firmware that has no board_ticks(); ToolError without llvm-mca, QEMU, or a C
    compiler for this machine.
    """

    def __init__(self, elf: Path, core: str, mark_addr: int) -> None:
        self.source = source_of(core)
        model = model_of(core)
        self._timer = BlockTimer(model)
        self._code = read_code(elf, model)
        look = self._code.addresses(_LOOK)
        if look is None:
            raise UnsupportedError(f"the firmware does not read its counter in {_LOOK}()")
        self._folder = tempfile.TemporaryDirectory(prefix="ethosgen-cycles-")
        self._counter = BlockCounter(Path(self._folder.name), mark_addr, look=look)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    def arguments(self) -> list[str]:
        """Return the arguments of QEMU that count."""
        return self._counter.arguments()

    def start(self) -> None:
        """Forget the counts so far: the next inference is about to begin."""
        self._counter.fresh()

    def last(self) -> InferenceCycles | None:
        """Return the cycles of the inference that has just ended.

        None if it had no marks, or LLVM does not know its code.
        """
        counts = self._counter.fresh()
        if len(counts) < _MARKS:
            return None
        try:
            return inference_cycles(counts, self._code, self._timer)
        except ToolError:
            return None


@dataclass(frozen=True)
class _Stretch:
    """The code that ran between two reads by the firmware: `after` is the first one's function."""

    count: CodeCount
    after: str


def inference_cycles(
    counts: Sequence[CodeCount], code: CodeText, timer: PieceTimer
) -> InferenceCycles:
    """Return the cycles of an inference from the counts at its marks; the first is before it."""
    stretches = list(_stretches(counts[1:], code))
    parts: list[float] = [0.0]
    counting = True
    for number, stretch in enumerate(stretches):
        if stretch.after == _HOOK:
            parts.append(0.0)
        elif number:
            counting = not counting
        if counting:
            parts[-1] += _own_cycles(stretch.count, code, timer)
    steps = parts[1:-_ENDS]
    outside = sum(parts) - sum(steps)
    return InferenceCycles(round(sum(parts)), round(outside), tuple(map(round, steps)))


def _stretches(counts: Sequence[CodeCount], code: CodeText) -> Iterator[_Stretch]:
    """Yield the code between reads; a read may be several loads, all in board_ticks()."""
    for count in counts:
        after = next((name for name in _order(count, code) if name != _LOOK), "")
        if after:
            yield _Stretch(count, after)


def _order(count: CodeCount, code: CodeText) -> Iterator[str]:
    """Yield the functions that ran first, as long as the path is unique."""
    following = {passage.before: passage.block for passage in reversed(count.passages)}
    block, seen = following.get(None), set()
    while block is not None and block not in seen:
        seen.add(block)
        yield code.function(block[0])
        block = following.get(block)


def _own_cycles(count: CodeCount, code: CodeText, timer: PieceTimer) -> float:
    cost = cost_of(count, code, timer)
    return sum(block.cycles for block in cost.blocks if not _MEASURES.fullmatch(block.function))
