"""Measures all points of a study on dask's workers, except those that a store has."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from ethosgen.board import load_board
from ethosgen.host.folders import cache_folder
from ethosgen.host.processors import processor_count
from ethosgen.oracle import choices
from ethosgen.studies.comparison import (
    ComparisonRequest,
    find_versions,
    key_of,
    points_of,
    sources_digest,
    with_front,
)
from ethosgen.studies.points import measure_front, measure_point
from ethosgen.values.configurations import ComparisonReport, Point, Result
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.grammar import counted, unknown
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.source import ReadOptions, Source
from ethosgen.values.watch import Watch
from ethosgen_sweep.cluster import Cluster
from ethosgen_sweep.connection import connected, require_dask
from ethosgen_sweep.jobs import Batch, Job, JobAnswer, Made, UnfitWorkerError
from ethosgen_sweep.records import outputs_bytes, read_results, refusal_bytes, results_bytes
from ethosgen_sweep.report import SweepCounts, SweepReport
from ethosgen_sweep.shards import ShardRun, run_shard
from ethosgen_sweep.store import Store
from ethosgen_sweep.study import Study, find_networks, load_study
from ethosgen_sweep.study_data import StudyData

_LARGEST_BATCH = 64
"""Points of a network that one worker does in order: it reads the network, and asks the oracle,
once for them. A batch that takes long ends before all are done."""
_SHARES_FOR_EACH = 2
"""A batch is this part of what is left for each worker, so that none waits long for the last."""


@dataclass(frozen=True)
class SweepRequest:
    """A study to measure, and the workers: `workers` processes of this machine, or a scheduler's.

    `store` is the folder with results of earlier sweeps, by default the user's. With
    `retry_refused`, points that were refused earlier are tried again.
    """

    study: Path
    store: Path | None = None
    scheduler: str | None = None
    workers: int | None = None
    retry_refused: bool = False


def default_store() -> Path:
    """Return the user's folder for results of sweeps."""
    return cache_folder() / "sweeps"


class Todo:
    """A study's points and shards by key, and their states."""

    def __init__(self, asked: SweepRequest) -> None:
        self.study = load_study(asked.study)
        self.asked = asked
        self.points = points_of(comparison_of(self.study, asked.study))
        boards = {point.setting.board for point in self.points}
        facts = {name: load_board(name).model_dump_json() for name in boards}
        kind = "front" if self.study.front else "point"
        self.keys = [f"{key_of(point, facts[point.setting.board], kind)}" for point in self.points]
        self.store = Store.make(asked.store or default_store())
        self.results: dict[str, tuple[Result, ...]] = {}
        if asked.retry_refused:
            self._forget_refused()
        self.look()
        self.kept = len(self.results)
        self.faults: dict[str, str] = {}
        self.data = StudyData(self.study, asked.study, self.points, self.store)
        self.data.look(asked.retry_refused)

    def look(self) -> None:
        """Find the values that the store has, from this sweep or another."""
        for key in self.keys:
            results = None if key in self.results else self._kept(key)
            if results is not None:
                self.results[key] = results

    def _kept(self, key: str) -> tuple[Result, ...] | None:
        data = self.store.get(key)
        return read_results(data) if data is not None else None

    def _forget_refused(self) -> None:
        for key in self.keys:
            if any(result.refusal for result in self._kept(key) or ()):
                self.store.drop(key)

    @property
    def total(self) -> int:
        """The number of points to compute, equal ones counted once."""
        return len(set(self.keys))

    def counts(self) -> SweepCounts:
        """Return the number of points and of shards in each state."""
        computed = len(self.results) - self.kept
        shards = self.data.tally()
        return SweepCounts(self.total, self.kept, computed, len(self.faults), shards)

    def missing(self) -> list[tuple[str, Point]]:
        """Return keys and points that are still to be computed, each once."""
        pairs = zip(self.keys, self.points, strict=True)
        return [(key, point) for key, point in dict(pairs).items() if key not in self.results]

    def batches(self, workers: Callable[[], int]) -> Iterator[Batch]:
        """Yield the missing points, some of one network in each batch, and then the shards.

        Batches have fewer points towards the end.
        """
        missing = self.missing()
        left = len(missing)
        for source, some in groupby(missing, lambda keyed: keyed[1].source):
            jobs = [Job(key, _without(point)) for key, point in some]
            while jobs:
                size = left // (_SHARES_FOR_EACH * max(workers(), 1))
                size = min(max(size, 1), _LARGEST_BATCH, len(jobs))
                yield Batch(tuple(jobs[:size]), source)
                del jobs[:size]
                left -= size
        yield from self.data.batches()

    def take(self, answer: JobAnswer) -> None:
        """Keep an answer; one that is not a result becomes the fault of its point or shard."""
        if answer.key in self.data.runs:
            self.data.take(answer)
            return
        results = read_results(answer.value) if answer.value is not None else None
        if results is None:
            self.faults[answer.key] = answer.fault or "its worker sent no result"
            return
        if answer.lasting and answer.value is not None and not answer.was_there:
            self.store.put(answer.key, answer.value)
        self.kept += answer.was_there  # another sweep computed it meanwhile
        self.results[answer.key] = results

    def report(self, seconds: float) -> SweepReport:
        """Return all results in the order of the points."""
        results: list[Result] = []
        for key, point in zip(self.keys, self.points, strict=True):
            lost = (Result(point.setting, refusal=self.faults.get(key, ""), may_pass=True),)
            results += self.results.get(key, lost)
        report = ComparisonReport(tuple(with_front(results)), find_versions(), seconds)
        return SweepReport(report, self.counts(), self.data.results())


