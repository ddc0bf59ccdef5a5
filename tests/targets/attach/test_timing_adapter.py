"""The registers of timing adapters keep what was written, by their masks."""

import pytest

from ethosgen.targets.attach.timing_adapter import BLOCK_BYTES, TimingAdapters

FIRST, SECOND = 0x58103000, 0x58103200
SECURE = 0x10000000
ADAPTERS = (FIRST, SECOND)


@pytest.mark.parametrize(
    ("offset", "read"),
    [
        *[(0x00, 0x3F), (0x0C, 0xFFF), (0x1C, 0xFFFF), (0x24, 0xFFFFFFFF), (0x30, 0xF)],
        *[(0x2C, 0), (0x38, 0x1117), (0x3C, 0)],
    ],
)
def test_a_register_keeps_its_bits(offset: int, read: int) -> None:
    adapters = TimingAdapters(ADAPTERS)
    adapters.write(SECOND + offset, 0xFFFFFFFF)
    assert adapters.read(SECOND + offset) == adapters.read(SECOND + offset - SECURE) == read
    assert adapters.read(FIRST + offset) == (0x1117 if offset == 0x38 else 0)


def test_it_owns_the_registers_at_both_addresses() -> None:
    adapters = TimingAdapters(ADAPTERS)
    assert set(adapters.windows()) == {at - alias for at in ADAPTERS for alias in (0, SECURE)}
    for start in adapters.windows():
        assert adapters.owns(start) and adapters.owns(start + BLOCK_BYTES - 4)
        assert not adapters.owns(start - 4) and not adapters.owns(start + BLOCK_BYTES)
    assert not TimingAdapters(()).owns(FIRST)
