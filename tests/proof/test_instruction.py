"""Instructions whose encodings are alike, but for a bit that names another register."""

import pytest

from ethosgen.proof.instruction import decode


@pytest.mark.parametrize(
    ("first", "second"),
    [(0xECBD, 0x4F04), (0xECAD, 0x2F04)],
    ids=["vldrh.s32 q2, [r5], #8", "vstrh.32 q1, [r5], #8"],
)
def test_a_transfer_of_wider_lanes_has_a_low_register_as_its_base(first: int, second: int) -> None:
    instruction = decode(0, first, second)
    assert not instruction.is_wild and instruction.shift == 0 and 5 in instruction.changes


def test_a_transfer_of_words_that_moves_the_stack_pointer_is_not_decoded() -> None:
    assert decode(0, 0xECBD, 0x5F04).is_wild  # vldrw.32 q2, [sp], #16
