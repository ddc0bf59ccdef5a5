"""Runs a project's application on a target, and compares its lines with the expected ones."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethosgen.applications import (
    Application,
    Commanded,
    Settings,
    TakesRows,
    find_application,
)
from ethosgen.backend import is_compiled
from ethosgen.flow.models import devices_of, simulator_for
from ethosgen.values.application import ApplicationReport, ApplicationWork
from ethosgen.values.errors import InputError, reason_of
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import golden_answer

if TYPE_CHECKING:
    from ethosgen.project.info import ProjectInfo
    from ethosgen.targets import Line

FOLDER = "application"
"""The application's folder in a project."""
_SETTINGS, _LABELS = "settings.h", "labels.h"
"""The files that the host reads too."""
_SETTING = re.compile(r"^#define ([A-Z][A-Z0-9_]*) +\(?(-?\d+)\)?[ \t]*(?:/\*.*)?$", re.MULTILINE)

_LABEL = re.compile(r'^ *"([^"\\]*)",', re.MULTILINE)

OnLine = Callable[[str], None]


@dataclass(frozen=True)
class Feed:
    """What the host sends to an application: files, or random items from a seed."""

    paths: tuple[Path, ...] = ()
    seed: int = 0

    def items(self, application: Application, networks: Sequence[Network]) -> list[bytes]:
        """Return the items, at least one."""
        if not self.paths:
            return application.draw(networks, self.seed)
        return application.load(self.paths, networks)

    @property
    def source(self) -> str:
        """The files' names, or the seed."""
        return ", ".join(path.name for path in self.paths) or f"drawn with seed {self.seed}"


NO_FILES = Feed()
"""Random items."""


def run_and_compare(
    elf: Path,
    info: "ProjectInfo",
    networks: Sequence[Network],
    feed: Feed,
    on: str,
    watch: Watch,
    line: "Line | None" = None,
    on_line: OnLine = lambda _line: None,
) -> ApplicationReport:
    """Run an application on its input, and compute the expected lines.

    `networks` are the project's, in order. `on_line` gets each line when it arrives.
    """
    assert info.app is not None
    application = find_application(info.app)
    items = feed.items(application, networks)
    settings = read_settings(info.directory / FOLDER)
    with watch.phase("application", f"running the application on {on}"):
        lines, work = _run(application, elf, info, networks, items, on, watch, line, on_line)
    expected, oracle = None, ""
    if not any(map(is_compiled, networks)):
        asked = _Oracles(networks, info)
        with watch.phase("expectation", "computing what the application must print"):
            expected = tuple(application.expect(items, networks, asked, settings))
        oracle = " and ".join(dict.fromkeys(asked.names))
    return ApplicationReport(
        app=info.app,
        networks=info.names,
        board=info.board.name,
        on=on,
        source=feed.source,
        items=len(items),
        lines=tuple(lines),
        expected=expected,
        oracle=oracle,
        work=work and replace(work, seconds=_seconds(application, len(items), settings)),
        wall_s=watch.wall_s,
    )


def _run(
    application: Application,
    elf: Path,
    info: "ProjectInfo",
    networks: Sequence[Network],
    items: Sequence[bytes],
    on: str,
    watch: Watch,
    line: "Line | None",
    on_line: OnLine,
) -> tuple[list[str], ApplicationWork | None]:
    """Return the lines that an application prints for its items, and its work if it counts it."""
    from ethosgen.targets.commands import run_commands
    from ethosgen.targets.feed import run_application

    known = replace(info, devices=devices_of(info, on))
    way: dict[str, Any] = {
        "on": on,
        "attach": simulator_for(info, on),
        "line": line,
        "on_item": lambda done, all_: watch.say(
            f"running the application on {on}: {done} of {counted(all_, 'item')}"
        ),
        "on_line": on_line,
    }
    if isinstance(application, TakesRows) and info.networks[0].options.schedule.feed:
        size = application.row_bytes(networks)
        items = [item[at : at + size] for item in items for at in range(0, len(item), size)]
    if isinstance(application, Commanded):
        return run_commands(elf, known, [application.commands(i) for i in items], **way), None
    return run_application(elf, known, items, **way)


def _seconds(application: Application, items: int, settings: Settings) -> float | None:
    """Return the duration of the input in seconds, None if it has none."""
    each = application.item_s(settings)
    return None if each is None else each * items


class _Oracles:
    """Runs the deciding oracles on samples of a project's networks; keeps their names."""

    def __init__(self, networks: Sequence[Network], info: "ProjectInfo") -> None:
        self._networks = networks
        self._info = info
        self.names: list[str] = []

    def __call__(self, index: int, samples: Sequence[Arrays]) -> list[Arrays]:
        if not samples:
            return []
        asked = self._info.networks[index].options.oracle
        golden = golden_answer(self._networks[index], samples, asked)
        self.names.append(golden.oracle.title)
        return list(golden.outputs)


def read_settings(folder: Path) -> Settings:
    """Return the current numbers in an application's settings.h, and its labels."""
    numbers = {name: int(value) for name, value in _SETTING.findall(_read(folder / _SETTINGS))}
    labels = folder / _LABELS
    return Settings(numbers, _LABEL.findall(_read(labels)) if labels.exists() else ())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the application's '{path}': {reason_of(error)}") from None
