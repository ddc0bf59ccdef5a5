"""A thousand damaged command streams: each ends in a normal stop or a typed fault, in time."""

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.simulator import registers as reg
from ethosgen.backend.ethosu.simulator.effort import futile
from ethosgen.backend.ethosu.simulator.machine import Machine, load
from ethosgen.backend.ethosu.simulator.memory import Bus
from ethosgen.values.errors import NpuFault
from tests.support.assembling import assemble
from tests.support.npu_bench import STOP, Bench, Program, ifm, kernel, ofm, sets
from tests.support.npu_fuzz import (
    LIMIT_S,
    MUTATIONS,
    NETWORKS,
    GuardedMemory,
    fate,
    lay_out,
    make,
    run,
    victims,
)

COUNT = 1000
PARTS = 4
"""Enough for workers to share, and of about two seconds each; `make fuzz` runs 100,000."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("generation", NETWORKS)
def test_damaged_streams(part: int, generation: str) -> None:
    tally = run(range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS), generation)
    assert not tally.failures
    assert tally.longest_s < LIMIT_S
    assert sum(tally.ends.values()) == COUNT // PARTS
    # Were they all refused at their first word, nothing would have been tried.
    assert min(tally.ends[end] for end in ("stop", "parse", "bus")) > COUNT // PARTS // 20


@pytest.mark.slow
@pytest.mark.parametrize("generation", NETWORKS)
def test_every_mutation_and_victim_is_used(generation: str) -> None:
    mutants = [make(number, generation) for number in range(300)]
    assert {victim.name for victim, _, _ in mutants} == {v.name for v in victims(generation)}
    names = {victim.name.partition(" on ")[0] for victim, _, _ in mutants}
    assert names == set(NETWORKS[generation])
    assert {how for _, _, names in mutants for how in names} == set(MUTATIONS)


def test_a_mutant_is_the_same_again() -> None:
    (_, first_mutant, _), (_, other, _) = make(77), make(77)
    assert first_mutant == other
    assert fate(77)[:2] == fate(77)[:2]


@pytest.mark.parametrize("number", [1046, 53175, 57511])
def test_what_was_once_wrong(number: int) -> None:
    # An estimate that walked 2**24 kernel elements; a block of one channel for two cores.
    assert fate(number)[:2] in {("bus", None), ("parse", None)}


@pytest.mark.parametrize("number", [983, 1692, 2684, 39548, 45213])
def test_what_was_once_wrong_on_u85(number: int) -> None:
    # Fast weights of a depthwise convolution; RESIZE to another depth; RESIZE with a long step
    # between its axes; a matrix product that upscales.
    assert fate(number, "u85")[:2] in {("parse", None), ("timeout", None)}


@pytest.mark.slow
def test_damaged_streams_end_at_the_register_face_too() -> None:
    channels = set()
    for number in range(120):
        victim, mutant, _ = make(number)
        memories, size = lay_out(victim, mutant)
        machine = Machine(victim.accelerator, Bus([memory.segment for memory in memories]))
        page = np.zeros(machine.accelerator.register_bytes // 4, np.uint32)
        file = reg.RegisterFile(page, machine, lambda: None)
        file.power_on()
        page[reg.RESET // 4] = 1
        file.poll()
        page[reg.QBASE // 4], page[reg.QSIZE // 4] = memories[0].segment.start, size
        for index, base in enumerate(mutant.bases[:8]):
            page[reg.BASEP0 // 4 + 2 * index] = base & 0xFFFF_FFFF
        page[reg.CMD // 4] |= reg.CMD_RUN
        file.poll()
        status = int(page[reg.STATUS // 4])
        assert status & reg.STATUS_IRQ_RAISED
        assert bool(status & reg.STATUS_CMD_END_REACHED) != bool(status & reg.STATUS_FAULTS)
        if status & reg.STATUS_BUS_STATUS:
            channels.add(status >> reg.STATUS_FAULTING_CHANNEL_LSB & 0xF)
    assert len(channels) >= 4


def test_canaries_tell() -> None:
    guarded = GuardedMemory(0, bytes(16), False, "constants")
    assert guarded.damage() is None
    guarded.segment.memory[3] = 1
    assert guarded.damage() == "read-only constants was written"
    neighbour = GuardedMemory(0, b"", True, "scratch", 16)
    beyond = np.ndarray((17,), np.uint8, neighbour.segment.memory.base, offset=1 << 14)
    beyond[16] = 0
    assert neighbour.damage() == "the canary around scratch was written"


def test_more_work_than_the_limit_is_a_fault_before_it_is_done() -> None:
    pool: Program = [*ifm(0, (64, 64, 8)), *ofm(0x8000, (64, 64, 8)), *kernel(1, 1)]
    pool.append(("NPU_OP_POOL", {"pooling_mode": 1}))
    bench = Bench()
    bench.machine = Machine(bench.machine.accelerator, bench.machine.bus, limit_s=0.1)
    bench.run(pool)
    with pytest.raises(NpuFault) as caught:
        bench.run(pool + pool[-1:] * 200)
    assert caught.value.kind == "timeout"
    assert caught.value.command == "NPU_OP_POOL"


def test_a_fault_that_costs_nothing_comes_before_the_limit_of_futile_work() -> None:
    pool: Program = [*ifm(0, (64, 64, 8)), *ofm(0x8000, (64, 64, 8)), *kernel(1, 1)]
    outside = sets(IFM_BASE0=1 << 20)
    bench = Bench()
    for program, kind in ((pool, "timeout"), ([*pool, *outside], "bus")):
        bench.machine = Machine(bench.machine.accelerator, bench.machine.bus, limit_s=0.0)
        with pytest.raises(NpuFault) as caught:
            bench.run(program, sets(OFM_STRIDE_Y=0), [("NPU_OP_POOL", {"pooling_mode": 1})])
        assert caught.value.kind == kind


def _pools(
    second_address: int, stride_y: int, times: int = 1, tiles: Program | None = None
) -> list[float]:
    """Return the futile seconds up to each of 1 + `times` pools."""
    program: Program = [*ifm(0, (64, 64, 8)), *kernel(1, 1)]
    for address, count in ((0x8000, 1), (second_address, times)):
        program += [*ofm(address, (64, 64, 8)), *sets(OFM_STRIDE_Y=stride_y), *(tiles or [])]
        program += [("NPU_OP_POOL", {"pooling_mode": 1})] * count
    accelerator = find_accelerator("ethos-u55-128")
    return list(futile(load(assemble([*program, *STOP]), accelerator).steps))


def test_work_is_futile_that_is_repeated_or_done_on_top_of_itself() -> None:
    assert _pools(0x9000, 512) == [0.0, 0.0]
    assert _pools(0x9000, -512) == [0.0, 0.0]
    assert _pools(0x8000, 512) == [0.0, 0.0]
    assert _pools(0x9000, 0)[0] > 0
    # Tiles of one row or column do not hide that the rest lies on top of itself.
    assert _pools(0x9000, 0, tiles=sets(OFM_HEIGHT0_M1=0, OFM_BASE2=0xA000))[0] > 0
    one_column = sets(OFM_WIDTH0_M1=0, OFM_BASE1=0xA000)
    assert _pools(0x9000, 512, tiles=[*one_column, *sets(OFM_STRIDE_X=0)])[0] > 0
    assert _pools(0x9000, 512, tiles=one_column) == [0.0, 0.0]
    assert [seconds > 0 for seconds in _pools(0x8000, 512, 5)] == [False] * 4 + [True] * 2
