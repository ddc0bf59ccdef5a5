"""Sweeps end to end: equal to a serial run, whoever is killed, and nothing computed twice."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from ethosgen.oracle import DEFAULT
from ethosgen.studies.accuracy import AccuracyRequest, measure_accuracy
from ethosgen.studies.comparison import compare
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.watch import Watch
from ethosgen_sweep import sweeping
from ethosgen_sweep.jobs import UnfitWorkerError
from ethosgen_sweep.study import load_study
from ethosgen_sweep.sweeping import Measure, SweepRequest, count_points, default_store, sweep
from tests.support.needs import needs_extra
from tests.support.small_models import image_net
from tests.support.time_limit import time_limit

pytestmark = needs_extra("sweep")

STUDY = """
networks = ["image_net.tflite"]
npus = ["ethos-u55-128", "ethos-u85-256"]
memory_modes = ["shared_sram", "dedicated_sram"]
arena_limits = [4096, "64KiB"]
samples = 1
check = false

[[data]]
path = "images.npz"
on = ["simulate", "tflm"]
shard_size = 16
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    image_net(folder / "image_net.tflite")
    images = np.random.default_rng(3).integers(-128, 128, (120, 8, 8, 3), np.int8)
    np.savez(folder / "images.npz", x=images, y=np.arange(120) % 4)
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


CHECKED: dict[str, Any] = {
    "on": ("simulate", DEFAULT.name),
    "options": OffloadOptions(check=False),
    "processes": 1,
}


def files(study: Path) -> tuple[Path, Path]:
    return study.parent / "image_net.tflite", study.parent / "images.npz"


def workers() -> list[int]:
    """Return the process ids of dask's workers on this machine that this process started."""
    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]


@pytest.mark.slow  # workers import the compilers
def test_a_killed_worker_changes_nothing(study: Path, tmp_path: Path) -> None:
    asked = SweepRequest(study, tmp_path / "store", workers=2)
    counts = count_points(asked)
    assert (counts.points, counts.kept, counts.missing) == (12, 0, 12)
    assert counts.shards.missing == counts.shards.total > 3 * 120 / 16
    killed: list[int] = []
    stored: list[int] = []

    def kill_one(text: str) -> None:
        is_time = text.startswith("sweeping: 12 of 12 points, ") and " 0 of" not in text
        if is_time and not killed:
            killed.append(workers()[0])
            os.kill(killed[0], signal.SIGKILL)
            stored.append(count_points(asked).shards.kept)

    with time_limit(300):
        swept = sweep(asked, Watch(kill_one))
    assert killed and swept.counts.computed == 12 and not swept.counts.failed
    shards = swept.counts.shards  # the killed worker may have stored shards that it had not sent
    assert shards.computed + shards.kept == counts.shards.total and shards.kept <= stored[0]
    serial = replace(sweeping.comparison_of(load_study(study), study), processes=1)
    alone = compare(serial, Watch())
    assert swept.results == alone.results and swept.passed
    assert len([result for result in swept.results if result.refusal]) == 3
    for result in swept.accuracy:
        whole = measure_accuracy(AccuracyRequest(*files(study), npu=result.npu, **CHECKED), Watch())
        assert result.report == replace(whole, work=())

    said: list[str] = []
    again = sweep(asked, Watch(said.append))
    assert again.results == swept.results
    assert again.counts.kept == 12 and again.counts.computed == 0
    assert again.counts.shards.kept == counts.shards.total and again.accuracy == swept.accuracy
    assert not any("starting" in line for line in said), "no worker is needed for what is kept"
    assert count_points(asked).missing == 0
    assert count_points(SweepRequest(study, asked.store, retry_refused=True)).missing == 3


def test_a_worker_with_another_version_is_told() -> None:
    with pytest.raises(UnfitWorkerError, match="another version of ethosgen"):
        Measure("another digest").check()


def test_an_oracle_that_there_is_not_is_an_input_error(study: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'networks = ["{files(study)[0]}"]\noracle = "delphi"\n')
    with pytest.raises(InputError, match="unknown oracle 'delphi'; choose one of: "):
        count_points(SweepRequest(tmp_path / "study.toml", tmp_path / "store"))


def test_the_store_is_in_the_user_s_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_store() == Path("/somewhere/ethosgen/sweeps")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_store() == Path.home() / ".cache" / "ethosgen" / "sweeps"
