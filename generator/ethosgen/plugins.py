"""Plug-ins: additions to ethosgen by separately installed packages, through Python entry points.

DOORS is the list of groups. Nothing is read before a registry needs more than its own members, and
a plug-in that fails is recorded and skipped.
"""

import functools
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ethosgen.values.errors import ToolError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Member = TypeVar("Member")


@dataclass(frozen=True)
class Door:
    """A group of entry points: its additions, and the attributes that each object must have.

    With `is_named`, the object has a `name`, which must be that of the entry point.
    """

    group: str
    adds: str
    attributes: tuple[str, ...] = ()
    is_named: bool = False


BOARDS = Door("ethosgen.boards", "a board", ("is_file", "suffix"))
PLATFORMS = Door("ethosgen.platforms", "a platform", ("layout", "toolchain"), is_named=True)
LAYOUTS = Door("ethosgen.layouts", "a platform's files", ("layout", "facts"))
TOOLCHAINS = Door("ethosgen.toolchains", "a platform's build", ("build", "find"))
TARGETS = Door("ethosgen.targets", "a target", ("start", "variant", "can_run"))
FRONT_ENDS = Door(
    "ethosgen.frontends", "a front end", ("title", "suffixes", "recognizes", "read"), is_named=True
)
ORACLES = Door("ethosgen.oracles", "an oracle", ("title", "packages", "run"), is_named=True)
BACKENDS = Door(
    "ethosgen.backends", "a family of accelerators", ("accelerators", "default"), is_named=True
)
ACCELERATORS = Door("ethosgen.accelerators", "a user's accelerator", ("is_dir",))
LIBRARIES = Door(
    "ethosgen.libraries", "a library of kernels", ("offers", "compile", "files"), is_named=True
)
APPLICATIONS = Door(
    "ethosgen.applications", "an application", ("title", "files", "check", "expect"), is_named=True
)
SECTIONS = Door("ethosgen.sections", "a section of the report", ("title", "render"))
COMMANDS = Door("ethosgen.commands", "a command", ("callback", "get_short_help_str"))
DOORS = (
    *(BOARDS, PLATFORMS, LAYOUTS, TOOLCHAINS, TARGETS, FRONT_ENDS, ORACLES, BACKENDS),
    *(ACCELERATORS, LIBRARIES, APPLICATIONS, SECTIONS, COMMANDS),
)
"""All groups of entry points that other packages may use."""

NAMES = Door("ethosgen.names", "a name in Python")
"""The group of what `ethosgen.NAME` is; only ethosgen's own wheel uses it."""

_OWN = "ethosgen"
"""Our distribution: its entry points are parts of ethosgen, and no plug-ins."""
_GENERATOR = Path(__file__).parent.parent
"""The folder of our packages: generator/, or the environment's."""


@dataclass(frozen=True)
class Plugin:
    """An entry point of an installed package; `fault` says why it is skipped, "" if it works."""

    door: Door
    name: str
    package: str
    version: str
    fault: str = ""


_FAULTS: dict[tuple[str, str, str], str] = {}
"""What is wrong with plug-ins, by group, name and package."""


_TOLD: set[tuple[str, str, str]] = set()


def faults() -> list[str]:
    """Return a sentence for each plug-in that was skipped since the last call."""
    new = [(key, reason) for key, reason in _FAULTS.items() if key not in _TOLD]
    _TOLD.update(key for key, _ in new)
    return [
        f"the plug-in '{name}' of the package '{package}' ({group}) is skipped: {reason}"
        for (group, name, package), reason in new
    ]


def names(door: Door) -> list[str]:
    """Return the names of a group's plug-ins without loading them."""
    return [entry.name for entry in _entries(door.group)]


@functools.cache
def members(door: Door) -> Mapping[str, Any]:
    """Load a group's plug-ins, by name; those that fail are recorded in `faults`."""
    loaded: dict[str, Any] = {}
    for entry in _entries(door.group):
        value, fault = _load(door, entry)
        if not fault and entry.name in loaded:
            fault = "another package has a plug-in of that name"
        if fault:
            _FAULTS[door.group, entry.name, _package(entry)[0]] = fault
        else:
            loaded[entry.name] = value
    return loaded


def reject(door: Door, name: str, reason: str) -> None:
    """Record why a plug-in that was loaded is skipped."""
    for entry in _entries(door.group):
        if entry.name == name:
            _FAULTS[door.group, name, _package(entry)[0]] = reason


