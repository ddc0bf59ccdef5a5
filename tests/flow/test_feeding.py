"""Firmware that gets its input by rows, or runs in slices, on QEMU: the bits of the oracle."""

import json
import re
import shutil
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.frontend import read
from ethosgen.host.tools import QEMU
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.project import open_project
from ethosgen.samples.drawing import random_samples
from ethosgen.targets.qemu import QemuTarget
from ethosgen.targets.session import Session
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.schedule import Schedule, Streaming
from ethosgen.values.status import Status
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.aot.rows.test_chain import NETWORKS
from tests.support.needs import needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder
from tests.targets.test_qemu import NoisyConsole

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
def test_rows_over_a_noisy_line_and_rows_that_are_missing(tmp_path: Path) -> None:
    """Frames end amid rows, and come twice where an answer was lost."""
    project = _create("inverted residual", Schedule(stream=Streaming.ALWAYS, feed=True), tmp_path)
    built, info = flow.build_project(project, watch=Watch()), open_project(project)
    network = read(tmp_path / "network.tflite")
    samples = random_samples(network, 6, seed=3)
    (source,), (result,) = network.inputs, network.outputs
    with QemuTarget(QEMU.find(), built.elf, info.board, None) as machine:
        noisy = NoisyConsole(machine.console, 5, every=1500)
        session = Session(noisy, machine.check, retry_s=0.1)
        session.hello(20)
        assert session.run(20).status == Status.ROWS_MISSING
        for sample, golden in zip(samples, golden_outputs(network, samples), strict=True):
            content = sample[source.name].tobytes()
            session.write_input(0, content[:-1], 20)
            assert session.run(20).status == Status.ROWS_MISSING
            session.write_input(0, content, 20)
            assert session.run(20).status == Status.OK
            got = session.read_output(0, result.bytes, 20)
            assert got == golden[result.name].tobytes()
        marker = session.end(20)
        assert (marker.runs, marker.failed) == (13, 7)
        assert noisy.faults > 3 and session.retries > 0


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


def test_an_application_that_is_kept_gives_its_inputs_as_it_was_written(tmp_path: Path) -> None:
    model, folder = ROOT / "demo" / "digits_int8.tflite", tmp_path / "project"

    def create(*, feed: bool) -> None:
        schedule = Schedule(stream=Streaming.ALWAYS, feed=feed)
        options = OffloadOptions(schedule=schedule, check=False)
        recipe = Recipe((model,), "corstone300", "none", app="image", options=options)
        flow.create_project(recipe, directory=folder, watch=Watch())

    create(feed=False)
    with pytest.raises(InputError, match="as whole images; leave out --feed, or generate a new"):
        create(feed=True)
    create(feed=False)
    shutil.rmtree(folder)
    create(feed=True)
    with pytest.raises(InputError, match="by rows; add --feed"):
        create(feed=False)
