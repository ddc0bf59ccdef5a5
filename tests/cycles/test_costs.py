"""Cycles are summed by block and function: each block after its predecessor, and taken branches."""

from collections.abc import Iterable, Mapping

import pytest

from ethosgen.cycles.code import CodeText
from ethosgen.cycles.costs import cost_of
from ethosgen.cycles.counting import CodeCount, Passage
from ethosgen.cycles.timing import Piece
from ethosgen.values.errors import ToolError

TEXT = """
firmware.elf:	file format elf32-littlearm

00000100 <first>:
     100:      	movs	r1, #5
     102:      	ldr	r2, [r5]
     104:      	subs	r1, #1
     106:      	bne	0x102 <first+0x2>         @ imm = #-8
     108:      	vldrw.u32	q0, [r2, q1]
     10c:      	vldrw.u32	q0, [r2]
     110:      	le	lr, 0x108 <first+0x8>     @ imm = #-12

00000114 <second>:
     114:      	bx	lr
"""
ENTRY, LOOP, SCATTERED, SECOND = (0x100, 0x108), (0x102, 0x108), (0x108, 0x114), (0x114, 0x116)


class EqualTimer:
    """Times each instruction as a cycle, and two in a repetition as one and a half."""

    def issue_cycles(self, pieces: Iterable[Piece]) -> Mapping[Piece, int]:
        return {piece: len(piece) for piece in pieces}

    def repeated_cycles(self, pieces: Iterable[Piece]) -> Mapping[Piece, float]:
        return {piece: 0.75 * len(piece) for piece in pieces}


def cost(*passages: Passage) -> dict[tuple[int, int], tuple[int, float]]:
    """Return times and cycles of each block."""
    count = CodeCount(0, 0, 0, 0, passages)
    costs = cost_of(count, CodeText(TEXT.splitlines()), EqualTimer()).blocks
    return {block.block: (block.times, block.cycles) for block in costs}


def test_a_block_costs_its_time_after_its_predecessor_and_the_branches_that_it_takes() -> None:
    known = cost(Passage(None, ENTRY, 1), Passage(ENTRY, LOOP, 1), Passage(LOOP, LOOP, 3))
    assert known[ENTRY] == (1, 4 + 2)
    assert known[LOOP] == (4, 3 + 3 * (0.75 * 3 + 2))


def test_loops_by_le_cost_only_their_body_and_gathers_a_cycle_for_each_element() -> None:
    known = cost(Passage(None, SCATTERED, 1), Passage(SCATTERED, SCATTERED, 9))
    gather = 4 - 0.75
    assert known[SCATTERED] == (10, 2 + gather + 9 * (0.75 * 2 + gather))


def test_a_branch_that_is_not_taken_costs_no_more() -> None:
    assert cost(Passage(None, LOOP, 1), Passage(LOOP, SCATTERED, 1))[LOOP] == (1, 3)


def test_functions_are_sums_of_their_blocks() -> None:
    passages = (Passage(None, ENTRY, 1), Passage(ENTRY, SECOND, 2), Passage(SECOND, LOOP, 2))
    costs = cost_of(CodeCount(0, 0, 0, 0, passages), CodeText(TEXT.splitlines()), EqualTimer())
    first, second = costs.functions()
    assert (first.name, first.cycles, first.instructions, first.blocks) == ("first", 14, 10, 2)
    assert (second.name, second.cycles, second.instructions) == ("second", 2 + 4, 2)
    assert costs.cycles == 20 and costs.instructions == 12
    assert [block.block for block in costs.hottest(1)] == [ENTRY]


def test_code_that_objdump_does_not_know_is_an_error() -> None:
    """It cost nothing once: llvm-objdump took a Cortex-M33's DSP instructions for unknown ones."""
    code = CodeText(["00000100 <first>:", "     100:      \t<unknown>", "     104:      \tnop"])
    count = CodeCount(0, 0, 0, 0, (Passage(None, (0x100, 0x106), 1),))
    with pytest.raises(ToolError, match="does not know the instruction at 0x100"):
        cost_of(count, code, EqualTimer())
