"""Tests of others with golden outputs: networks, inputs and outputs, and what becomes of them here.

Each test runs in a fork, so that one that dies or hangs says so and the next one runs.
"""

import json
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import numpy as np

import ethosgen
from ethosgen.frontend import read_source
from ethosgen.values.errors import EthosgenError
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.report import Report
from ethosgen.values.source import Source
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer
from tests.support.forks import run_fork
from tests.support.trials import plan_for

CPU, QEMU = "cpu", "qemu"
NPUS = ("ethos-u55-128", "ethos-u85-256")
SETTINGS = (CPU, *NPUS)
BOARD = "corstone300"
LIMIT_S = 300.0

Array = np.ndarray[Any, Any]
Sample = tuple[Sequence[Array], Sequence[Array] | None]
"""Inputs and golden outputs in the order of the network's; flat ones get its shapes.

A sample without golden outputs only changes the network's state.
"""

PASSED, REFUSED, DIFFERENT, DIED = "passed", "refused", "different", "died"


@dataclass(frozen=True)
class GoldenTest:
    """One test of a suite; outputs pass if |ours - theirs| <= atol + rtol * |theirs|.

    `note` says what may explain a difference.
    """

    group: str
    name: str
    source: Source
    samples: Sequence[Sample]
    rtol: float = 0.0
    atol: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class GoldenResult:
    """What became of a test on the CPU's code, with an NPU, or on QEMU.

    `why` is the reason of a refusal, or what differs. `unequal` and `elements` count outputs, and
    `on_npu` operators. `like_oracle` says of a difference whether the oracle computes what we do;
    `is_bound` that inputs became constants. `note` is the test's.
    """

    group: str
    name: str
    on: str
    end: str
    why: str = ""
    elements: int = 0
    unequal: int = 0
    most: float = 0.0
    on_npu: int = 0
    like_oracle: bool | None = None
    is_bound: bool = False
    note: str = ""

    @property
    def reason(self) -> str:
        """The reason without the names of this test's tensors and its numbers."""
        text = re.sub(r"'[^']*'", "'…'", self.why)
        return re.sub(r"\([\d, ]+\)|\[[\d, ]+\]|\d+(x\d+)+", "(…)", text)


def run_test(test: GoldenTest, on: str) -> GoldenResult:
    """Run a test in this process."""
    try:
        network = read_source(test.source)
        samples = [_fitted(network.inputs, inputs) for inputs, _ in test.samples]
        golden = [
            {} if outputs is None else _fitted(network.outputs, outputs)
            for _, outputs in test.samples
        ]
        outputs, on_npu = run_samples(network, samples, on)
    except EthosgenError as error:
        return GoldenResult(test.group, test.name, on, REFUSED, str(error))
    pairs = [
        (ours[name], array)
        for ours, theirs in zip(outputs, golden, strict=True)
        for name, array in theirs.items()
    ]
    far = sum(int((~_near(*pair, test)).sum()) for pair in pairs)
    result = GoldenResult(
        test.group,
        test.name,
        on,
        PASSED,
        elements=sum(theirs.size for _, theirs in pairs),
        unequal=sum(int((~_same(*pair)).sum()) for pair in pairs),
        most=max((_most(*pair) for pair in pairs), default=0.0),
        on_npu=on_npu,
        note=test.note,
    )
    if not far:
        return result
    compared = golden_answer(network, samples).against(outputs)
    why = f"{far} of {result.elements} differ"
    return replace(result, end=DIFFERENT, why=why, like_oracle=compared.mismatches == 0)


def run_samples(
    network: Network, samples: Sequence[Arrays], on: str
) -> tuple[Sequence[Arrays], int]:
    """Return the outputs, and how many operators the NPU ran.

    On this machine without the check of the plan: what the suite compares is Vela's own work.
    """
    if on == QEMU:
        return run_firmware(network, samples)
    plan = plan_for(network, None if on == CPU else on)
    on_npu = sum(len(partition.operators) for partition in plan.partitions)
    return simulate_samples(plan, samples, Watch()), on_npu


def run_firmware(network: Network, samples: Sequence[Arrays]) -> tuple[list[Arrays], int]:
    """Return the outputs of a network's firmware on QEMU, and how many operators the NPU ran."""
    assert network.source is not None
    with TemporaryDirectory() as folder:
        path = Path(folder) / network.source.name
        path.write_bytes(network.source.data)
        stacked = {
            tensor.name: np.stack([sample[tensor.name] for sample in samples])
            for tensor in network.inputs
        }
        run = ethosgen.verify(path, board=BOARD, inputs=stacked or None)
    outputs: list[Arrays] = [
        {name: batch[i] for name, batch in run.outputs.items()} for i in range(len(samples))
    ]
    assert isinstance(run.report, Report)  # of one network
    return outputs, run.report.plan.npu_operators or 0


def _fitted(tensors: Sequence[Tensor], arrays: Sequence[Array]) -> Arrays:
    """Return arrays by the names of tensors; ValueError for another type or number of elements."""
    fitted = {}
    for tensor, array in zip(tensors, arrays, strict=True):
        if array.dtype != np.dtype(tensor.dtype):
            raise ValueError(f"{tensor.name} is {tensor.dtype} here and {array.dtype} there")
        fitted[tensor.name] = array.reshape(tensor.shape)
    return fitted


def _same(ours: Array, theirs: Array) -> Array:
    same: Array = ours == theirs
    if theirs.dtype.kind == "f":
        same |= np.isnan(ours) & np.isnan(theirs)
    return same


def _near(ours: Array, theirs: Array, test: GoldenTest) -> Array:
    if theirs.dtype.kind == "b":
        return _same(ours, theirs)
    wide = np.float64 if theirs.dtype.kind == "f" else np.int64
    close: Array = np.isclose(
        ours.astype(wide), theirs.astype(wide), test.rtol, test.atol, equal_nan=True
    )
    return close


def _most(ours: Array, theirs: Array) -> float:
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    return float(np.max(apart[np.isfinite(apart)], initial=0.0))


def run_apart(
    work: Callable[[], GoldenResult], group: str, name: str, on: str, limit_s: float = LIMIT_S
) -> GoldenResult:
    """Run a test in a fork; one that raises, dies or is late has ended by "died"."""

    def told() -> bytes:
        try:
            result = work()
        except Exception as error:
            why = f"{type(error).__name__}: {str(error)[:300]} ({place_of(error.__traceback__)})"
            result = GoldenResult(group, name, on, DIED, why)
        return json.dumps(asdict(result)).encode()

    ended = run_fork(told, limit_s)
    if ended.status == 0:
        return GoldenResult(**json.loads(ended.returned))
    how = "late" if ended.status is None else f"status {ended.status}"
    last = ended.errors.decode(errors="replace").strip().splitlines()[-1:]
    return GoldenResult(group, name, on, DIED, ": ".join([how, *last]))


def place_of(trace: TracebackType | None) -> str:
    """Return the last places of a traceback, as files and lines."""
    places = traceback.extract_tb(trace)[-3:]
    return " ".join(f"{Path(place.filename).name}:{place.lineno}" for place in places)