def guarded(door: Door, name: str, call: Callable[[], Member]) -> Member | None:
    """Return the result of a plug-in's function; None if it fails, which is recorded."""
    try:
        return call()
    except Exception as error:  # a plug-in is anybody's code
        reject(door, name, f"{type(error).__name__}: {' '.join(str(error).split())}")
        return None


def installed() -> Iterator[Plugin]:
    """Load all plug-ins, and yield each with its fault."""
    for door in DOORS:
        members(door)
        for entry in _entries(door.group):
            package, version = _package(entry)
            fault = _FAULTS.get((door.group, entry.name, package), "")
            yield Plugin(door, entry.name, package, version, fault)


def part(door: Door, name: str) -> Any:
    """Load a part of ethosgen's own wheel, which is in a separate package.

    ToolError if the installation is older than the sources.
    """
    entry = _parts().get((door.group, name))
    try:
        if entry is not None:
            return entry.load()
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(f"{_OWN}_"):
            raise
    raise ToolError(
        f"this installation of ethosgen is older than its sources, and lacks '{name}'; "
        f"install it again: {_installing()}"
    )


def packages() -> Sequence[Path]:
    """Return the folders of ethosgen's packages: its own, and those of its parts."""
    tops = {entry.module.partition(".")[0] for entry in _parts().values()}
    return [_GENERATOR / name for name in sorted({_OWN, *tops})]


class Registry(MutableMapping[str, Member]):
    """Members by name: ethosgen's own, then those of plug-ins, which never replace one of them."""

    def __init__(self, door: Door, own: Mapping[str, Member]) -> None:
        self._door = door
        self._own = dict(own)

    @property
    def own(self) -> Mapping[str, Member]:
        """Ethosgen's own members."""
        return self._own

    def __getitem__(self, name: str) -> Member:
        if name in self._own:
            return self._own[name]
        member: Member = self._plugins()[name]
        return member

    def __setitem__(self, name: str, member: Member) -> None:
        self._own[name] = member

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *self._plugins()])

    def __len__(self) -> int:
        return len(self._own) + len(self._plugins())

    def _plugins(self) -> Mapping[str, Any]:
        return beside(self._door, self._own)


def beside(door: Door, own: Mapping[str, Any] | Callable[[str], bool]) -> Mapping[str, Any]:
    """Return a group's plug-ins; one with the name of an own member is recorded, and skipped."""
    is_own = own if callable(own) else own.__contains__
    taken = [name for name in members(door) if is_own(name)]
    for name in taken:
        reject(door, name, f"ethosgen has {door.adds} of that name; choose another")
    return {name: member for name, member in members(door).items() if name not in taken}


def _load(door: Door, entry: "EntryPoint") -> tuple[Any, str]:
    """Return an entry point's object, and the reason why it is skipped, or ""."""
    try:
        value = entry.load()
        missing = [attribute for attribute in door.attributes if not hasattr(value, attribute)]
        name = value.name if door.is_named else entry.name
    except (Exception, SystemExit) as error:  # a plug-in is anybody's code
        return None, f"{type(error).__name__}: {' '.join(str(error).split())}"
    if missing:
        return None, f"{entry.value} is not {door.adds}: it has no {', '.join(missing)}"
    if name != entry.name:
        return None, f"its name is '{name}', but its entry point's '{entry.name}'; use one name"
    return value, ""


def _installing() -> str:
    """Return the command that installs ethosgen again."""
    root = _GENERATOR.parent
    source = ("--editable", str(root)) if (root / "pyproject.toml").is_file() else (_OWN,)
    return shlex.join([sys.executable, "-m", "pip", "install", "--no-deps", *source])


@functools.cache
def _parts() -> Mapping[tuple[str, str], "EntryPoint"]:
    """Return ethosgen's own entry points by group and name, without a search of other packages."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        entries = distribution(_OWN).entry_points
    except PackageNotFoundError:
        return {}
    return {(entry.group, entry.name): entry for entry in entries}


def _package(entry: "EntryPoint") -> tuple[str, str]:
    return (entry.dist.name, entry.dist.version) if entry.dist else ("?", "?")


@functools.cache
def _entries(group: str) -> list["EntryPoint"]:
    return sorted(_all_entries().get(group, []), key=lambda entry: entry.name)


@functools.cache
def _all_entries() -> dict[str, list["EntryPoint"]]:
    """Return others' entry points by group; this searches all installed packages, once."""
    from importlib.metadata import entry_points  # it takes a while to import

    installed = entry_points()
    return {
        door.group: [e for e in installed.select(group=door.group) if _package(e)[0] != _OWN]
        for door in DOORS
    }
