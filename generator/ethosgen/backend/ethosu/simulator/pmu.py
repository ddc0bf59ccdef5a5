"""The performance monitor: a cycle counter, and event counters.

It counts the activity that activity.py estimates for each stream. The registers are in the memory
page that registers.py polls, so set and clear registers need a value that reveals a write: set
registers hold the bits that are set, clear registers hold 0.
"""

from collections.abc import Callable

from ethosgen.backend.ethosu.pmu_event import AXI1, PmuEvent
from ethosgen.backend.ethosu.simulator.activity import Activity
from ethosgen.backend.ethosu.simulator.register_map import RegisterMap
from ethosgen.values.multiples import pieces

# Byte offsets, as in Arm's register description of U55.
PMCR = 0x180
PMCNTENSET = 0x184
PMCNTENCLR = 0x188
PMOVSSET = 0x18C
PMOVSCLR = 0x190
PMINTSET = 0x194
PMINTCLR = 0x198
PMCCNTR = 0x1A0
PMCCNTR_HI = 0x1A4
PMCCNTR_CFG = 0x1A8
PMEVCNTR0 = 0x300
PMEVTYPER0 = 0x380

PMCR_CNT_EN = 1 << 0
PMCR_EVENT_CNT_RST = 1 << 1
PMCR_CYCLE_CNT_RST = 1 << 2
PMCR_MASK_EN = 1 << 3
_PMCR_COUNTERS_LSB = 11

CYCLE_COUNTER = 1 << 31
_PAIRS = ((PMCNTENSET, PMCNTENCLR), (PMOVSSET, PMOVSCLR), (PMINTSET, PMINTCLR))

_EVENT = 0x3FF
_NOT_COUNTED = 0xF << 12
"""U85 only: AXI ports that an event does not count. How accesses divide among the ports to one
memory is not known, so an event that leaves a port out is not counted."""


class Pmu:
    """The PMU's registers, accessed by functions that read and write a word at a byte offset."""

    def __init__(
        self,
        registers: RegisterMap,
        read: Callable[[int], int],
        write: Callable[[int, int], None],
    ) -> None:
        self._map = registers
        self._read_page = read
        self._write_page = write
        self._reset_value = registers.counters << _PMCR_COUNTERS_LSB
        self._all = CYCLE_COUNTER | (1 << registers.counters) - 1
        self._held = dict.fromkeys((PMCNTENSET, PMOVSSET, PMINTSET), 0)
        self._counts = False

    def power_on(self) -> None:
        """Write the reset values; the rest of the page is 0."""
        self._held = dict.fromkeys(self._held, 0)
        self._counts = False
        self._write(PMCR, self._reset_value)

    def reset(self) -> None:
        """Soft reset: stop counting, at 0, until PMCR is written.

        The driver may already have set up the next run, so none of its writes is overwritten: PMCR
        reads as off from `begin` on, and event types and enables keep their values.
        """
        self._counts = False
        self._reset_counters(PMCR_EVENT_CNT_RST | PMCR_CYCLE_CNT_RST)

    def begin(self) -> None:
        """Begin a run, while the driver waits: show in PMCR whether counters are enabled."""
        if not self._counts:
            self._write(PMCR, self._read(PMCR) & ~PMCR_CNT_EN)

    def control(self) -> int:
        """Return PMCR, for `poll`."""
        return self._read(PMCR)

    def poll(self, control: int) -> bool:
        """Process the driver's writes since the last call; return True if there were any.

        `control` is PMCR before RESET was read: drivers write RESET first, so a write found there
        came after the reset.
        """
        acted = False
        kept = control & (PMCR_CNT_EN | PMCR_MASK_EN) | self._reset_value
        if control != kept:
            self._reset_counters(control)
            self._counts = bool(control & PMCR_CNT_EN)
            self._write(PMCR, kept)
            acted = True
        for set_register, clear_register in _PAIRS:
            asked, cleared = self._read(set_register), self._read(clear_register)
            if asked == self._held[set_register] and not cleared:
                continue
            self._hold(set_register, (self._held[set_register] | asked) & ~cleared & self._all)
            self._write(clear_register, 0)
            acted = True
        return acted

    def _reset_counters(self, control: int) -> None:
        if control & PMCR_EVENT_CNT_RST:
            for index in range(self._map.counters):
                self._write(PMEVCNTR0 + 4 * index, 0)
        if control & PMCR_CYCLE_CNT_RST:
            self._write(PMCCNTR, 0)
            self._write(PMCCNTR_HI, 0)

    def _hold(self, register: int, value: int) -> None:
        self._held[register] = value
        self._write(register, value)

    def count(self, activity: Activity, port: Callable[[int], int]) -> bool:
        """Add a stream's activity to the enabled counters.

        `port` returns a region's AXI port. Return True if a counter with an enabled interrupt
        overflowed.
        """
        if not self._counts:
            return False
        enabled = self._held[PMCNTENSET]
        overflowed = 0
        if enabled & CYCLE_COUNTER:
            total = (self._read(PMCCNTR) | self._read(PMCCNTR_HI) << 32) + activity.cycles
            overflowed |= CYCLE_COUNTER if total >> 48 else 0
            self._write(PMCCNTR, total & 0xFFFF_FFFF)
            self._write(PMCCNTR_HI, total >> 32 & 0xFFFF)
        happened = events(self._map, activity, port)
        for index in range(self._map.counters):
            if enabled >> index & 1:
                asked = self._read(PMEVTYPER0 + 4 * index)
                count = 0 if asked & _NOT_COUNTED else happened.get(asked & _EVENT, 0)
                total = self._read(PMEVCNTR0 + 4 * index) + count
                overflowed |= 1 << index if total >> 32 else 0
                self._write(PMEVCNTR0 + 4 * index, total & 0xFFFF_FFFF)
        if overflowed:
            self._hold(PMOVSSET, self._held[PMOVSSET] | overflowed)
        return bool(overflowed & self._held[PMINTSET])

    def _read(self, offset: int) -> int:
        return self._read_page(self._map.pmu + offset)

    def _write(self, offset: int, value: int) -> None:
        self._write_page(self._map.pmu + offset, value)


def events(
    registers: RegisterMap, activity: Activity, port: Callable[[int], int]
) -> dict[int, int]:
    """Return the count of each modelled event; other events are never counted."""
    happened: dict[int, int] = {
        PmuEvent.CYCLE: activity.cycles,
        PmuEvent.NPU_ACTIVE: activity.cycles,
        PmuEvent.MAC_ACTIVE: activity.mac_8bit + activity.mac_16bit,
        PmuEvent.MAC_ACTIVE_8BIT: activity.mac_8bit,
        PmuEvent.MAC_ACTIVE_16BIT: activity.mac_16bit,
        PmuEvent.AXI0_ENABLED_CYCLES: activity.cycles,
        PmuEvent.AXI1_ENABLED_CYCLES: activity.cycles,
    }
    for event, traffic in (
        (PmuEvent.AXI0_RD_DATA_BEAT_RECEIVED, activity.read),
        (PmuEvent.AXI0_WR_DATA_BEAT_WRITTEN, activity.written),
    ):
        for region, size in traffic.items():
            key = event + AXI1 * port(region)
            happened[key] = happened.get(key, 0) + pieces(size, registers.beat_bytes)
    return {event: count for event, count in happened.items() if event not in registers.lacks}
