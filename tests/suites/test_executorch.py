"""ExecuTorch's tests of its Arm backend pass on the programs with the FVPs' names."""

import os
import random
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.suites import executorch
from tests.suites.executorch import (
    INTEGER,
    PYTHON,
    ArmTestResult,
    Log,
    cause,
    collect,
    draw,
    latest,
    read_report,
    record,
    run,
)
from tests.suites.executorch_ends import DIFFERENT, EXPECTED, PASSED, SKIPPED
from tests.suites.page import Group, record_of, write_record
from tests.suites.running import UNKNOWN
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_executorch, needs_qemu
from tests.support.pages import add_line, load

COUNT = 4
RANGES = """
import torch
from quick_pytest import quick_search
from torchao.quantization.pt2e.observer import HistogramObserver

search = HistogramObserver._non_linear_param_search
for seed in range(20):
    torch.manual_seed(seed)
    observer = HistogramObserver(dtype=torch.int8)
    for values in (torch.randn(50) * 10.0 ** (seed % 5 - 2), torch.rand(200).exp()):
        observer(values)
    assert quick_search(search)(observer) == search(observer), seed
"""
"""Compares the range that PyTorch finds for a histogram with that of quick_pytest."""
REPORT = """<testsuites><testsuite>
<testcase classname="ops.test_abs" name="test_abs_u55_INT[zeros]" time="2.5" />
<testcase classname="ops.test_abs" name="test_abs_u85_INT[zeros]"><failure message="RuntimeError">
E           RuntimeError: Failed running command FVP_Corstone_SSE-320
E           Stderr: I [executorch:arm_executor_runner.cpp:1406 main()] Running
E           ethosgen: fault: the result has several results, which is not modelled
E           E: ethosu_driver.c:591: NPU error(s) occured during inference.
</failure></testcase>
<testcase classname="ops.test_any" name="test_any_u55_INT[a]">
<skipped type="pytest.xfail" message="not supported" /></testcase>
<testcase classname="ops.test_any" name="test_any_u85_INT[a]">
<skipped type="pytest.skip" message="too slow" /></testcase>
</testsuite></testsuites>"""
TOLD = "ethosgen: fault: the result has several results, which is not modelled"
RESULTS = [
    ArmTestResult("ops/test_abs.py::test_abs_u55_INT[zeros]", PASSED),
    ArmTestResult("ops/test_abs.py::test_abs_u85_INT[zeros]", DIFFERENT, TOLD),
    ArmTestResult("ops/test_any.py::test_any_u55_INT[a]", EXPECTED, "not supported"),
    ArmTestResult("ops/test_any.py::test_any_u85_INT[a]", SKIPPED, "too slow"),
]


@needs_executorch
@needs_qemu
@pytest.mark.compiler("gcc")
@pytest.mark.slow
def test_a_part_of_the_suite_passes(record_property: Callable[[str, object], None]) -> None:
    seed = fresh_seed(1 << 30)
    record_property("random networks", seed)
    results = run(draw(collect(INTEGER), COUNT, seed))
    assert len(results) == COUNT
    apart = [result for result in results if result.end == DIFFERENT]
    assert not [result for result in apart if cause(result) == UNKNOWN], results


@needs_executorch
@pytest.mark.slow
def test_ranges_of_histograms_are_pytorchs() -> None:
    subprocess.run([os.environ[PYTHON], "-c", RANGES], cwd=Path(__file__).parent, check=True)


def test_a_report_is_read() -> None:
    results = list(read_report(REPORT))
    assert results == RESULTS and results[0].seconds == 2.5


def test_a_draw_does_not_depend_on_the_order_of_the_names() -> None:
    names = [str(number) for number in range(100)]
    shuffled = random.Random(1).sample(names, len(names))
    assert draw(names, 10, 3) == draw(shuffled, 10, 3) != draw(names, 10, 4)
    assert draw(names, 10, 3) == draw(names, 50, 3)[:10]
    assert sorted(draw(names, None, 3)) == sorted(names)


def test_a_log_has_the_last_result_of_each_test(tmp_path: Path) -> None:
    earlier, later = tmp_path / "a", tmp_path / "b"
    for result in RESULTS:
        add_line(earlier, asdict(result))
    mended = ArmTestResult(RESULTS[1].name, PASSED)
    add_line(later, asdict(mended))
    results = latest([earlier, later, tmp_path / "none"])
    assert results == [RESULTS[0], mended, *RESULTS[2:]]


