"""The answer of an application's run: the lines that it printed, and the expected ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from ethosgen.values.grammar import counted


@dataclass(frozen=True)
class ApplicationWork:
    """An application's work on the CPU, without waits for its input and for the NPU.

    `count` is in `unit`, "instructions" on QEMU; `rate_hz` is their number per second, for
    instructions at one per cycle, None if the board's clock is unknown. `seconds` is the real
    duration of the input, None if unknown.
    """

    count: int
    unit: str
    rate_hz: int | None = None
    seconds: float | None = None

    @property
    def share(self) -> float | None:
        """The fraction of real time that the work takes; None if it is unknown."""
        if self.rate_hz is None or self.seconds is None:
            return None
        return self.count / self.rate_hz / self.seconds

    def text(self, items: int) -> str:
        """Return the work, for people."""
        if self.seconds is None:
            return f"{self.count // items:,} {self.unit} for each item, without waits"
        text = f"{self.count / self.seconds:,.0f} {self.unit} for each second of input"
        if self.share is None or self.rate_hz is None:
            return f"{text}, without waits"
        cycle = ", at one in a cycle" if self.unit == "instructions" else ""
        return f"{text}: {self.share:.1%} of the time at {self.rate_hz / 1e6:g} MHz{cycle}"

    def as_json(self) -> dict[str, Any]:
        """Return the work as an object of JSON types."""
        return {
            "count": self.count,
            "unit": self.unit,
            "rate_hz": self.rate_hz,
            "input_s": self.seconds,
            "share": self.share,
        }


@dataclass(frozen=True)
class ApplicationReport:
    """An application's lines for its input, and the expected ones.

    `expected` are computed from the answers of the `oracle`; it is None for a network that no
    oracle runs. `items` counts the host's items, `source` names their source.
    """

    app: str
    networks: tuple[str, ...]
    board: str
    on: str
    source: str
    items: int
    lines: tuple[str, ...]
    expected: tuple[str, ...] | None
    oracle: str = ""
    work: ApplicationWork | None = None
    wall_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def differing(self) -> int:
        """The number of lines that are wrong, missing or too many."""
        pairs = zip_longest(self.lines, self.expected or ())
        return sum(printed != wanted for printed, wanted in pairs)

    @property
    def first(self) -> str:
        """The first line that differs, for people; "" if there is none."""
        pairs = zip_longest(self.lines, self.expected or (), fillvalue="nothing")
        return next(
            (
                f"line {number} is '{printed}', not '{wanted}'"
                for number, (printed, wanted) in enumerate(pairs, 1)
                if printed != wanted
            ),
            "",
        )

    @property
    def passed(self) -> bool:
        """True only if there are lines, and all of them are correct."""
        return self.expected is not None and bool(self.lines) and not self.differing

    @property
    def verdict(self) -> str:
        """PASS, FAIL, or NOT COMPARED without an oracle."""
        if self.expected is None:
            return "NOT COMPARED"
        return "PASS" if self.passed else "FAIL"

    def text(self) -> str:
        """Return the comparison, for people."""
        text = f"{counted(len(self.lines), 'line')} for {counted(self.items, 'item')}"
        if self.expected is None:
            return f"{text}: not compared, as no oracle runs a compiled network"
        if self.passed:
            return f"{text}: equal to what follows from {self.oracle}"
        return f"{text}: {self.differing} differ from what follows from {self.oracle}; {self.first}"

    def as_json(self) -> dict[str, Any]:
        """Return the report as an object of JSON types."""
        return {
            "app": self.app,
            "networks": list(self.networks),
            "board": self.board,
            "on": self.on,
            "passed": self.passed,
            "verdict": self.verdict,
            "source": self.source,
            "items": self.items,
            "oracle": self.oracle or None,
            "differing": None if self.expected is None else self.differing,
            "first_difference": (self.first or None) if self.expected is not None else None,
            "lines": list(self.lines),
            "work": self.work.as_json() if self.work else None,
            "wall_s": {name: round(seconds, 3) for name, seconds in self.wall_s.items()},
        }
