"""Measures a network's accuracy on labelled data, on one target or on several that must agree."""

import hashlib
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.backend import require_simulator
from ethosgen.board import load_board
from ethosgen.metrics import classify, detect, reconstruction_error
from ethosgen.oracle import CHOICES, DEFAULT, ORACLES
from ethosgen.pipeline.judgement import tolerance_of
from ethosgen.pipeline.planning import choose_accelerator, make_plan, read
from ethosgen.pipeline.sample_runners import QEMU, OracleMaker, SimulatorMaker, build_firmware
from ethosgen.pipeline.workers import Chunk, Make, run_chunks
from ethosgen.samples.labelled import Labelled, load_labelled
from ethosgen.samples.quantizing import real
from ethosgen.samples.results import Results
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.accuracy import AccuracyReport, Agreement, Classification, Detection, Work
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, compare
from ethosgen.values.plan import EXACT, IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.watch import Watch
from ethosgen.values.workload import has_state, multiplications

SIMULATE = "simulate"
TARGETS = (SIMULATE, QEMU, *CHOICES)
RECONSTRUCTION = "reconstruction"
"""The score of an autoencoder: the mean squared error between its input and its output."""

_CHUNK = 16
_ORACLE_CHUNK = 512
"""Each chunk starts the oracle's interpreter again, which takes about 0.3 s."""
_FIRMWARE_CHUNK = 128
"""At most; each chunk starts the firmware again, which takes the time of 30 samples."""
_MACHINES = 2
"""QEMUs for each processor: firmware and NPU model take turns, so half of them wait."""
_WORTH_MACHINES = 256
"""Samples that are worth several QEMUs, whatever the network."""
_WORTH_PROCESSES = 4_000_000_000
"""Multiplications that are worth worker processes, each of which takes some seconds to start."""


@dataclass(frozen=True)
class AccuracyRequest:
    """The network and the data, the targets in order, and what makes a score of the outputs.

    `score` is RECONSTRUCTION or the index of an element of the output, None for a classifier. The
    right class must be among the best k for each k in `tops`. `results` keeps the outputs. QEMU
    needs a board, which also decides the default of `npu`. `processes` are the worker processes of
    a target, by default as many as are worth it.
    """

    network: Path
    data: Path
    labels: Path | None = None
    on: tuple[str, ...] = (SIMULATE,)
    board: str | None = None
    npu: str | None = None
    options: OffloadOptions = EXACT
    reading: ReadOptions = AS_GIVEN
    score: str | None = None
    tops: tuple[int, ...] = (1,)
    results: Path | None = None
    processes: int | None = None


def measure_accuracy(asked: AccuracyRequest, watch: Watch) -> AccuracyReport:
    """Run all samples on each target; return the first one's figures, and how far they agree.

    InputError for unusable files, UnsupportedError for a network whose samples depend on each
    other.
    """
    _require_targets(asked.on)
    network = read(asked.network, None, watch, asked.reading)
    if has_state(network):
        raise UnsupportedError(
            f"'{network.name}' may keep a state between inferences, so its samples cannot be "
            "judged one by one"
        )
    with watch.stage("data", f"reading {asked.data.name}"):
        data = load_labelled(asked.data, network.inputs, asked.labels)
    names = _check(asked, network, data)
    outputs, work = {}, []
    with ExitStack() as stack:
        job = _Job(asked, network, data, stack, watch)
        kept = None
        if asked.results is not None:
            results = Results(asked.results, job.identity(), network.outputs, len(data))
            kept = stack.enter_context(results)
        for on in asked.on:
            outputs[on], done = job.run(on, kept)
            work.append(done)
    first, *others = asked.on
    judged = outputs[first]
    return AccuracyReport(
        network=network.name,
        npu=job.npu,
        samples=len(data),
        classification=_classify(asked, network, data, names, judged),
        detection=_detect(asked, network, data, judged),
        agreements=tuple(
            _agree(network, (first, judged), (other, outputs[other])) for other in others
        ),
        work=tuple(work),
    )


class _Job:
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
        }

    def run(self, on: str, results: Results | None) -> tuple[list[Arrays], Work]:
        """Run the samples that the results lack; return all outputs in order."""
        done = dict(results.kept.get(on, {})) if results is not None else {}
        missing = [index for index in range(len(self._data)) if index not in done]
        work = Work(on, len(missing), len(done), 0.0, 0)
        if missing:
            processes = self._processes(on, len(missing))
            size = _chunk_size(on, len(missing), processes)
            make = self._make(on)
            started = time.perf_counter()
            runs = run_chunks(make, self._chunks(missing, size), processes)
            with self._watch.stage(on, f"running on {on}"), closing(runs):
                for chunk, made in runs:
                    for index, outputs in zip(chunk.indices, made, strict=True):
                        done[index] = outputs
                        if results is not None:
                            results.add(on, index, outputs)
                    total = counted(len(self._data), "sample")
                    self._watch.say(f"running on {on}: {len(done):,} of {total}")
            work = Work(on, len(missing), work.kept, time.perf_counter() - started, processes)
        return [done[index] for index in range(len(self._data))], work

    def _chunks(self, indices: Sequence[int], size: int) -> Iterator[Chunk[Arrays]]:
        for start in range(0, len(indices), size):
            some = tuple(indices[start : start + size])
            yield Chunk(some, tuple(self._data.sample(index) for index in some))

    def _processes(self, on: str, samples: int) -> int:
        if on in ORACLES:  # it has child processes of its own
            return 1
        if self._asked.processes is not None:
            return self._asked.processes
        is_worth = multiplications(self._network) * samples >= _WORTH_PROCESSES
        is_worth = is_worth or (on == QEMU and samples >= _WORTH_MACHINES)
        each = _MACHINES if on == QEMU else 1
        return each * len(os.sched_getaffinity(0)) if is_worth else 1

    def _make(self, on: str) -> Make:
        if on in ORACLES:
            return OracleMaker(on, self._network)
        if on == QEMU:
            return build_firmware(self._recipe(), self._stack, self._watch)
        if self._accelerator is not None:
            require_simulator(self._accelerator)
        plan = make_plan(
            self._network, self._accelerator, IoStyle.ARENA, self._watch, self._asked.options
        )
        return SimulatorMaker(plan)

    def _recipe(self) -> Recipe:
        """Return the firmware to build."""
        asked = self._asked
        is_linux = self._board is not None and self._board.linux is not None
        return Recipe(
            (asked.network,),
            asked.board,
            asked.npu,
            platform="linux" if is_linux else "baremetal",
            options=asked.options,
            reading=asked.reading,
        )


