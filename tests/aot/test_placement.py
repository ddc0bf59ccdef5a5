"""The search for addresses: as few bytes as any order of placing, and never a false bound."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ethosgen.aot.graph.storage import ALIGNMENT
from ethosgen.aot.memory import placement
from ethosgen.aot.memory.block import Block, Trail
from ethosgen.aot.memory.placement import PlacedBlocks, place

LONGEST, STEPS = 3, 6


def make_block(
    name: str, size: int, first: int, last: int, at: int | None = None, alignment: int = ALIGNMENT
) -> Block:
    steps = frozenset(range(first, last + 1))
    return Block(name, size, steps, offset=at, is_fixed=at is not None, alignment=alignment)


def blocks_of(sizes: Sequence[tuple[int, int, int]]) -> tuple[Block, ...]:
    """Return blocks of (bytes, first step, last step)."""
    return tuple(make_block(f"b{i}", *some) for i, some in enumerate(sizes))


Puzzle = tuple[tuple[Block, ...], tuple[Trail, ...]]


@st.composite
def puzzles(draw: st.DrawFn) -> Puzzle:
    """Draw up to 5 blocks, up to 2 that are fixed, and trails of blocks that meet in one step."""

    def block(name: str, is_fixed: bool) -> Block:
        first = draw(st.integers(0, STEPS - 1))
        last = min(STEPS, first + draw(st.integers(0, LONGEST)))
        at = ALIGNMENT * draw(st.integers(0, 6)) if is_fixed else None
        alignment = draw(st.sampled_from((16, 16, 32)))
        return make_block(name, draw(st.integers(1, 100)), first, last, at, alignment)

    free = [block(f"b{i}", False) for i in range(draw(st.integers(1, 5)))]
    fixed = [block(f"f{i}", True) for i in range(draw(st.integers(0, 2)))]
    meeting = [
        (later, earlier)
        for later, earlier in itertools.permutations(range(len(free)), 2)
        if max(free[earlier].steps) == min(free[later].steps)
    ]
    chosen = draw(st.lists(st.sampled_from(meeting), max_size=2, unique=True)) if meeting else []
    trails = tuple(Trail(*pair, draw(st.integers(1, 60))) for pair in chosen)
    return (*free, *fixed), trails if len({t.output for t in trails}) == len(trails) else ()


def height(blocks: Sequence[Block]) -> int:
    return max(block.bytes + (block.offset or 0) for block in blocks)


Distances = dict[tuple[str, str], int]


def are_apart(block: Block, at: int, other: Block, distances: Distances) -> bool:
    """Return whether two blocks of the same step share no byte, but as an output may."""
    above = (other.offset or 0) - at
    below = min(block.bytes, distances.get((block.name, other.name), block.bytes))
    return above >= below or -above >= min(
        other.bytes, distances.get((other.name, block.name), other.bytes)
    )


def in_order(blocks: Sequence[Block], distances: Distances | None = None) -> int:
    """Return the bytes if blocks are placed in this order, each at the lowest free address."""
    placed = [block for block in blocks if block.offset is not None]
    for block in (block for block in blocks if block.offset is None):
        at, near = 0, [other for other in placed if other.steps & block.steps]
        while not all(are_apart(block, at, other, distances or {}) for other in near):
            at += block.alignment
        placed.append(replace(block, offset=at))
    return height(placed)


def least(blocks: Sequence[Block], distances: Distances) -> int:
    """Return the fewest bytes: some order of placing reaches them."""
    return min(in_order(order, distances) for order in itertools.permutations(blocks))


def distances_of(blocks: Sequence[Block], trails: Sequence[Trail]) -> Distances:
    return {(blocks[t.output].name, blocks[t.input].name): t.distance for t in trails}


def check(placed: PlacedBlocks, distances: Distances | None = None) -> None:
    for block in placed.blocks:
        assert block.offset is not None and (block.is_fixed or block.offset % block.alignment == 0)
    for first, second in itertools.combinations(placed.blocks, 2):
        both_fixed = first.is_fixed and second.is_fixed
        are_together = first.steps & second.steps and not both_fixed
        assert not are_together or are_apart(first, first.offset or 0, second, distances or {})
    assert placed.bytes == height(placed.blocks) >= placed.bound_bytes


@given(puzzles())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_order_of_placing_needs_fewer_bytes(puzzle: Puzzle) -> None:
    placed, distances = place(*puzzle), distances_of(*puzzle)
    check(placed, distances)
    assert placed.bytes == least(puzzle[0], distances) == placed.bound_bytes


@given(puzzles())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_exact_search_alone_finds_as_few(puzzle: Puzzle) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "CHANGES", 0)
        placed = place.__wrapped__(*puzzle)
    check(placed, distances_of(*puzzle))
    assert placed.bytes == least(puzzle[0], distances_of(*puzzle)) == placed.bound_bytes


HARD = blocks_of(
    [
        (3072, 0, 1), (2048, 1, 2), (4096, 2, 3), (1024, 0, 3), (2048, 3, 5), (1024, 4, 6),
        (3072, 5, 7), (4096, 6, 7), (1024, 2, 5), (2048, 7, 9), (4096, 8, 9), (1024, 7, 8),
    ]
)  # fmt: skip
"""A network with branches for which blocks in the order of their sizes need 11,264 bytes."""


def test_the_bound_is_reached_where_the_largest_first_do_not_reach_it() -> None:
    by_size = sorted(HARD, key=lambda block: -block.bytes)
    placed = place(HARD)
    check(placed)
    assert placed.bytes == placed.bound_bytes < in_order(by_size)


def test_without_a_search_the_largest_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "CHANGES", 0)
    monkeypatch.setattr(placement, "EFFORT", 0)
    placed = place.__wrapped__(HARD)
    check(placed)
    assert placed.bytes <= in_order(sorted(HARD, key=lambda block: -block.bytes))
    assert placed.bound_bytes <= place(HARD).bytes


def test_the_same_blocks_have_the_same_addresses() -> None:
    assert place.__wrapped__(HARD) == place.__wrapped__(HARD)


def test_no_blocks_need_no_bytes() -> None:
    assert place(()) == PlacedBlocks((), 0, 0)
