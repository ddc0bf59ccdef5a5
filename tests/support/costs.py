"""Costs and results for tests that measure nothing."""

from typing import Any

from ethosgen.values.accuracy import (
    AccuracyReport,
    Agreement,
    ClassFigures,
    Classification,
    SampleVerdict,
)
from ethosgen.values.configurations import Cost, Exactness, Result, Setting
from ethosgen.values.labelled import LabelledResult
from ethosgen.values.schedule import USUAL_SCHEDULE, Schedule

EQUAL = Exactness("tflm", 5, 60, 0)


def make_cost(npu_cycles: int = 1000, sram_bytes: int = 4096, **changes: Any) -> Cost:
    """Return the cost of a network that the NPU runs at 1 MHz, all of it unless changed."""
    figures = {
        "model_cycles": npu_cycles,
        "cpu_cycles": 0,
        "start_cycles": 300,
        "unknown_operators": 0,
        "npu_hz": 1_000_000,
        "cpu_hz": 1_000_000,
        "arena_bytes": sram_bytes,
        "fast_bytes": 0,
        "constant_bytes": 2048,
        "npu_operators": 3,
        "cpu_operators": 0,
        "partitions": 1,
    }
    return Cost(npu_cycles=npu_cycles, sram_bytes=sram_bytes, **{**figures, **changes})


def make_result(
    npu: str = "ethos-u55-128", schedule: Schedule = USUAL_SCHEDULE, **changes: Any
) -> Result:
    """Return the result of a network that equals the oracle unless changed."""
    setting = Setting("net", "corstone300", npu, "shared_sram", schedule)
    return Result(setting, **{"cost": make_cost(), "exactness": EQUAL, **changes})


CLASSES = (ClassFigures("cat", 2, 1, 1), ClassFigures("dog", 1, 2, 1))
VERDICTS = (SampleVerdict(0, 0, 0, 0.5), SampleVerdict(1, 0, 1, 0.75), SampleVerdict(2, 1, 1, 1.0))
LABELLED = AccuracyReport(
    network="net",
    npu="ethos-u55-128",
    samples=3,
    taken="",
    silent=0,
    output=None,
    classification=Classification(3, {1: 2, 2: 3}, CLASSES, ((1, 1), (0, 1))),
    detection=None,
    agreements=(Agreement("simulate", "tflm", 3, 0),),
    work=(),
    verdicts=VERDICTS,
)
"""A classifier that takes one of two cats for a dog."""


def make_labelled(
    report: AccuracyReport | None = LABELLED, npu: str | None = "ethos-u55-128", **changes: Any
) -> LabelledResult:
    """Return the accuracy of a network on pets."""
    fields = {"board": None, "on": ("simulate", "tflm"), **changes}
    return LabelledResult(data="pets", network="net", npu=npu, report=report, **fields)