def count_points(asked: SweepRequest) -> SweepCounts:
    """Return the number of a study's points and shards, and how many of them the store has."""
    require_dask()
    return Todo(asked).counts()


def sweep(asked: SweepRequest, watch: Watch) -> SweepReport:
    """Measure the points and shards of a study that the store lacks; return all results in order.

    InputError for a faulty study. TargetError if the scheduler goes away: finished results are in
    the store, so the next sweep continues from there.
    """
    require_dask()
    started = time.perf_counter()
    with watch.phase("study", f"reading {asked.study.name}"):
        todo = Todo(asked)
    if missing := todo.counts().all_missing:
        count = min(asked.workers or processor_count(), missing)
        what = f"starting {counted(count, 'worker')}"
        if asked.scheduler is not None:
            what = f"connecting to dask's scheduler at {asked.scheduler}"
        with watch.phase("workers", what), connected(asked.scheduler, count) as cluster:
            _measure(todo, cluster, watch)
    return todo.report(time.perf_counter() - started)


def _measure(todo: Todo, cluster: Cluster, watch: Watch) -> None:
    """Compute everything that is missing; announce progress."""
    watch.say(f"dask's dashboard: {cluster.dashboard}")
    compute = Measure(sources_digest(), todo.study.front)
    progress = _Progress(todo, cluster, watch)
    try:
        progress.wait_for_workers()
        runs = cluster.run(compute, todo.batches(cluster.workers), todo.store.shelf())
        with closing(runs):
            for answers in runs:
                for answer in answers:
                    todo.take(answer)
                progress.say()
    except TargetError as error:
        todo.look()
        todo.data.look(retry_refused=False)
        raise TargetError(
            f"{error}; {' and '.join(done_of(todo.counts()))} are kept: start the scheduler and "
            "the sweep again, and it continues from there"
        ) from None


