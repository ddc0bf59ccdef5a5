"""Measures a network's accuracy on labelled data, on one target or on several that must agree."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosgen.backend import require_simulator
from ethosgen.board import load_board
from ethosgen.flow.planning import PlanSettings, choose_accelerator, make_plan, read
from ethosgen.host.processors import processor_count
from ethosgen.oracle import ORACLES, choices
from ethosgen.platforms import usual_platform
from ethosgen.samples.labelled import Labelled, load_labelled
from ethosgen.samples.pictures import AS_IT_IS, Preparation
from ethosgen.samples.results import Results
from ethosgen.studies.sample_runners import (
    QEMU,
    OracleMaker,
    SimulatorMaker,
    build_firmware,
    last_outputs,
)
from ethosgen.studies.scoring import make_judge, summarize
from ethosgen.studies.workers import Chunk, Make, Steps, run_chunks
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.accuracy import RESET, SEQUENCE, STATES, STREAM, AccuracyReport, ScoringWork
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import EXACT, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.watch import Watch

SIMULATE = "simulate"
OWN_TARGETS = (
    SIMULATE,
    QEMU,
)
_CHUNK = 16
_ORACLE_CHUNK = 512
"""Each chunk starts the oracle's interpreter again, which takes about 0.3 s."""
_MACHINES = 2
"""QEMUs for each processor: firmware and NPU model run in turn, so half of them wait."""
_WORTH_MACHINES = 256
"""Number of samples from which several QEMUs pay off, whatever the network."""
_WORTH_PROCESSES = 4_000_000_000
"""Multiplications from which worker processes pay off, which take some seconds each to start."""


@dataclass(frozen=True)
class AccuracyRequest:
    """The network and the data, the targets in order, and how outputs become scores.

    `preparation` says how pictures and sounds become inputs. `output` is the name or index of the
    output to judge; it is needed only if there are several. `score` is RECONSTRUCTION or the index
    of an element of the output, None for a classifier. For each k in `tops`, samples whose correct
    class is among the best k are counted. `state` says when a network's state is reset. `results`
    stores the outputs. QEMU needs a board, which also sets the default of `npu`. `processes` is the
    number of a target's worker processes, by default as many as pay off.
    """

    network: Path
    data: Path
    labels: Path | None = None
    preparation: Preparation = AS_IT_IS
    on: tuple[str, ...] = (SIMULATE,)
    board: str | None = None
    npu: str | None = None
    options: OffloadOptions = EXACT
    reading: ReadOptions = AS_GIVEN
    output: str | None = None
    score: str | None = None
    state: str = RESET
    tops: tuple[int, ...] = (1,)
    results: Path | None = None
    processes: int | None = None


def measure_accuracy(asked: AccuracyRequest, watch: Watch) -> AccuracyReport:
    """Run all samples on each target; return the first one's figures, and their agreement.

    InputError for unusable files, and if no sample has an output.
    """
    _require_choices(asked)
    network = read(asked.network, None, watch, asked.reading)
    with watch.phase("data", f"reading {asked.data.name}"):
        data = load_labelled(
            asked.data, network.inputs, asked.labels, asked.state == SEQUENCE, asked.preparation
        )
    judge = make_judge(network, data, asked.output, asked.score, asked.tops)
    outputs: dict[str, list[Arrays]] = {}
    work = []
    with ExitStack() as stack:
        job = _AccuracyRun(asked, network, data, stack, watch)
        kept = None
        if asked.results is not None:
            results = Results(asked.results, job.identity(), network.outputs, len(data))
            kept = stack.enter_context(results)
        for on in asked.on:
            outputs[on], done = job.run(on, kept)
            work.append(done)
    return summarize(judge, job.npu, outputs, work)


