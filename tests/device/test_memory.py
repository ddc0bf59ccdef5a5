"""What a device's model may access, and the faults of what it may not."""

import numpy as np
import pytest

from ethosgen.device.memory import DeviceMemory, DeviceRegisters, MemoryPart
from ethosgen.values.device import Device, bell_byte, device_pages, unite
from ethosgen.values.errors import DeviceFault

START = 0x7000_0000


@pytest.fixture
def memory() -> DeviceMemory:
    plain = np.arange(64, dtype=np.uint8)
    constant = np.arange(32, dtype=np.uint8)
    return DeviceMemory(
        "toy",
        [
            MemoryPart("arena", START, plain, True),
            MemoryPart("weights", START + 64, constant, False),
        ],
    )


def test_reads_follow_shape_type_and_strides(memory: DeviceMemory) -> None:
    assert memory.read(START + 4, 3).tolist() == [4, 5, 6]
    assert memory.read(START, (2, 2), np.uint16).tolist() == [[0x0100, 0x0302], [0x0504, 0x0706]]
    assert memory.read(START, (2, 3), np.int8, (16, 2)).tolist() == [[0, 2, 4], [16, 18, 20]]
    assert memory.read(START + 10, 3, np.int8, (-5,)).tolist() == [10, 5, 0]
    assert memory.read(START + 63, (0, 9)).size == 0
    with pytest.raises(ValueError, match="read-only"):
        memory.read(START, 4)[0] = 1


def test_writes_follow_strides(memory: DeviceMemory) -> None:
    memory.write(START, np.array([[1, 2], [3, 4]], np.int8), (8, 1))
    assert memory.read(START, 10).tolist() == [1, 2, 2, 3, 4, 5, 6, 7, 3, 4]


@pytest.mark.parametrize(
    ("address", "shape", "strides"),
    [
        (START - 1, 4, None),
        (START + 96 - 3, 4, None),
        (START + 60, 8, None),  # across two segments
        (START, (2, 2), (95, 2)),
        (START + 4, 3, (-3,)),
        (-8, 4, None),
    ],
)
def test_a_read_outside_is_a_fault(
    memory: DeviceMemory,
    address: int,
    shape: int | tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> None:
    with pytest.raises(
        DeviceFault, match=r"'toy' failed: it read .*outside .*: arena 0x"
    ) as caught:
        memory.read(address, shape, np.int8, strides)
    assert caught.value.kind == "memory"


def test_a_write_to_constants_is_a_fault(memory: DeviceMemory) -> None:
    memory.read(START + 64, 4)
    with pytest.raises(DeviceFault, match=r"it wrote 0x70000040 to 0x70000043, .* write: arena"):
        memory.write(START + 64, np.zeros(4, np.int8))


def test_registers_wrap_and_have_bounds() -> None:
    registers = DeviceRegisters("toy", np.zeros(4, np.uint32))
    registers[0x0C] = -2
    assert (registers[0x0C], registers.signed(0x0C)) == (0xFFFFFFFE, -2)
    for offset in (0x10, -4, 2):
        with pytest.raises(DeviceFault, match="multiples of 4 from 0x0 to 0xc") as caught:
            registers[offset] = 1
        assert caught.value.kind == "register"


def test_pages_are_below_the_npus_and_do_not_meet() -> None:
    devices = unite([Device("b", 0x1004), Device("a-b", 0x40), Device("b", 0x1004)])
    assert [device.c_name for device in devices] == ["a_b", "b"]
    assert device_pages(0x7FFFF000, devices) == [0x7FFFD000, 0x7FFFB000]
    assert (bell_byte(None), bell_byte(0), bell_byte(1)) == (ord("!"), ord("!") + 1, ord("!") + 2)
