"""The search for addresses: as few bytes as any order of placing, and never a false bound."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ethosgen.aot.graph.storage import ALIGNMENT
from ethosgen.aot.memory import placement
from ethosgen.aot.memory.block import Block
from ethosgen.aot.memory.placement import PlacedBlocks, place

LONGEST, STEPS = 3, 6


def make_block(
    name: str, size: int, first: int, last: int, at: int | None = None, alignment: int = ALIGNMENT
) -> Block:
    steps = frozenset(range(first, last + 1))
    return Block(name, size, steps, offset=at, is_fixed=at is not None, alignment=alignment)


def made(sizes: Sequence[tuple[int, int, int]]) -> tuple[Block, ...]:
    """Return blocks of (bytes, first step, last step)."""
    return tuple(make_block(f"b{i}", *some) for i, some in enumerate(sizes))


@st.composite
def puzzles(draw: st.DrawFn) -> tuple[Block, ...]:
    """Draw up to 5 blocks and up to 2 that are fixed."""

    def block(name: str, is_fixed: bool) -> Block:
        first = draw(st.integers(0, STEPS - 1))
        last = min(STEPS, first + draw(st.integers(0, LONGEST)))
        at = ALIGNMENT * draw(st.integers(0, 6)) if is_fixed else None
        alignment = draw(st.sampled_from((16, 16, 32)))
        return make_block(name, draw(st.integers(1, 100)), first, last, at, alignment)

    free = [block(f"b{i}", False) for i in range(draw(st.integers(1, 5)))]
    fixed = [block(f"f{i}", True) for i in range(draw(st.integers(0, 2)))]
    return (*free, *fixed)


def height(blocks: Sequence[Block]) -> int:
    return max(block.bytes + (block.offset or 0) for block in blocks)


def fits(block: Block, at: int, placed: Sequence[Block]) -> bool:
    return not any(
        at < (other.offset or 0) + other.bytes
        and (other.offset or 0) < at + block.bytes
        and other.steps & block.steps
        for other in placed
    )


def in_order(blocks: Sequence[Block]) -> int:
    """Return the bytes if blocks are placed in this order, each at the lowest free address."""
    placed = [block for block in blocks if block.offset is not None]
    for block in (block for block in blocks if block.offset is None):
        at = 0
        while not fits(block, at, placed):
            at += block.alignment
        placed.append(make_block(block.name, block.bytes, min(block.steps), max(block.steps), at))
    return height(placed)


def least(blocks: Sequence[Block]) -> int:
    """Return the fewest bytes: some order of placing reaches them."""
    return min(map(in_order, itertools.permutations(blocks)))


def check(found: PlacedBlocks) -> None:
    for block in found.blocks:
        assert block.offset is not None and (block.is_fixed or block.offset % block.alignment == 0)
    for first, second in itertools.combinations(found.blocks, 2):
        both_fixed = first.is_fixed and second.is_fixed
        assert both_fixed or not (first.steps & second.steps and first.overlaps(second))
    assert found.bytes == height(found.blocks) >= found.bound_bytes


@given(puzzles())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_order_of_placing_needs_fewer_bytes(blocks: tuple[Block, ...]) -> None:
    found = place(blocks)
    check(found)
    assert found.bytes == least(blocks) == found.bound_bytes


@given(puzzles())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_exact_search_alone_finds_as_few(blocks: tuple[Block, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "CHANGES", 0)
        found = place.__wrapped__(blocks)
    check(found)
    assert found.bytes == least(blocks) == found.bound_bytes


HARD = made(
    [
        (3072, 0, 1), (2048, 1, 2), (4096, 2, 3), (1024, 0, 3), (2048, 3, 5), (1024, 4, 6),
        (3072, 5, 7), (4096, 6, 7), (1024, 2, 5), (2048, 7, 9), (4096, 8, 9), (1024, 7, 8),
    ]
)  # fmt: skip
"""A network with branches for which blocks in the order of their sizes need 11,264 bytes."""


def test_the_bound_is_reached_where_the_largest_first_do_not_reach_it() -> None:
    by_size = sorted(HARD, key=lambda block: -block.bytes)
    found = place(HARD)
    check(found)
    assert found.bytes == found.bound_bytes < in_order(by_size)


def test_without_a_search_the_largest_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "CHANGES", 0)
    monkeypatch.setattr(placement, "NODES", 0)
    found = place.__wrapped__(HARD)
    check(found)
    assert found.bytes <= in_order(sorted(HARD, key=lambda block: -block.bytes))
    assert found.bound_bytes <= place(HARD).bytes


def test_the_same_blocks_have_the_same_addresses() -> None:
    assert place.__wrapped__(HARD) == place.__wrapped__(HARD)


def test_no_blocks_need_no_bytes() -> None:
    assert place(()) == PlacedBlocks((), 0, 0)