def _chunk_size(on: str, samples: int, processes: int) -> int:
    """Return the number of samples in a chunk; all QEMUs get equally many."""
    if on != QEMU:
        return _ORACLE_CHUNK if on in ORACLES else _CHUNK
    rounds = math.ceil(samples / (processes * _FIRMWARE_CHUNK))
    return math.ceil(samples / (processes * rounds))


def _require_targets(on: Sequence[str]) -> None:
    unknown = next((name for name in on if name not in TARGETS), None)
    if unknown is not None or not on:
        raise InputError(
            f"unknown target '{unknown or ''}' of --on; choose from: {', '.join(TARGETS)}"
        )
    if len(set(on)) < len(on):
        raise InputError(f"--on names a target twice: {', '.join(on)}")


def _check(asked: AccuracyRequest, network: Network, data: Labelled) -> tuple[str, ...]:
    """Refuse outputs that the scores cannot come from; return the classes' names."""
    if len(network.outputs) != 1:
        raise InputError(
            f"accuracy judges one output, but '{network.name}' has {len(network.outputs)}"
        )
    (output,) = network.outputs
    if asked.score == RECONSTRUCTION:
        only = network.inputs[0]
        if len(network.inputs) != 1 or only.elements != output.elements:
            raise InputError(
                f"--score {RECONSTRUCTION} is for an autoencoder, whose output is as large as its "
                f"input; '{network.name}' is none"
            )
        return ()
    if asked.score is not None:
        if not asked.score.isdecimal() or int(asked.score) >= output.elements:
            raise InputError(
                f"--score {asked.score} is neither {RECONSTRUCTION} nor an element of the output, "
                f"which has {output.elements}"
            )
        return ()
    if output.elements < 2:
        raise InputError(
            f"'{network.name}' has one output element, so it is no classifier; name it as the "
            "score of a detector with --score 0"
        )
    classes = output.elements
    if int(data.labels.max()) >= classes or len(data.names) > classes:
        most = max(int(data.labels.max()) + 1, len(data.names))
        raise InputError(
            f"the labels need {counted(most, 'class', 'classes')}, but '{network.name}' has "
            f"{counted(classes, 'class', 'classes')}"
        )
    return (*data.names, *map(str, range(len(data.names), classes)))


def _classify(
    asked: AccuracyRequest,
    network: Network,
    data: Labelled,
    names: Sequence[str],
    outputs: Sequence[Arrays],
) -> Classification | None:
    if asked.score is not None:
        return None
    (output,) = network.outputs
    scores = np.stack([one[output.name].reshape(-1) for one in outputs])
    tops = tuple(top for top in asked.tops if top <= output.elements)
    return classify(scores, data.labels, names, tops)


def _detect(
    asked: AccuracyRequest, network: Network, data: Labelled, outputs: Sequence[Arrays]
) -> Detection | None:
    if asked.score is None:
        return None
    (output,) = network.outputs

    def score(sample: int, made: Arrays) -> float:
        values = real(made[output.name].reshape(-1), output)
        if asked.score != RECONSTRUCTION:
            return float(values[int(asked.score or 0)])
        given = data.sample(sample)[network.inputs[0].name].reshape(-1)
        return reconstruction_error(real(given, network.inputs[0]), values)

    scores = np.array([score(index, made) for index, made in enumerate(outputs)])
    return detect(scores, data.labels)


def _agree(
    network: Network, one: tuple[str, Sequence[Arrays]], other: tuple[str, Sequence[Arrays]]
) -> Agreement:
    """Compare all outputs of two targets; floats may differ by the oracle's tolerance."""
    oracle = next((name for name, _ in (one, other) if name in ORACLES), DEFAULT.name)
    tolerance = tolerance_of(network, oracle)
    pairs: Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]] = zip(
        one[1], other[1], strict=True
    )
    differing, first = 0, None
    for index, (got, wanted) in enumerate(pairs):
        found = compare(other[0], [got], [wanted], tolerance)
        if found.mismatches:
            differing += 1
            first = first or (replace(found.first, sample=index) if found.first else None)
    return Agreement(one[0], other[0], len(one[1]), differing, first)
