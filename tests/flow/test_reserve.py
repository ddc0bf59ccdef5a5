"""Room for other weights in the NPU's scratch."""

from dataclasses import replace
from pathlib import Path

from ethosgen.flow.reserve import (
    LEAST_RESERVE_BYTES,
    RESERVE_PART,
    stored_scratches,
    with_reserve,
)
from ethosgen.values.plan import Plan, Scratch
from tests.support.programs import SCRATCH_BYTES, make_program

LARGE_BYTES = 1 << 20


def make_plan(*scratches: Scratch) -> Plan:
    return replace(make_program().plan, scratches=scratches)


def sizes(plan: Plan) -> list[int]:
    return [scratch.bytes for scratch in plan.scratches]


def test_the_scratch_in_the_arena_gets_a_part_more() -> None:
    small = with_reserve(make_plan(Scratch("scratch", 100, offset=0)), {})
    assert small.apart
    assert sizes(small) == [176]  # a multiple of 16
    large = with_reserve(make_plan(Scratch("scratch", LARGE_BYTES, offset=0)), {})
    assert sizes(large) == [LARGE_BYTES + LARGE_BYTES // RESERVE_PART]


def test_other_scratches_stay() -> None:
    plan = make_plan(Scratch("scratch", 0, offset=0), Scratch("fast", 4096, is_fast=True))
    assert sizes(with_reserve(plan, {})) == [0, 4096]


def test_the_known_size_is_kept_while_it_is_enough() -> None:
    plan = make_plan(Scratch("scratch", 1000, offset=0))
    assert sizes(with_reserve(plan, {"scratch": 1000})) == [1000]
    assert sizes(with_reserve(plan, {"scratch": 5000})) == [5000]
    grown = sizes(with_reserve(plan, {"scratch": 999}))
    assert grown[0] >= 1000 + LEAST_RESERVE_BYTES


def test_a_folder_without_a_project_has_none(tmp_path: Path) -> None:
    program = make_program()
    assert stored_scratches(tmp_path, program.plan.network) == {}
    assert sizes(program.plan)[0] == SCRATCH_BYTES
