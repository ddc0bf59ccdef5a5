"""Runs the steps of a build and explains their failures."""

import logging
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from ethosgen.host.tools import CMAKE, NINJA, CommandError, run_command
from ethosgen.values.errors import BuildError, CapacityError
from ethosgen.values.grammar import counted

_LOG = logging.getLogger(__name__)

_CACHE = "CMakeCache.txt"
_MADE_FOR = re.compile(r"^(CMAKE_CACHEFILE_DIR|CMAKE_HOME_DIRECTORY):INTERNAL=(.+)$", re.MULTILINE)
_TIMEOUT_S = 600
_SAID_LINES = 20
_OVERFLOW = re.compile(r"region `(?:ETHOSGEN_)?(\w+)' overflowed by (\d+) bytes")
_OWN_WORDS = re.compile(
    r"CMake Error at \S*model/ethosgen/CMakeLists\.txt:\d+ \(message\):\n((?:  .+\n)+)"
)
_CONSEQUENCE = re.compile(r"CMake Error at .+\n\s+command failed", re.IGNORECASE)
"""Matches a failure of a program that CMake calls: the lines before it are the program's own."""
_BEFORE_LINES = 6
_ERROR = re.compile(r"\berror\b|: undefined reference to |/ld: ", re.IGNORECASE)


def drop_foreign_build(source: Path, place: Path) -> None:
    """Delete a project's build folder, and say so, if it came with a copy from another place.

    CMake refuses it, and its files name the other project's.
    """
    cache = place / _CACHE
    if not cache.is_file():
        return
    made_for = dict(_MADE_FOR.findall(cache.read_text(encoding="utf-8", errors="replace")))
    home = Path(made_for.get("CMAKE_HOME_DIRECTORY", source))
    own = Path(made_for.get("CMAKE_CACHEFILE_DIR", place))
    if not (_is_same(home, source) and _is_same(own, place)):
        _LOG.warning("'%s' was built as '%s'; building it again", source, home)
        shutil.rmtree(place)


def _is_same(path: Path, other: Path) -> bool:
    return path.exists() and path.samefile(other)


def run_step(
    command: list[str], directory: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Run a build step of `directory`; BuildError or CapacityError gives the cause of a failure."""
    try:
        run_command(command, _TIMEOUT_S, environment)
    except CommandError as error:
        if error.words:
            raise _explain(error.words, directory) from None
        raise BuildError(f"building '{directory}' failed: {error}") from None


def configure(
    directory: Path,
    place: Path,
    variables: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run CMake for ninja on a project, with cache variables; ToolError if one is missing."""
    cmake, ninja, source = CMAKE.find(), NINJA.find(), directory.absolute()
    drop_foreign_build(source, place)
    command = [str(cmake), "-G", "Ninja", "-S", str(source), "-B", str(place)]
    cache = {"CMAKE_MAKE_PROGRAM": str(ninja), **variables}
    command += [f"-D{name}={value}" for name, value in cache.items()]
    run_step(command, directory, environment)


def compile_configured(
    directory: Path, place: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Build a configured project."""
    run_step([str(CMAKE.find()), "--build", str(place)], directory, environment)


def _explain(output: str, directory: Path) -> BuildError | CapacityError:
    overflows = {memory.lower(): int(count) for memory, count in _OVERFLOW.findall(output)}
    if overflows:
        what = " and ".join(f"memory '{m}' by {counted(b, 'byte')}" for m, b in overflows.items())
        return CapacityError(f"the firmware in '{directory}' overflows {what}", overflows)
    if own := _OWN_WORDS.search(output):
        return BuildError(f"'{directory}' cannot be built: {' '.join(own.group(1).split())}")
    lines = [line for line in output.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if _ERROR.search(line)), -_SAID_LINES)
    if first > 0 and _CONSEQUENCE.search("\n".join(lines[first:][:3])):
        first = max(0, first - _BEFORE_LINES)
    words = "\n".join(lines[first:][:_SAID_LINES])
    return BuildError(f"the project in '{directory}' does not build:\n{words}")
