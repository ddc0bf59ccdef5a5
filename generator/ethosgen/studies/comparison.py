"""Compares networks on boards, NPUs, memory modes and schedules of the NPU's compiler."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import get_args

from ethosgen.backend import accelerators, compiled_for, compiler_of, find_accelerator
from ethosgen.board import Board, MemoryMode, board_names, load_board
from ethosgen.frontend import open_source, read_source
from ethosgen.host.processors import processor_count
from ethosgen.host.resources import resource_folder
from ethosgen.oracle import DEFAULT
from ethosgen.plugins import packages
from ethosgen.studies.points import measure_front, measure_point
from ethosgen.studies.workers import Chunk, run_chunks
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.configurations import ComparisonReport, Point, Result, Setting, front
from ethosgen.values.errors import EthosgenError, InputError
from ethosgen.values.grammar import counted, unknown
from ethosgen.values.naming import name_from_file
from ethosgen.values.plan import EXACT, OffloadOptions
from ethosgen.values.schedule import USUAL_SCHEDULE, Schedule, Strategy
from ethosgen.values.source import AS_GIVEN, ReadOptions, Source
from ethosgen.values.watch import Watch
from ethosgen.version import __version__

ALL = "all"
"""Stands for every board, NPU, memory mode or strategy."""
DEFAULT_BOARD = "corstone300"
MODES: tuple[str, ...] = get_args(MemoryMode)
_WORTH_PROCESSES = 4
"""Points from which worker processes pay off, which take some seconds each to start."""
_RESOURCES = "templates", "accelerators"
"""The folders beside the modules that results depend on."""


@dataclass(frozen=True)
class ComparisonRequest:
    """What to compare: every combination of the values of each option.

    `npus` and `memory_modes` may contain ALL, which means all of the board's; `memory_modes` () is
    the board's default. `arena_limits` are tried in addition to no limit. With `front`, schedules
    are searched instead, and only the Pareto front of each NPU and memory mode is measured.
    """

    networks: tuple[Path, ...]
    boards: tuple[str, ...] = (DEFAULT_BOARD,)
    npus: tuple[str, ...] = (ALL,)
    memory_modes: tuple[str, ...] = ()
    strategies: tuple[Strategy, ...] = (Strategy.PERFORMANCE,)
    arena_limits: tuple[int, ...] = ()
    front: bool = False
    options: OffloadOptions = EXACT
    reading: ReadOptions = AS_GIVEN
    samples: int | None = None
    seed: int = 0
    processes: int | None = None
    build: bool = False


def compare(asked: ComparisonRequest, watch: Watch) -> ComparisonReport:
    """Measure all points, each in one of several processes; return the results in their order.

    InputError for files, boards and names that do not exist. A refused point is a result with its
    reason.
    """
    started = time.perf_counter()
    points = points_of(asked)
    measure = measure_front if asked.front else _measure_alone
    done: list[Result] = []
    chunks = (Chunk((index,), (point,)) for index, point in enumerate(points))
    runs = run_chunks(_WorkerStart(measure), chunks, processes_for(asked.processes, len(points)))
    with watch.phase("compare", f"comparing {counted(len(points), 'point')}"), closing(runs):
        for chunk, measured in runs:
            done += measured[0]
            setting = points[chunk.indices[0]].setting
            watch.say(
                f"comparing: {chunk.indices[0] + 1:,} of {counted(len(points), 'point')}, the last "
                f"{setting.network} on {setting.npu}"
            )
    return ComparisonReport(tuple(with_front(done)), find_versions(), time.perf_counter() - started)


def _measure_alone(point: Point) -> tuple[Result, ...]:
    return (measure_point(point),)


@dataclass(frozen=True)
class _WorkerStart:
    """Prepares a worker process, which needs no preparation."""

    measure: Callable[[Point], tuple[Result, ...]]

    def __call__(
        self,
    ) -> AbstractContextManager[Callable[[Sequence[Point]], list[tuple[Result, ...]]]]:
        return nullcontext(self._run)

    def _run(self, points: Sequence[Point]) -> list[tuple[Result, ...]]:
        return [self.measure(point) for point in points]


def processes_for(asked: int | None, points: int) -> int:
    """Return the number of worker processes: the user's, or as many as pay off."""
    if asked is not None:
        return min(asked, max(points, 1))
    return processor_count() if points >= _WORTH_PROCESSES else 1


