"""ExecuTorch's tests of its Arm backend pass on the programs with the FVPs' names."""

import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.suites.executorch import (
    DIFFERENT,
    EXPECTED,
    INTEGER,
    PASSED,
    SKIPPED,
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
from tests.suites.running import UNKNOWN
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_executorch, needs_qemu
from tests.support.pages import add_line

COUNT = 4
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


def test_networks_have_rows_of_their_own() -> None:
    network = ArmTestResult("models/test_ds_cnn.py::test_ds_cnn_u85_INT[a]", PASSED)
    *_, row = record([*RESULTS, network], "1.5.1", "It ran.").rows
    assert row.group == "networks, integers, Ethos-U85, Corstone-320" and row.passed == 1
