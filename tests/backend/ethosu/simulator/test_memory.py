"""The bus: segments, ranges, windows."""

import numpy as np
import pytest

from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.values.errors import NpuFault

BYTE = np.dtype(np.uint8)


@pytest.fixture
def bus() -> Bus:
    return Bus(
        [
            Segment(0x100, np.arange(32, dtype=np.uint8), True, "ram"),
            Segment(0x80, np.full(16, 7, np.uint8), False, "rom"),
        ]
    )


def test_reads_and_writes_reach_the_memory(bus: Bus) -> None:
    assert bus.read(0x102, 3) == b"\2\3\4"
    bus.write(0x102, b"\xaa\xbb")
    assert bus.read(0x101, 4) == b"\1\xaa\xbb\4"


@pytest.mark.parametrize(("address", "length"), [(0xFF, 2), (0x11F, 2), (0x8F, 2), (0, 1), (-4, 4)])
def test_a_range_outside_is_a_bus_fault(bus: Bus, address: int, length: int) -> None:
    with pytest.raises(NpuFault, match="read outside the memories") as caught:
        bus.read(address, length)
    assert caught.value.kind == "bus"


def test_read_only_memory_is_not_written(bus: Bus) -> None:
    with pytest.raises(NpuFault, match="write to read-only memory 'rom'"):
        bus.write(0x80, b"x")
    assert bus.read(0x80, 1) == b"\7"


def test_a_window_lies_on_the_memory_with_any_stride(bus: Bus) -> None:
    window = bus.window(0x11F, (2, 3), (-8, -1), BYTE)
    assert window.tolist() == [[31, 30, 29], [23, 22, 21]]
    bus.window(0x100, (2,), (4,), BYTE, write=True)[...] = 9
    assert bus.read(0x100, 5) == b"\x09\1\2\3\x09"


@pytest.mark.parametrize(
    ("address", "shape", "strides"),
    [(0x11F, (2,), (1,)), (0x100, (2,), (-1,)), (0x100, (3, 17), (16, 1))],
)
def test_a_window_that_leaves_its_segment_is_a_bus_fault(
    bus: Bus, address: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    with pytest.raises(NpuFault, match="outside the memories"):
        bus.window(address, shape, strides, BYTE)


def test_no_bytes_may_have_any_address(bus: Bus) -> None:
    assert bus.view(0x99999, 0).size == 0
    assert bus.is_constant(0x99999, 0)
    with pytest.raises(NpuFault, match="outside the memories"):
        bus.view(0x99999, 1)


def test_overlapping_segments_are_refused() -> None:
    memory = np.zeros(16, np.uint8)
    with pytest.raises(ValueError, match="'a' and 'b' overlap"):
        Bus([Segment(8, memory, True, "b"), Segment(0, memory, True, "a")])
    with pytest.raises(ValueError, match="flat uint8"):
        Segment(0, np.zeros(4, np.int32).view(np.int32))  # type: ignore[arg-type]
