"""`ethosgen sweep`, as a user types it, on a study whose results are in the store."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.studies.comparison import sources_digest
from ethosgen.values.errors import InputError
from ethosgen_sweep import connection, sweeping
from ethosgen_sweep.jobs import do_jobs
from ethosgen_sweep.report import SweepCounts
from ethosgen_sweep.sweeping import Measure, SweepRequest, Todo
from tests.support.needs import needs_extra
from tests.support.small_models import image_net

pytestmark = needs_extra("sweep")

STUDY = """
networks = ["image_net.tflite"]
npus = ["ethos-u55-128", "none"]
samples = 0
check = false
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study, with its two results in the folder `store` beside it."""
    folder = tmp_path_factory.mktemp("study")
    image_net(folder / "image_net.tflite")
    path = folder / "study.toml"
    path.write_text(STUDY)
    todo = Todo(SweepRequest(path, folder / "store"))
    for batch in todo.batches(lambda: 1):
        answers = do_jobs(Measure(sources_digest()), batch.jobs, batch.shared, todo.store.shelf())
        assert all(answer.value for answer in answers)
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, ["sweep", *map(str, words)], catch_exceptions=False)


def test_a_dry_run_counts_and_names_the_next_command(study: Path, tmp_path: Path) -> None:
    done = run(study, "--store", tmp_path / "new", "--dry-run")
    assert done.exit_code == 0
    assert "2 points: 0 were in the store, 2 to compute" in done.stdout
    assert f"sweep {study}" in done.stderr and "next: " in done.stderr
    kept = run(study, "--store", study.parent / "store", "--dry-run", "--json")
    told = json.loads(kept.stdout)
    assert (told["points"], told["kept"], told["missing"]) == (2, 2, 0)


def test_results_are_shown_and_written(study: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    words = (study, "--store", study.parent / "store", "-o", folder)
    done = run(*words)
    assert done.exit_code == 0
    assert "2 points: 2 were in the store" in done.stdout and f"written to {folder}" in done.stdout
    told = json.loads(run(*words, "--json").stdout)
    assert [result["npu"] for result in told["results"]] == ["ethos-u55-128", "none"]
    assert json.loads((folder / "sweep.json").read_text())["results"] == told["results"]


def test_points_without_results_are_a_failure(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Todo, "counts", lambda self: SweepCounts(2, 0, 0, 2))
    monkeypatch.setattr(sweeping, "connected", None)
    monkeypatch.setattr(SweepCounts, "all_missing", 0)
    done = run(study, "--store", tmp_path / "new", "-o", tmp_path / "results")
    assert done.exit_code == 1
    assert "2 points failed; the same command tries again" in done.stdout


def test_workers_exclude_a_scheduler(study: Path) -> None:
    done = run(study, "--scheduler", "tcp://127.0.0.1:1", "--workers", "2")
    assert done.exit_code == 2
    assert "--workers are on this machine; a --scheduler has its own" in done.stderr


def test_faults_are_sentences(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_CONNECT_S", 1)
    new, out = tmp_path / "new", tmp_path / "out"
    with pytest.raises(InputError, match="cannot read study"):
        run(tmp_path / "none.toml", "-o", out)
    with pytest.raises(InputError, match="no scheduler of dask answers at 'nowhere'"):
        run(study, "--scheduler", "nowhere", "--store", new, "-o", out)
    assert not out.exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="has files that no sweep wrote"):
        run(study, "-o", tmp_path / "mine")


def test_help_and_schema() -> None:
    assert "--scheduler tcp://HOST:8786" in run("--help").stdout
    assert json.loads(run("--schema").stdout)["title"] == "ethosgen study"
