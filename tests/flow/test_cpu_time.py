"""The CPU's share of an inference: the same in each command, counted or by stored costs."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.commands.wording import report_text
from ethosgen.cycles.models import source_of
from ethosgen.studies.reporting import ReportRequest, make_report
from ethosgen.values.report import Report
from ethosgen.values.time import CpuTime
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_llvm, needs_qemu
from tests.support.recipes import recipe
from tests.support.small_models import image_net

INPUTS = Inputs(None, 2, 11)
CLOCK_HZ = load_board("corstone300").cpu.clock_hz
MOST_OF_CALLS = 0.01
"""The part of a small network's cycles that calls of the hook in each step may cost."""
ROUNDED = 20
"""The most by which the sum of the rounded cycles of steps, in another sample, may differ."""


def verify(path: Path, npu: str | None = None) -> CpuTime:
    """Return the CPU's share as `ethosgen verify` has it."""
    report = flow.verify(recipe(path, npu=npu), flow.RunOptions(INPUTS), watch=Watch())
    assert isinstance(report, Report) and report.passed and report.cpu_time is not None
    return report.cpu_time


def run_profiled(path: Path, folder: Path) -> CpuTime:
    """Return the CPU's share as `ethosgen run --profile` has it; its steps add up to it."""
    flow.create_project(recipe(path, npu="none"), directory=folder, watch=Watch())
    flow.build_project(folder, profile=True, watch=Watch())
    report = flow.run_project(folder, flow.RunOptions(INPUTS, profile=True), watch=Watch())
    assert isinstance(report, Report) and report.cpu_time is not None
    assert report.profile is not None and report.profile.cycles is not None
    assert report.profile.cycles == pytest.approx(report.cpu_time.cycles, abs=ROUNDED)
    return report.cpu_time


@needs_llvm
@needs_qemu
def test_each_command_has_the_same_share(tmp_path: Path) -> None:
    path = image_net(tmp_path / "n.tflite")
    verified, profiled = verify(path, npu="none"), run_profiled(path, tmp_path / "project")
    reported = make_report(ReportRequest(recipe(path, npu="none"), inputs=INPUTS), Watch())
    assert reported.costs.cpu_time == verified and reported.costs.cpu_unit == "cycles"
    assert verified.cycles > 0 and verified.hz == CLOCK_HZ and verified.is_counted
    assert verified.source == profiled.source == source_of("cortex-m55")
    assert profiled.cycles == pytest.approx(verified.cycles, rel=MOST_OF_CALLS)


@needs_llvm
@needs_qemu
def test_the_wait_for_the_npu_is_left_out(tmp_path: Path) -> None:
    path = image_net(tmp_path / "n.tflite")
    report = flow.verify(recipe(path), flow.RunOptions(INPUTS), watch=Watch())
    assert isinstance(report, Report) and report.cpu_time is not None and report.npu_pmu is not None
    assert 0 < report.cpu_time.cycles < verify(path, npu="none").cycles / 10
    npu = load_board("corstone300").npu
    assert npu is not None and npu.clock_hz is not None
    ms = report.as_json()["npu_milliseconds"]
    assert ms == pytest.approx(1e3 * report.npu_pmu["cycles"] / npu.clock_hz, rel=0.05)
    assert "(the NPU model)" in report_text(report, verbose=True)


@needs_qemu
def test_without_llvm_stored_costs_stand_for_the_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETHOSGEN_LLVM_MCA", str(tmp_path / "missing"))
    time = verify(image_net(tmp_path / "n.tflite"), npu="none")
    assert not time.is_counted and time.source == "stored costs" and time.cycles > 0
