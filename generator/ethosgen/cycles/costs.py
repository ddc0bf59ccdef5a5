"""The cycles of executed code: of each block by its predecessor, by block and by function."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ethosgen.cycles.code import UNKNOWN, CodeLine, CodeText
from ethosgen.cycles.counting import Addresses, CodeCount, Passage
from ethosgen.cycles.models import LOOP_ENDS, PLAIN, TAKEN, WITHOUT_MODEL
from ethosgen.cycles.timing import Piece
from ethosgen.values.errors import ToolError

_SCATTERED = re.compile(r"(v(?:ldr|str)[bhwd])[te]?(\.[a-z]?(\d+) q\d, \[(?:\w+, )?q\d.*)")
"""A gather or a scatter: without its condition, and the bits of its elements."""
_CALLS = {"bl": "b", "blx": "bx"}
"""llvm-mca takes calls to last a hundred cycles; the branches beside them cost what these do."""
_VECTOR_BITS = 128


class PieceTimer(Protocol):
    """Times pieces of code on a core, as BlockTimer does."""

    def issue_cycles(self, pieces: Iterable[Piece]) -> Mapping[Piece, int]:
        """Return the cycles until the code after each piece could be issued."""

    def repeated_cycles(self, pieces: Iterable[Piece]) -> Mapping[Piece, float]:
        """Return the cycles of each piece that runs again and again."""


@dataclass(frozen=True)
class BlockCost:
    """A block of code: its place, its number of runs, and the cycles of all its runs.

    A taken branch's cycles count for the block that it ends.
    """

    block: Addresses
    function: str
    lines: tuple[CodeLine, ...]
    times: int
    cycles: float

    @property
    def instructions(self) -> int:
        """The instructions of all runs."""
        return self.times * len(self.lines)


@dataclass(frozen=True)
class FunctionCost:
    """The cycles and instructions in a function itself, and the number of its blocks that ran."""

    name: str
    cycles: float
    instructions: int
    blocks: int


@dataclass(frozen=True)
class CodeCost:
    """The cost of the code that ran between two marks."""

    blocks: tuple[BlockCost, ...]

    @property
    def cycles(self) -> float:
        """All cycles."""
        return sum(cost.cycles for cost in self.blocks)

    @property
    def instructions(self) -> int:
        """All instructions."""
        return sum(cost.instructions for cost in self.blocks)

    def functions(self) -> list[FunctionCost]:
        """Return the cost of each function, the one with the most cycles first."""
        by_name: dict[str, list[BlockCost]] = {}
        for cost in self.blocks:
            by_name.setdefault(cost.function, []).append(cost)
        costs = (
            FunctionCost(
                name,
                sum(cost.cycles for cost in some),
                sum(cost.instructions for cost in some),
                len(some),
            )
            for name, some in by_name.items()
        )
        return sorted(costs, key=lambda cost: -cost.cycles)

    def hottest(self, count: int) -> list[BlockCost]:
        """Return the blocks with the most cycles."""
        return sorted(self.blocks, key=lambda cost: -cost.cycles)[:count]


def cost_of(count: CodeCount, code: CodeText, timer: PieceTimer) -> CodeCost:
    """Return the cycles of counted code; ToolError for code that LLVM does not know."""
    pieces = _Pieces(code, count.passages)
    cycles = dict.fromkeys(pieces.by_block, 0.0)
    times = dict.fromkeys(pieces.by_block, 0)
    alone, repeated = pieces.times(timer)
    scattered = pieces.scattered(timer)
    for passage in count.passages:
        block, before = passage.block, passage.before
        each = scattered[block]
        if before is None:
            each += alone[pieces.by_block[block]]
        elif before == block:
            each += repeated[pieces.by_block[block]]
        else:
            first = pieces.by_block[before]
            each += alone[first + pieces.by_block[block]] - alone[first]
        cycles[block] += each * passage.times
        times[block] += passage.times
        if before is not None and pieces.is_taken(before, block):
            cycles[before] += TAKEN * passage.times
    return CodeCost(
        tuple(
            BlockCost(block, code.function(block[0]), pieces.lines[block], times[block], cost)
            for block, cost in cycles.items()
        )
    )


class _Pieces:
    """The blocks of some passages as pieces for llvm-mca."""

    def __init__(self, code: CodeText, passages: Iterable[Passage]) -> None:
        self._passages = tuple(passages)
        blocks = dict.fromkeys(
            block for p in self._passages for block in (p.before, p.block) if block is not None
        )
        self.lines = {block: tuple(code.block(block)) for block in blocks}
        _require_known(line for lines in self.lines.values() for line in lines)
        self.by_block = {block: _piece(lines) for block, lines in self.lines.items()}

    def is_taken(self, before: Addresses, block: Addresses) -> bool:
        """Return whether a branch that costs something leads from one block to another."""
        lines = self.lines[before]
        return before[1] != block[0] and not (lines and lines[-1].mnemonic in LOOP_ENDS)

    def times(self, timer: PieceTimer) -> tuple[Mapping[Piece, int], Mapping[Piece, float]]:
        """Return the cycles of blocks and of pairs of blocks, and of blocks that repeat."""
        wanted = dict.fromkeys(self._wanted())
        selves = {p.block for p in self._passages if p.before == p.block}
        repeated = timer.repeated_cycles(self.by_block[block] for block in selves)
        return timer.issue_cycles(wanted), repeated

    def _wanted(self) -> Iterator[Piece]:
        for passage in self._passages:
            piece = self.by_block[passage.block]
            if passage.before is None:
                yield piece
            elif passage.before != passage.block:
                yield self.by_block[passage.before]
                yield self.by_block[passage.before] + piece

    def scattered(self, timer: PieceTimer) -> Mapping[Addresses, float]:
        """Return the cycles by which the model underestimates gathers and scatters."""
        accesses = {
            block: [
                (match[1] + match[2], int(match[3])) for line in lines if (match := _match(line))
            ]
            for block, lines in self.lines.items()
        }
        texts = dict.fromkeys((text,) for some in accesses.values() for text, _ in some)
        known = timer.repeated_cycles(texts)
        return {
            block: sum(max(0.0, _VECTOR_BITS // bits - known[text,]) for text, bits in some)
            for block, some in accesses.items()
        }


def _require_known(lines: Iterable[CodeLine]) -> None:
    for line in lines:
        if line.text == UNKNOWN:
            raise ToolError(f"llvm-objdump does not know the instruction at {line.addr:#x}")


def _match(line: CodeLine) -> re.Match[str] | None:
    return _SCATTERED.match(line.text)


def _piece(lines: Iterable[CodeLine]) -> Piece:
    return tuple(_timed(line) for line in lines if line.mnemonic not in LOOP_ENDS)


def _timed(line: CodeLine) -> str:
    if line.mnemonic.partition(".")[0] in WITHOUT_MODEL:
        return PLAIN
    name = line.mnemonic
    return line.text.replace(name, _CALLS.get(name, name), 1)
