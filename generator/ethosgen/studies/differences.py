"""The differences between two answers of ethosgen, or two projects."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ethosgen.project import is_project, open_project
from ethosgen.project.info import NetworkInfo
from ethosgen.values.errors import InputError
from ethosgen.values.handover import PIPELINE_FILE

_PAGE = re.compile(r'<script type="application/json" id="report">(.*?)</script>', re.DOTALL)
"""The JSON in a page of `ethosgen report`."""
_LARGE = 9
"""From ten times on, a change is shown as a factor."""
FIGURES = (
    ("milliseconds", "time, ms"),
    ("npu_cycles", "NPU, cycles"),
    ("cpu_cycles", "CPU, cycles"),
    ("arena", "arena, B"),
    ("weights", "weights, B"),
    ("ram", "RAM, B"),
    ("flash", "flash, B"),
    ("stack", "stack, B"),
    ("mismatches", "outputs that differ"),
)
"""Figures by their keys, and their titles with units."""


Cycles = tuple[int | None, int | None]
"""An operator's cycles on the NPU and on the CPU, each at its own clock; None where it has none."""


@dataclass(frozen=True)
class Snapshot:
    """One answer's facts about a network: its verdict, its figures, and the operators' places.

    `places` has the place of each operator by its code and output, `costs` its cycles on the NPU
    and on the CPU if a report has them. `subject` names the setting.
    """

    verdict: str
    figures: Mapping[str, float]
    places: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, Cycles] = field(default_factory=dict)
    subject: str = ""


@dataclass(frozen=True)
class FigureChange:
    """A figure before and after; None if one side does not have it."""

    title: str
    before: float | None
    after: float | None

    def text(self) -> str:
        """Return the change in percent, as a factor if it is large, "" without one.

        Times have two digits, so their change has none behind the point.
        """
        if self.change is None:
            return ""
        if self.change > _LARGE:
            return f"x {self.change + 1:,.0f}"
        return f"{100 * self.change:+.{0 if self.title.endswith(' ms') else 1}f} %"

    @property
    def change(self) -> float | None:
        """The change as a fraction of the figure before, None without one."""
        if not self.before or self.after is None:
            return None
        return self.after / self.before - 1


@dataclass(frozen=True)
class LayerChange:
    """An operator's place and cycles before and after; None if one side does not have them."""

    operator: str
    places: tuple[str | None, str | None]
    npu: tuple[int | None, int | None]
    cpu: tuple[int | None, int | None]


@dataclass(frozen=True)
class NetworkDifference:
    """The differences for a network; `moved` has each operator's place before and after.

    `layers` are all operators, if both sides are reports; `subjects` names both settings.
    """

    network: str
    verdicts: tuple[str, str]
    figures: tuple[FigureChange, ...]
    moved: tuple[tuple[str, str, str], ...]
    layers: tuple["LayerChange", ...] = ()
    subjects: tuple[str, str] = ("", "")

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "network": self.network,
            "verdicts": list(self.verdicts),
            "figures": {f.title: [f.before, f.after] for f in self.figures},
            "moved": [list(move) for move in self.moved],
        }


def compare_answers(before: Path, after: Path) -> Sequence[NetworkDifference]:
    """Compare two files of --json, or project folders, network by network."""
    first, second = read_snapshots(before), read_snapshots(after)
    if len(first) == len(second) == 1:  # a network may have another name
        second = dict(zip(first, second.values(), strict=True))
    shared = [name for name in first if name in second]
    if not shared:
        raise InputError(
            f"'{before}' and '{after}' have no network in common: {', '.join(first)}; "
            f"{', '.join(second)}"
        )
    return [_compared(name, first[name], second[name]) for name in shared]


def read_snapshots(path: Path) -> dict[str, Snapshot]:
    """Read the facts of a file of --json or a project about each of its networks."""
    if path.is_dir():
        if not is_project(path) and not (path / PIPELINE_FILE).is_file():
            raise InputError(f"'{path}' is not a project; name one, or a file of --json")
        return {network.name: _of_project(network) for network in open_project(path).networks}
    try:
        text = path.read_text(encoding="utf-8")
        page = _PAGE.search(text)
        answer = json.loads(page[1] if page else text)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read '{path}' as JSON: {error}") from None
    answer = answer.get("report", answer) if isinstance(answer, dict) else {}
    networks = answer.get("networks", [answer])
    try:
        return dict(map(_of_answer, networks))
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            f"'{path}' is not an answer of verify, run, check or report; write one with --json"
        ) from None