def test_no_tests_start_after_the_time(tmp_path: Path) -> None:
    assert Log(tmp_path / "log").run(["no such test"], ends_s=0.0)
    assert not (tmp_path / "log").exists()


def test_what_the_suite_expects_to_fail_is_not_tried() -> None:
    u55, u85 = record(RESULTS, "1.5.1", "It ran.").rows
    assert (u55.tried, u55.passed, u55.different) == (1, 1, {})
    assert (u85.tried, u85.passed, list(u85.different.values())) == (1, 0, [1])
    assert "NPU_OP_BRANCH" in next(iter(u85.different))
    assert "1 more fail, as the suite expects" in u55.group and "expects" not in u85.group
    assert "the suite skips 1 more" in u85.group and "skips" not in u55.group


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("models/test_ds_cnn.py::test_ds_cnn_u85_INT[a]", "networks, integers, Ethos-U85"),
        ("ops/test_add.py::test_implementation_add[a]", "operators, integers, Cortex-M55"),
    ],
)
def test_kinds_and_places_have_rows_of_their_own(name: str, title: str) -> None:
    rows = record([*RESULTS, ArmTestResult(name, PASSED)], "1.5.1", "It ran.").rows
    (row,) = (row for row in rows if row.group.startswith(title) and row.passed)
    assert row.tried == 1 and len(rows) == 3


def test_rows_of_what_did_not_run_stay() -> None:
    rows = record(RESULTS, "1.5.1", "It ran.").rows
    networks = Group("networks, integers, Ethos-U55, Corstone-300", 7, 7, {}, {})
    other = Group("operators, integers, and loops", 2, 2, {}, {})
    old = Group(f"{rows[0].group}; the suite skips 10 more", 143, 143, {}, {})
    assert record(RESULTS, "1.5.1", "It ran.", [old, networks, other]).rows == (
        *rows,
        networks,
        other,
    )
    network = ArmTestResult("models/test_ds_cnn.py::test_ds_cnn_u55_INT", PASSED)
    *_, row = record([network], "1.5.1", "It ran.", [networks]).rows
    assert row.tried == 1


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that runs the program on 200 tests, and returns those that it started.

    The 13th of them differs.
    """
    names = [f"ops/test_abs.py::test_abs_u55_INT[{number}]" for number in range(200)]
    different = draw(names, None, 3)[12]
    started: list[str] = []

    def fake(chunk: list[str], _backend: str) -> list[ArmTestResult]:
        started.extend(chunk)
        return [ArmTestResult(name, DIFFERENT if name == different else PASSED) for name in chunk]

    write_record(tmp_path / "executorch.json", record(RESULTS[:1], "1.5.1", "It ran."))
    for name, value in {
        "ENDS": tmp_path / "ends",
        "RECORDS": tmp_path,
        "collect": lambda *_: names,
        "lacking": lambda: None,
        "run": fake,
        "_version": lambda: "1.5.1",
    }.items():
        monkeypatch.setattr(executorch, name, value)

    def main(*words: str | Path) -> list[str]:
        started.clear()
        monkeypatch.setattr("sys.argv", ["executorch", "--seed", "3", *map(str, words)])
        executorch.main()
        return list(started)

    return main


def test_sessions_add_up(session: Callable[..., list[str]], tmp_path: Path) -> None:
    first = session("--count", 70, "--log", tmp_path / "first")
    assert len(first) == 70 and session("--count", 70, "--log", tmp_path / "first") == [first[12]]
    session("--record", tmp_path / "first")
    second = session("--count", 100, "--log", tmp_path / "second")
    assert len(second) == 31 and second[0] == first[12] and not set(second[1:]) & set(first)
    assert session("--count", 70, "--afresh") == first
    session("--record", tmp_path / "second")
    (row,) = record_of(load(tmp_path / "executorch.json")).rows
    assert (row.tried, row.passed, dict(row.different)) == (100, 99, {UNKNOWN: 1})
    assert "those from 1 to 100." in load(tmp_path / "executorch.json")["about"]
