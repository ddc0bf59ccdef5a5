"""Memory over time: blocks lie in their areas, and live ones share no byte."""

from pathlib import Path

import pytest

from ethosgen.report.assembly import assemble
from ethosgen.report.content import MemoryBlock
from ethosgen.values.accelerator import NO_NPU
from tests.support.catalogue.recurrent import lstm
from tests.support.needs import needs_models
from tests.support.networks import NetworkBuilder
from tests.support.reports import CUT, observe, report_of
from tests.support.small_models import SHARED_MODELS


def clashes(blocks: tuple[MemoryBlock, ...]) -> list[tuple[MemoryBlock, MemoryBlock]]:
    """Return blocks that share bytes in a slot; in the slot of an operation, its output may
    overwrite its input."""
    return [
        (block, other)
        for place, block in enumerate(blocks)
        for other in blocks[place + 1 :]
        if block.offset < other.offset + other.bytes
        and other.offset < block.offset + block.bytes
        and max(block.first, other.first) < min(block.last, other.last)
    ]


@pytest.mark.parametrize(
    ("npu", "cpu_ops"),
    [
        (NO_NPU, ()),
        ("ethos-u55-128", ()),
        ("ethos-u55-128", CUT),
        ("ethos-u55-128", ("CONV_2D",)),
        ("ethos-u65-256", ("DEPTHWISE_CONV_2D",)),
        ("ethos-u85-512", ("ADD", "MAX_POOL_2D")),
    ],
)
def test_blocks_fit_and_do_not_clash(npu: str, cpu_ops: tuple[str, ...]) -> None:
    report = report_of(npu=npu, cpu_ops=cpu_ops)
    (arena,) = report.memory.areas
    assert arena.bytes == report.costs.arena_bytes
    assert max(block.offset + block.bytes for block in arena.blocks) <= arena.bytes
    assert all(0 <= b.first <= b.last < len(report.memory.slots) for b in arena.blocks)
    assert not clashes(arena.blocks)
    assert max(slot.end for slot in report.memory.slots) == report.costs.cycles


@needs_models
@pytest.mark.parametrize("name", ["kws_dscnn_int8", "person_detect_int8"])
def test_blocks_of_published_networks(name: str) -> None:
    report = report_of(SHARED_MODELS / f"{name}.tflite")
    (arena,) = report.memory.areas
    assert max(block.offset + block.bytes for block in arena.blocks) <= arena.bytes
    assert len(arena.blocks) > len(report.layers) // 2
    assert not [c for c in clashes(arena.blocks) if c[0].operator != c[1].operator]


@pytest.mark.parametrize(("npu", "cpu_ops"), [(NO_NPU, ()), ("ethos-u55-128", CUT)])
def test_the_peak_is_that_of_bytes_marked_one_by_one(npu: str, cpu_ops: tuple[str, ...]) -> None:
    memory = report_of(npu=npu, cpu_ops=cpu_ops).memory
    (arena,) = memory.areas
    used = []
    for slot in range(len(memory.slots)):
        marks = bytearray(arena.bytes)
        for block in arena.blocks:
            if block.first <= slot <= block.last:
                marks[block.offset : block.offset + block.bytes] = b"\x01" * block.bytes
        used.append(sum(marks))
    assert arena.peak_bytes == max(used) > 0
    assert arena.peak_slot == used.index(max(used))


def test_a_state_is_in_use_all_the_time(tmp_path: Path) -> None:
    net = NetworkBuilder("net")
    x = net.input((1, 4, 8), "int8", 0.05, 3)
    path = tmp_path / "lstm.tflite"
    path.write_bytes(net.build(lstm(net, x, 6)))
    observed = observe(path, "ethos-u85-256")
    states = [variable for variable in observed.program.variables if variable.memory == "arena"]
    report = assemble(observed)
    (arena,) = report.memory.areas
    drawn = [block for block in arena.blocks if block.kind == "variable"]
    assert states and len(drawn) == len(states)
    assert {(b.first, b.last) for b in drawn} == {(0, len(report.memory.slots) - 1)}


def test_every_planned_tensor_is_there_once() -> None:
    program = observe(cpu_ops=CUT).program
    (arena,) = report_of(cpu_ops=CUT).memory.areas
    for place in program.placements:
        same = [b for b in arena.blocks if b.name == place.name and b.kind != "weights"]
        assert [(b.offset, b.bytes) for b in same] == [(place.offset, place.bytes)]


def test_in_a_partition_operations_say_how_long_a_tensor_lives() -> None:
    report = report_of(cpu_ops=CUT)
    (arena,) = report.memory.areas
    by_name = {b.name: b for b in arena.blocks if b.kind != "weights"}
    slots = [slot.name for slot in report.memory.slots]
    assert slots[by_name["image"].last].startswith("CONV")  # not until the partition ends
    assert by_name["image"].first == by_name["image"].last == 0
    assert slots[by_name["conv_2"].first].startswith("CONV")
    assert slots[by_name["conv_2"].last] == "MAX_POOL_2D"
    assert slots[by_name["pool_3"].last].startswith("ADD")