def _of_project(network: NetworkInfo) -> Snapshot:
    summary, parts = network.summary, network.parts
    figures: dict[str, float | None] = {
        "cpu_cycles": network.cpu_time.cycles if network.cpu_time else None,
        "arena": summary.arena.bytes if summary.arena else None,
        "weights": parts["weights"] + parts["commands"],
    }
    verdict = "checked" if summary.check and summary.check.oracle else "not checked"
    places = {f"{p.code} '{p.output}'": p.on for p in summary.placings}
    return Snapshot(verdict, _known(figures), places)


def _of_answer(answer: Mapping[str, Any]) -> tuple[str, Snapshot]:
    """Return the name and the facts of a network in an answer of verify, run or report."""
    headline = answer["headline"]
    time = headline["time"] or {}
    is_page = "subject" in answer
    costs = answer["costs"] if is_page else answer
    arena = costs["arena_bytes"] if is_page else (answer["arena"] or {}).get("bytes")
    cpu = costs["cpu_time"] or {}
    npu = costs["npu_cycles"] if is_page else (answer["npu_pmu"] or {}).get("cycles")
    figures = {
        "milliseconds": time.get("milliseconds"),
        "npu_cycles": npu,
        "cpu_cycles": cpu.get("cycles"),
        "arena": arena,
        "weights": _weights(costs["flash_bytes"]),
        "ram": (headline["ram"] or {}).get("bytes"),
        "flash": (headline["flash"] or {}).get("bytes"),
        "stack": costs["stack_bytes"],
        "mismatches": (answer["verdict"] if is_page else answer)["mismatches"],
    }
    layers = answer["layers"] if is_page else answer["operators"]
    places = {f"{layer['code']} '{layer['output']}'": layer["on"] for layer in layers}
    name = answer["subject"]["name"] if is_page else answer["model"]
    spent = {
        key: (layer["cycles"], layer["cpu"])
        for key, layer in zip(places, layers, strict=False)
        if is_page and len(places) == len(layers)
    }
    return name, Snapshot(headline["verdict"], _known(figures), places, spent, _subject(answer))


def _subject(answer: Mapping[str, Any]) -> str:
    """Return the subject of an answer: "ethos-u55-128, corstone300, shared_sram"."""
    setting = answer.get("setting", answer)
    words = (setting.get("npu"), setting.get("board"), setting.get("memory_mode"))
    return ", ".join(str(word) for word in words if word)


def _weights(flash: Mapping[str, int] | None) -> int | None:
    return flash["weights"] + flash["command_streams"] if flash else None


def _known(figures: Mapping[str, float | None]) -> dict[str, float]:
    return {key: value for key, value in figures.items() if value is not None}


def _compared(name: str, before: Snapshot, after: Snapshot) -> NetworkDifference:
    figures = [
        FigureChange(title, before.figures.get(key), after.figures.get(key))
        for key, title in FIGURES
        if key in before.figures or key in after.figures
    ]
    return NetworkDifference(
        name,
        (before.verdict, after.verdict),
        tuple(figures),
        tuple(_moves(before, after)),
        tuple(_layers(before, after)) if before.costs and after.costs else (),
        (before.subject, after.subject),
    )


def _layers(before: Snapshot, after: Snapshot) -> Iterator[LayerChange]:
    """Yield all operators, in the first side's order, then those that only the second has."""
    for operator in dict.fromkeys([*before.places, *after.places]):
        (npu, cpu), (npu_then, cpu_then) = (
            side.costs.get(operator, (None, None)) for side in (before, after)
        )
        places = (before.places.get(operator), after.places.get(operator))
        yield LayerChange(operator, places, (npu, npu_then), (cpu, cpu_then))


def _moves(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, str, str]]:
    """Yield each operator whose place differs, or that only one side has."""
    for operator in dict.fromkeys([*before.places, *after.places]):
        places = (before.places.get(operator, "absent"), after.places.get(operator, "absent"))
        if places[0] != places[1]:
            yield operator, places[0] or "nowhere", places[1] or "nowhere"
