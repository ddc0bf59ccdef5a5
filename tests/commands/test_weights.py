"""`ethosgen weights`, as a user types it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.values.errors import InputError
from tests import ROOT
from tests.support.retrained import retrained

NETWORK = ROOT / "demo" / "digits_int8.tflite"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library for the CPU alone."""
    place = tmp_path_factory.mktemp("weights") / "p"
    options = ["--npu", "none", "--platform", "library", "--weights", "blob"]
    run("project", str(NETWORK), *options, "-o", str(place))
    return place


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result


def test_build_then_info(project: Path, tmp_path: Path) -> None:
    new, file = tmp_path / "new.tflite", tmp_path / "new.weights"
    new.write_bytes(retrained(NETWORK.read_bytes()))
    said = run("weights", "build", str(new), "--for", str(project), "-o", str(file))
    assert "the code need not change" in said.output
    assert f"weights info {file} --for {project}" in said.output
    shown = run("weights", "info", str(file), "--for", str(project)).output
    assert "digits_int8, revision 0" in shown
    assert f"fits      {project}" in shown
    again = run(
        *("weights", "build", str(new), "--for", str(project), "-o", str(file)),
        *("--force", "--revision", "9", "--json"),
    )
    told = json.loads(again.stdout)
    assert told["revision"] == 9
    assert told["bytes"] == file.stat().st_size
    assert json.loads(run("weights", "info", str(file), "--json").stdout) == {
        key: value for key, value in told.items() if key != "file"
    }


def test_a_damaged_file_is_told_in_one_sentence(project: Path, tmp_path: Path) -> None:
    data = (project / "model" / "digits_int8.weights").read_bytes()
    file = tmp_path / "cut.weights"
    file.write_bytes(data[:-16])
    result = CliRunner().invoke(cli, ["weights", "info", str(file)])
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        f"'{file}' is truncated: it has {len(data) - 16:,} of {len(data):,} bytes"
    )