def points_of(asked: ComparisonRequest) -> list[Point]:
    """Return the points of a request, ordered by network, board, NPU, memory mode and schedule."""
    unknown_mode = next((mode for mode in asked.memory_modes if mode not in (*MODES, ALL)), None)
    if unknown_mode is not None:
        raise InputError(unknown("memory mode", unknown_mode, [*MODES, ALL]))
    sources = [open_source(path, None, asked.reading) for path in asked.networks]
    names = names_of(asked.networks)
    boards = [load_board(name) for name in _boards(asked.boards)]
    texts = _boards(asked.boards)
    measured = asked.samples, asked.seed, asked.build
    points = []
    for name, source in zip(names, sources, strict=True):
        own = _compiled_for(source)
        for text, board in zip(texts, boards, strict=True):
            for npu in _npus(asked.npus, board, own):
                for mode in _modes(asked.memory_modes, board, npu):
                    for schedule in _schedules(asked, npu, bool(own)):
                        setting = Setting(name, text, npu, mode, schedule)
                        points.append(Point(source, setting, asked.options, *measured))
    return list(dict.fromkeys(points))


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file; files with the same name are prefixed with their folder's."""
    names = [name_from_file(path.stem) for path in paths]
    times = Counter(names)
    return [
        name if times[name] == 1 else str(path) for name, path in zip(names, paths, strict=True)
    ]


def _boards(asked: Sequence[str]) -> list[str]:
    """Return the names or files of boards, each once."""
    boards = [name for board in asked for name in (board_names() if board == ALL else [board])]
    return list(dict.fromkeys(boards))


def _compiled_for(source: Source) -> str | None:
    """Return the NPU for which a file was compiled, None if it was not, or cannot be read."""
    try:
        npu = compiled_for(read_source(source))
    except EthosgenError:
        return None  # the file's points have the reason
    return npu.name if npu else None


def _npus(asked: Sequence[str], board: Board, compiled: str | None) -> list[str]:
    """Return the NPUs to compare on a board; a board without one has NO_NPU."""
    npus: list[str] = []
    for name in asked:
        if name == ALL:
            its = board.npu.configurations if board.npu else [NO_NPU]
            npus += [compiled] if compiled else its
        elif name == NO_NPU:
            npus.append(name)
        else:
            if name not in accelerators():
                raise InputError(unknown("NPU", name, [*accelerators(), NO_NPU, ALL]))
            npus.append(name if board.npu else NO_NPU)
    return list(dict.fromkeys(npus))


def _modes(asked: Sequence[str], board: Board, npu: str) -> list[str | None]:
    """Return the memory modes to compare; ALL are those that board and NPU support."""
    modes: list[str | None] = []
    for mode in asked or (None,):
        if mode != ALL:
            modes.append(mode)
        elif npu == NO_NPU or board.npu is None:
            modes.append(None)  # without an NPU, they differ only in the place of the weights
        else:
            modes += board.memory_modes(find_accelerator(npu))
    return list(dict.fromkeys(modes))


def _schedules(asked: ComparisonRequest, npu: str, is_compiled: bool) -> list[Schedule]:
    """Return the schedules to compare; a CPU and a compiled file have one."""
    if npu == NO_NPU or is_compiled:
        return [USUAL_SCHEDULE]
    if asked.front:
        return [USUAL_SCHEDULE]
    limits = (None, *asked.arena_limits)
    return [Schedule(strategy, limit) for strategy in asked.strategies for limit in limits]


def with_front(results: Sequence[Result]) -> list[Result]:
    """Return the results, with those on the Pareto front of their network and board marked."""
    members: dict[tuple[str, str], list[int]] = {}
    for index, result in enumerate(results):
        if result.cost is not None and not result.misfit:
            setting = result.setting
            members.setdefault((setting.network, setting.board), []).append(index)
    chosen = {
        indices[place]
        for indices in members.values()
        for place in front([results[index].cost for index in indices])
    }
    return [replace(result, on_front=index in chosen) for index, result in enumerate(results)]


def find_versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    compiler = compiler_of(next(iter(accelerators().values())))
    return {
        "ethosgen": __version__,
        compiler.compiler: compiler.compiler_version(),
        "TVM": version("apache-tvm"),
        DEFAULT.title: DEFAULT.version,
    }


def key_of(point: Point, facts: str | None = None, kind: str = "point") -> str:
    """Return a digest of everything that a point's result depends on: a key for caches.

    It covers the network's bytes, the board's facts, all options, the versions and ethosgen's own
    sources. `facts` are the board's as JSON, which are read if they are not given. `kind` is
    "front" for the results of measure_front.
    """
    total = hashlib.sha256(point.source.data)
    if facts is None:
        facts = load_board(point.setting.board).model_dump_json()
    rest = (
        point.source.format,
        point.source.name,
        point.source.options,
        facts,
        point.setting,
        point.options,
        point.samples,
        point.seed,
        point.build,
        kind,
        sources_digest(),
    )
    total.update(repr(rest).encode())
    return total.hexdigest()


@cache
def sources_digest() -> str:
    """Return a digest of ethosgen's modules and templates, and of its tools' versions."""
    total = hashlib.sha256(repr(sorted(find_versions().items())).encode())
    core, *parts = packages()
    folders = [*(f for f in core.iterdir() if (f / "__init__.py").is_file()), *parts]
    for folder in (*sorted(folders), *map(resource_folder, _RESOURCES)):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                data = path.read_bytes()
                total.update(f"{path.relative_to(folder)}\0{len(data)}\0".encode())
                total.update(data)
    return total.hexdigest()
