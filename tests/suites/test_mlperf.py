"""The runner of MLPerf Tiny accepts a benchmark, drawn afresh for each commit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import parse_network
from tests.suites.mlperf import NETWORKS, SETTINGS, run_benchmark, run_stream
from tests.suites.mlperf_data import DataSet, write_data
from tests.support.fresh import fresh_seed
from tests.support.mlperf_networks import network_of
from tests.support.needs import needs_mlperf, needs_qemu


@needs_mlperf
@needs_qemu
@pytest.mark.slow
@pytest.mark.parametrize("on", SETTINGS)
def test_the_runner_prints_the_oracles_accuracy(
    on: str, record_property: Callable[[str, object], None]
) -> None:
    seed = fresh_seed(len(NETWORKS))
    record_property("random networks", seed)
    (verdict,) = run_benchmark(list(NETWORKS)[seed], on, "a")
    assert not verdict.why, verdict


@needs_mlperf
@needs_qemu
@pytest.mark.slow
def test_the_runners_script_streams_sound() -> None:
    verdict = run_stream("ethos-u55-128")
    assert not verdict.why and verdict.told == "312 frames, a wake word in 25 of them", verdict


def test_each_class_has_a_file(tmp_path: Path) -> None:
    data = write_data(parse_network(network_of("kws01"), "kws"), tmp_path)
    rows = [row.split(",") for row in (tmp_path / "kws01/y_labels.csv").read_text().split()]
    assert {int(label) for _, _, label in rows} == set(range(12)) == set(data.labels.tolist())
    assert {(tmp_path / "kws01" / name).stat().st_size for name, _, _ in rows} == {490}
    right = sum(int(row[2]) == best for row, best in zip(rows, data.results.argmax(1), strict=True))
    assert data.accuracy == pytest.approx(100 * right / len(rows)) and 0 < right < len(rows)


def test_the_auc_is_the_part_of_pairs_in_order() -> None:
    pictures = DataSet("vww01", np.array([0, 1, 1]), np.array([[0.6, 0.4], [0.5, 0.5], [0.9, 0.1]]))
    assert pictures.auc == 0.5 and pictures.accuracy == pytest.approx(100 / 3)
    anomalies = DataSet("ad01", np.array([0, 1, 0, 1]), np.array([[1.0], [2.0], [2.0], [3.0]]))
    assert anomalies.auc == 0.875
