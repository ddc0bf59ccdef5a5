"""Times for people, and the processor's share of an inference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.values.grammar import counted

_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_DIGITS = 2
"""An estimate is not known to more of them."""

_SHOWN = 0.1
"""The least percentage that is shown as a number."""


def rounded(value: float) -> float:
    """Return a value with the significant digits of an estimate."""
    if not value:
        return 0.0
    return round(value, _DIGITS - 1 - math.floor(math.log10(abs(value))))


def duration(seconds: float) -> str:
    """Return an estimated time with its unit: "1.4 ms", "21 ms", "530 µs"."""
    value = rounded(seconds)
    unit, size = next(((u, s) for u, s in _UNITS if value >= s), _UNITS[-1])
    shown = rounded(value / size)
    return f"{shown:,.0f} {unit}" if shown >= 10 ** (_DIGITS - 1) else f"{shown:.1f} {unit}"


def percent(share: float) -> str:
    """Return a fraction as percent: "0.2 %", "42 %", "99.8 %"."""
    value = 100 * share
    if 0 < value < _SHOWN:
        return f"under {_SHOWN:g} %"
    is_near_an_end = value < 10 - _SHOWN / 2 or 99 < value < 100 - _SHOWN / 2
    return f"{value:.1f} %" if is_near_an_end and value else f"{value:.0f} %"


def share_text(cycles: int, hz: int | None, source: str) -> str:
    """Return "≈ 530,000 cycles, 21 ms at 25 MHz (source)", without a time if there is no clock."""
    time = f", {duration(cycles / hz)} at {hz / 1e6:g} MHz" if hz else ""
    return f"≈ {counted(round(rounded(cycles)), 'cycle')}{time} ({source})"


@dataclass(frozen=True)
class InferenceCycles:
    """The processor's cycles of one inference, without waits.

    `steps` are those of its steps in order, () if the firmware counts none; `outside` counts those
    outside them.
    """

    total: int
    outside: int = 0
    steps: Sequence[int] = ()


@dataclass(frozen=True)
class CpuTime:
    """The processor's share of an inference, without waits: cycles, by which `source`.

    `hz` is the board's clock, None if its file does not state it. If it `is_counted`, QEMU counted
    the executed code; if not, it is a sum of stored costs. `unknown` names operators that have
    none, which the sum leaves out.
    """

    cycles: int
    hz: int | None
    source: str
    is_counted: bool = True
    unknown: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The time at the board's clock."""
        return self.cycles / self.hz if self.hz else None

    def text(self) -> str:
        """Return "≈ 530,000 cycles, 21 ms at 25 MHz (LLVM's model of the Cortex-M55)"."""
        text = share_text(self.cycles, self.hz, self.source)
        has = "has" if len(self.unknown) == 1 else "have"
        names = ", ".join(self.unknown)
        return f"{text}, without {names}, which {has} no estimate" if self.unknown else text

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types, with the figures as they are."""
        return {
            "cycles": self.cycles,
            "milliseconds": None if self.seconds is None else rounded(1e3 * self.seconds),
            "clock_hz": self.hz,
            "source": self.source,
            "counted": self.is_counted,
            "unknown_operators": list(self.unknown),
        }
