"""Firmware that gets its input by rows, or runs in slices, on QEMU: the bits of the oracle."""

import json
import re
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.schedule import Schedule, Streaming
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.aot.rows.test_chain import NETWORKS
from tests.support.needs import needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder

TALL = 40
"""More rows at a time than any of the inputs has."""


def _create(name: str, schedule: Schedule, folder: Path, platform: str = "baremetal") -> Path:
    net = NetworkBuilder("network", seed=4)
    model = folder / "network.tflite"
    model.write_bytes(net.build(NETWORKS[name](net)))
    options = OffloadOptions(schedule=schedule)
    recipe = Recipe((model,), "corstone300", "none", platform=platform, options=options)
    flow.create_project(recipe, directory=folder / "project", watch=Watch())
    return folder / "project"


def _run(project: Path, *, profile: bool = False) -> Report:
    flow.build_project(project, profile=profile, watch=Watch())
    options = flow.RunOptions(Inputs(None, 3, 9), profile=profile)
    report = flow.run_project(project, options, watch=Watch())
    assert isinstance(report, Report)
    return report


def _together(project: Path, rows: int) -> None:
    """Let the application give so many rows at a time."""
    header = project / "app" / "server.h"
    text, count = re.subn(r"(?<=SERVER_FEED_ROWS )\d+", str(rows), header.read_text())
    assert count == 1
    header.write_text(text)


@needs_qemu
@pytest.mark.parametrize("name", ["inverted residual", "padded", "pools", "skips", "int16"])
def test_any_number_of_rows_at_a_time(name: str, tmp_path: Path) -> None:
    project = _create(name, Schedule(stream=Streaming.ALWAYS, feed=True), tmp_path)
    longest = []
    for rows in (1, 5, TALL):
        _together(project, rows)
        report = _run(project)
        assert report.passed and report.golden is not None and not report.golden.mismatches
        assert report.cpu_instructions and report.slice_instructions
        longest.append(report.slice_instructions)
    assert longest == sorted(longest)


@needs_qemu
@pytest.mark.parametrize("schedule", [Schedule(steps=True), Schedule(feed=True)])
def test_a_profile_has_each_slice(schedule: Schedule, tmp_path: Path) -> None:
    project = _create("inverted residual", schedule, tmp_path)
    report = _run(project, profile=True)
    assert report.passed and report.profile is not None
    assert report.slice_instructions and report.slice_instructions < report.profile.total
    (network,) = json.loads((project / "model" / "ethosgen.json").read_text())["networks"]
    longest = network["slices"]["longest"]
    assert 0 < longest["cycles"] < network["cpu_time"]["cycles"] and not longest["counted"]


@needs_zephyr
@needs_qemu
def test_slices_pass_on_zephyr(tmp_path: Path) -> None:
    """Its functions hold the network's lock."""
    schedule = Schedule(stream=Streaming.ALWAYS, feed=True)
    project = _create("skips", schedule, tmp_path, "zephyr")
    assert "_lock();" in (project / "model" / "network.c").read_text()
    assert _run(project).passed
