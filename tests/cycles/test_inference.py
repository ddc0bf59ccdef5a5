"""What runs in an inference is counted: not in waits, not where the application measures."""

from itertools import pairwise

from ethosgen.cycles.code import CodeText
from ethosgen.cycles.counting import CodeCount, Passage
from ethosgen.cycles.inference import inference_cycles
from tests.cycles.test_costs import EqualTimer

TEXT = """
00000100 <board_ticks>:
     100:      	ldr	r0, [r1]
     102:      	bx	lr
00000110 <run>:
     110:      	bl	0x130
00000120 <ethosgen_profile_step>:
     120:      	bx	lr
00000130 <net_run>:
     130:      	movs	r1, #5
     132:      	movs	r1, #5
     134:      	nop
00000140 <ethosgen_npu_wait_begin>:
     140:      	bx	lr
00000150 <ethosgen_npu_begin>:
     150:      	bx	lr
00000160 <board_wait>:
     160:      	wfi
"""
CODE = CodeText(TEXT.splitlines())
TICKS, RUN, HOOK = (0x102, 0x104), (0x110, 0x112), (0x120, 0x122)
NET = (0x130, 0x136)
WAIT, BEGIN, SLEEP = (0x140, 0x142), (0x150, 0x152), (0x160, 0x162)
BEFORE = CodeCount(9, 0, 0, 0, (Passage(None, SLEEP, 9),))


def ran(*blocks: tuple[int, int]) -> CodeCount:
    """Return the count of blocks that ran one after the other since a look at the counter."""
    order = (None, TICKS, *blocks)
    passages = tuple(Passage(before, block, 1) for before, block in pairwise(order) if block)
    return CodeCount(0, 0, 0, 0, passages)


def cycles(*counts: CodeCount) -> tuple[int, int, tuple[int, ...]]:
    known = inference_cycles((BEFORE, *counts), CODE, EqualTimer())
    return known.total, known.outside, tuple(known.steps)


def test_only_the_networks_own_code_counts() -> None:
    alone = 3 + 2  # and the branch to the next block
    assert cycles(ran(RUN, NET, RUN)) == (alone, alone, ())


def test_a_wait_is_left_out() -> None:
    assert cycles(ran(RUN, NET, WAIT), ran(WAIT, SLEEP, NET, BEGIN), ran(BEGIN, NET, RUN)) == (
        10,
        10,
        (),
    )


def test_a_look_may_be_several_loads() -> None:
    again = CodeCount(0, 0, 0, 0, (Passage(None, TICKS, 1),))
    counts = ran(RUN, NET, WAIT), again, ran(WAIT, SLEEP), again, ran(BEGIN, NET, RUN), again
    assert cycles(*counts)[0] == 10


def test_steps_begin_at_the_hook() -> None:
    ends = ran(HOOK, NET, HOOK), ran(HOOK, RUN)
    counts = ran(RUN, NET, HOOK), ran(HOOK, NET, NET, HOOK), *ends
    assert cycles(*counts) == (19, 10, (9,)), "3, then 2.25, and two branches"
