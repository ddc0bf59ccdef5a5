"""The summary: the verdict, the comparison, time, memory, and the best advice.

All commands and pages begin with it, so each of its figures has one source.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ethosgen.values.advice import Improvement
from ethosgen.values.plan import Share
from ethosgen.values.time import CpuTime, duration, percent, rounded

_KIBI, _MEBI = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Latency:
    """The time of one inference in seconds, and the NPU's and the processor's parts.

    `is_estimate` means that a model counted cycles, which the board's clocks turn into time.
    `unknown` names the parts that the sum leaves out. `devices` are seconds of wrapped
    accelerators by name, besides their drivers', which the processor's part contains. The sum of
    the parts is longer by `hidden_seconds` than the inference, in which some run at once.
    """

    seconds: float
    npu_seconds: float | None
    is_estimate: bool = True
    hz: int | None = None
    unknown: tuple[str, ...] = ()
    devices: Mapping[str, float] = field(default_factory=dict)
    hidden_seconds: float = 0.0

    @classmethod
    def counted(
        cls,
        cpu: CpuTime,
        npu_seconds: float | None,
        shares: Iterable[Share],
        hidden_cycles: int = 0,
    ) -> "Latency":
        """Add the parts up; count a device's declared cycles at the processor's clock.

        The sum is less by the `hidden_cycles` of that clock in which several parts run.
        """
        shares, seconds, hz = tuple(shares), cpu.seconds or 0.0, cpu.hz
        devices = {s.name: s.device_cycles / hz for s in shares if s.device_cycles and hz}
        unknown = (*cpu.unknown, *(s.title for s in shares if s.device_cycles is None))
        total = seconds + (npu_seconds or 0.0) + sum(devices.values())
        hidden = min(hidden_cycles / hz, sum(devices.values())) if hz else 0.0
        return cls(total - hidden, npu_seconds, True, hz, unknown, devices, hidden)

    def text(self) -> str:
        """Return "≈ 4.4 ms per inference at 32 MHz: NPU 99.8 %, CPU 0.2 %"."""
        about = "≈ " if self.is_estimate else ""
        clock = f" at {self.hz / 1e6:g} MHz" if self.hz else ""
        text = f"{about}{duration(self.seconds)} per inference{clock}"
        parts = {} if self.npu_seconds is None else {"NPU": self.npu_seconds}
        parts |= self.devices
        if parts and self.seconds:
            whole = self.seconds + self.hidden_seconds
            parts["CPU"] = whole - sum(parts.values())
            shares = (f"{name} {percent(part / self.seconds)}" for name, part in parts.items())
            text += f": {', '.join(shares)}"
            if self.hidden_seconds:
                text += f"; {percent(self.hidden_seconds / self.seconds)} at once"
        without = ", ".join(self.unknown)
        return f"{text}; without {without}, of unknown time" if without else text

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types, with times in milliseconds."""
        npu = self.npu_seconds
        return {
            "milliseconds": rounded(1e3 * self.seconds),
            "npu_milliseconds": None if npu is None else rounded(1e3 * npu),
            "device_milliseconds": {name: rounded(1e3 * s) for name, s in self.devices.items()},
            "hidden_milliseconds": rounded(1e3 * self.hidden_seconds),
            "is_estimate": self.is_estimate,
            "unknown": list(self.unknown),
        }


@dataclass(frozen=True)
class Occupancy:
    """Bytes in use, and those of the memories that hold them; None if the board is unknown."""

    bytes: int
    capacity_bytes: int | None = None

    @property
    def share(self) -> float | None:
        """The fraction in use."""
        return self.bytes / self.capacity_bytes if self.capacity_bytes else None

    def text(self) -> str:
        """Return "55,150 B, 11 % of 512 KiB"."""
        if self.share is None or not self.capacity_bytes:
            return f"{self.bytes:,} B"
        return f"{self.bytes:,} B, {percent(self.share)} of {_size(self.capacity_bytes)}"

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        share = None if self.share is None else round(self.share, 4)
        return {"bytes": self.bytes, "capacity_bytes": self.capacity_bytes, "share": share}


@dataclass(frozen=True)
class Headline:
    """The figures that a reader wants first; None or "" if one does not apply.

    `subject` names the network and the setting, `compared` the compared outputs and their
    reference. If it `is_library_alone`, nothing was linked yet: `ram` counts tensors, `flash`
    weights and commands.
    """

    verdict: str
    subject: str
    compared: str = ""
    latency: Latency | None = None
    ram: Occupancy | None = None
    flash: Occupancy | None = None
    advice: Improvement | None = None
    is_library_alone: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the verdict is a pass."""
        return self.verdict.startswith("PASS")

    def rows(self) -> list[tuple[str, str]]:
        """Return a title and a text for each figure."""
        names = ("tensors", "weights") if self.is_library_alone else ("RAM", "flash")
        uses = zip(names, (self.ram, self.flash), strict=True)
        memory = [f"{name} {use.text()}" for name, use in uses if use is not None]
        rows = [
            ("compared", self.compared),
            ("time", self.latency.text() if self.latency else ""),
            ("memory", "; ".join(memory)),
        ]
        if self.advice:
            first, *more = self.advice.lines()
            rows += [("advice", first), *(("", command) for command in more)]
        return [(title, text) for title, text in rows if text]

    def lines(self, verdict: str = "") -> list[str]:
        """Return the verdict, optionally styled for a terminal, with its subject, and the rows."""
        rows = [f"  {title:<9} {text}" for title, text in self.rows()]
        return [f"{verdict or self.verdict}  {self.subject}", *rows]

    def html(self) -> str:
        """Return a small table for a notebook."""
        colour = "#1a7f37" if self.is_good else "#cf222e"
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(title)}</td>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for title, text in self.rows()
        )
        verdict = f"<b style='color:{colour}'>{escape(self.verdict)}</b>"
        return f"<div>{verdict} {escape(self.subject)}<table>{rows}</table></div>"

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "verdict": self.verdict,
            "compared": self.compared,
            "time": self.latency.as_json() if self.latency else None,
            "ram": self.ram.as_json() if self.ram else None,
            "flash": self.flash.as_json() if self.flash else None,
            "advice": self.advice.as_json() if self.advice else None,
        }


def _size(size: int) -> str:
    if size >= _MEBI:
        return f"{size / _MEBI:.3g} MiB"
    return f"{size / _KIBI:.4g} KiB" if size >= _KIBI else f"{size} B"