class _Progress:
    """Announces the progress, the number of workers, and the remaining time."""

    def __init__(self, todo: Todo, cluster: Cluster, watch: Watch) -> None:
        self._todo, self._cluster, self._watch = todo, cluster, watch
        self._started = time.monotonic()

    def wait_for_workers(self) -> None:
        """Return when a worker is connected; until then announce what is missing."""
        if not self._cluster.workers():
            self._watch.say(self._waiting())
            self._cluster.wait_for_workers()
            self._started = time.monotonic()

    def _waiting(self) -> str:
        address = self._cluster.address
        return f"waiting for workers; start some with: dask worker {address} --nthreads 1"

    def say(self) -> None:
        """Announce the current state."""
        workers, unfit = self._cluster.workers(), self._cluster.unfit
        counts = self._todo.counts()
        seconds = time.monotonic() - self._started
        both = counts, counts.shards
        done = sum(tally.computed + tally.failed for tally in both)
        left = seconds / max(done, 1) * sum(tally.missing - tally.failed for tally in both)
        refused = sum(any(r.refusal for r in results) for results in self._todo.results.values())
        parts = [
            *done_of(counts),
            *([f"{refused:,} refused"] if refused else []),
            *([f"{failed:,} failed"] if (failed := sum(tally.failed for tally in both)) else []),
            counted(workers, "worker"),
            *(
                [f"{len(unfit):,} of them without work: {next(iter(unfit.values()))}"]
                if unfit
                else []
            ),
            f"about {left:.0f} s left" if workers else self._waiting(),
        ]
        self._watch.say(f"sweeping: {', '.join(parts)}")


def done_of(counts: SweepCounts) -> list[str]:
    """Return the numbers of points and shards that are done; shards only if there are any."""
    shards = counts.shards
    done = [f"{counts.points - counts.missing:,} of {counted(counts.points, 'point')}"]
    if shards.total:
        done.append(f"{shards.total - shards.missing:,} of {counted(shards.total, 'shard')}")
    return done


@dataclass(frozen=True)
class Measure:
    """Computes a point or a shard in a worker.

    The worker must have the same ethosgen: `expected` digests it.
    """

    expected: str
    front: bool = False

    def check(self) -> None:
        """Raise UnfitWorkerError in a worker with another version."""
        if sources_digest() != self.expected:
            raise UnfitWorkerError(
                "a worker has another version of ethosgen or of what it uses than this machine; "
                "install the same on all"
            )

    def __call__(self, shared: Source, work: Point | ShardRun) -> Made:
        """Return a point's results, or a shard's outputs."""
        if isinstance(work, ShardRun):
            return Made(_shard_bytes(shared, work))
        point = replace(work, source=shared)
        results = measure_front(point) if self.front else (measure_point(point),)
        return Made(results_bytes(results), all(_is_lasting(point, result) for result in results))


def _shard_bytes(source: Source, run: ShardRun) -> bytes:
    """Return a shard's outputs, or why it has none; other faults, perhaps temporary, are raised."""
    try:
        network, outputs = run_shard(source, run)
    except InputError as error:
        return refusal_bytes(str(error))
    return outputs_bytes(outputs, network.outputs)


def _is_lasting(point: Point, result: Result) -> bool:
    """Return whether every machine with the same ethosgen would give the same result."""
    if result.may_pass:
        return False
    is_built = result.cost is None or result.cost.code_bytes is not None
    return is_built or not point.build or bool(result.misfit)


def _without(point: Point) -> Point:
    """Return a point without its network's bytes."""
    return replace(point, source=replace(point.source, data=b""))


def comparison_of(study: Study, path: Path) -> ComparisonRequest:
    """Return the comparison that has the points of a study; InputError for missing files."""
    if study.oracle is not None and study.oracle not in choices():
        raise InputError(f"study '{path}': {unknown('oracle', study.oracle, choices())}")
    return ComparisonRequest(
        networks=find_networks(study, path),
        boards=tuple(_beside(path, name) for name in study.boards),
        npus=tuple(study.npus),
        memory_modes=tuple(study.memory_modes),
        strategies=tuple(study.strategies),
        arena_limits=tuple(map(int, study.arena_limits)),
        front=study.front,
        options=OffloadOptions(
            tuple(study.cpu_ops),
            OffloadMode(study.offload),
            study.trust_compiler,
            study.check,
            study.oracle,
            study.allow_difference,
            optimize=study.optimize,
        ),
        reading=ReadOptions(
            tuple((name, tuple(shape)) for name, shape in study.shapes.items()), study.input_layout
        ),
        samples=study.samples,
        seed=study.seed,
        build=study.build,
    )


def _beside(path: Path, board: str) -> str:
    """Return a board's name, or its file relative to the study."""
    return str(path.parent / board) if board.endswith(".toml") else board