class _AccuracyRun:
    """One measurement; `stack` holds the folders that it needs."""

    def __init__(
        self,
        asked: AccuracyRequest,
        network: Network,
        data: Labelled,
        stack: ExitStack,
        watch: Watch,
    ) -> None:
        self._asked, self._network, self._data, self._watch = asked, network, data, watch
        self._stack = stack
        self._board = load_board(asked.board) if asked.board else None
        if self._board is None and QEMU in asked.on:
            raise InputError(f"--on {QEMU} runs a board's firmware; name the board with --board")
        self._accelerator = choose_accelerator(network, asked.npu, self._board)

    @property
    def npu(self) -> str:
        return self._accelerator.name if self._accelerator else NO_NPU

    def identity(self) -> dict[str, Any]:
        """Return digests of network and data, NPU and board: stored results must have the same."""
        total = hashlib.sha256()
        if self._network.source is not None:
            total.update(self._network.source.data)
        total.update(repr((self._asked.options, self._asked.reading)).encode())
        return {
            "network": total.hexdigest(),
            "data": self._data.digest(),
            "npu": self.npu,
            "board": self._asked.board,
            "state": self._asked.state,
        }

    def run(self, on: str, results: Results | None) -> tuple[list[Arrays], ScoringWork]:
        """Run the samples that the results lack; return all outputs in order.

        A stream always runs as a whole, because its state is not stored.
        """
        kept = results.kept.get(on, {}) if results is not None else {}
        missing = [index for index in range(len(self._data)) if index not in kept]
        if missing and self._asked.state == STREAM:
            kept, missing = {}, list(range(len(self._data)))
        done = dict(kept)
        work = ScoringWork(on, len(missing), len(done), 0.0, 0)
        if missing:
            processes = self._processes(on, len(missing))
            make = self._make(on)
            started = time.perf_counter()
            runs = run_chunks(make, self._chunks(missing, on), processes)
            with self._watch.phase(on, f"running on {on}"), closing(runs):
                for chunk, answers in runs:
                    for index, outputs in self._judged(chunk, answers):
                        done[index] = outputs
                        if results is not None:
                            results.add(on, index, outputs)
                    total = counted(len(self._data), "sample")
                    self._watch.say(f"running on {on}: {len(done):,} of {total}")
            work = ScoringWork(
                on, len(missing), work.kept, time.perf_counter() - started, processes
            )
        return [done[index] for index in range(len(self._data))], work

    def _chunks(self, indices: Sequence[int], on: str) -> Iterator[Chunk[Steps]]:
        if self._asked.state == STREAM:
            steps = [inputs for index in indices for inputs in self._data.steps(index)]
            yield Chunk(tuple(indices), (steps,))
            return
        size = _ORACLE_CHUNK if on in ORACLES else _CHUNK
        for start in range(0, len(indices), size):
            some = tuple(indices[start : start + size])
            yield Chunk(some, tuple(self._data.steps(index) for index in some))

    def _judged(
        self, chunk: Chunk[Steps], runs: Sequence[Sequence[Arrays]]
    ) -> Iterator[tuple[int, Arrays]]:
        """Yield each sample with its last outputs, none if the network waited for more inputs."""
        if self._asked.state == STREAM:
            (runs,) = ([[outputs] for outputs in steps] for steps in runs)
        for index, steps in zip(chunk.indices, runs, strict=True):
            yield index, last_outputs(steps)

    def _processes(self, on: str, samples: int) -> int:
        if on in ORACLES or self._asked.state == STREAM:  # oracles have children of their own
            return 1
        if self._asked.processes is not None:
            return self._asked.processes
        is_worth = self._network.multiplications * samples >= _WORTH_PROCESSES
        is_worth = is_worth or (on == QEMU and samples >= _WORTH_MACHINES)
        each = _MACHINES if on == QEMU else 1
        return each * processor_count() if is_worth else 1

    def _make(self, on: str) -> Make:
        if on in ORACLES:
            return OracleMaker(on, self._network)
        if on == QEMU:
            return build_firmware(self._recipe(), self._network, self._stack, self._watch)
        if self._accelerator is not None:
            require_simulator(self._accelerator)
        settings = PlanSettings(self._accelerator, self._asked.options)
        return SimulatorMaker(make_plan(self._network, settings, self._watch))

    def _recipe(self) -> Recipe:
        """Return the firmware to build."""
        asked = self._asked
        return Recipe(
            (asked.network,),
            asked.board,
            asked.npu,
            platform=usual_platform(self._board.platforms if self._board else ()),
            options=asked.options,
            reading=asked.reading,
        )


def _require_choices(asked: AccuracyRequest) -> None:
    on, known = asked.on, (*OWN_TARGETS, *choices())
    unknown = next((name for name in on if name not in known), None)
    if unknown is not None or not on:
        raise InputError(
            f"unknown target '{unknown or ''}' of --on; choose from: {', '.join(known)}"
        )
    if len(set(on)) < len(on):
        raise InputError(f"--on names a target twice: {', '.join(on)}")
    if asked.state not in STATES:
        raise InputError(f"unknown --state {asked.state}; choose from: {', '.join(STATES)}")
