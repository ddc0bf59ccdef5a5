"""A folder with ethosgen.toml: commands without arguments, check, watch."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.values.errors import InputError
from tests.support.command_line import ethosgen
from tests.support.needs import needs_qemu
from tests.support.small_models import image_net


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a network, which is the working directory."""
    image_net(tmp_path / "net.tflite")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


def test_init_writes_once_and_names_what_is_missing(folder: Path) -> None:
    assert run("init", "--board", "corstone300").exit_code == 0
    before = Path("ethosgen.toml").read_bytes()
    with pytest.raises(InputError, match=r"'ethosgen\.toml' exists; edit it, or remove it first"):
        run("init")
    assert Path("ethosgen.toml").read_bytes() == before
    Path("ethosgen.toml").unlink()
    with pytest.raises(InputError, match=r"there is no network 'other\.tflite'"):
        run("init", "other.tflite")
    with pytest.raises(InputError, match="unknown board"):
        run("init", "--board", "corstone30")
    (folder / "net.tflite").unlink()
    with pytest.raises(InputError, match=r"there is no \.tflite file here"):
        run("init")
    assert not Path("ethosgen.toml").exists()


def test_init_writes_a_workflow_that_runs_check(folder: Path) -> None:
    assert run("init", "--with-ci", "--ci-ethosgen", "git+https://host/x@1").exit_code == 0
    text = Path(".github/workflows/ethosgen.yml").read_text()
    assert "python -m ethosgen check" in text and "'git+https://host/x@1'" in text
    Path("ethosgen.toml").unlink()
    with pytest.raises(InputError, match=r"ethosgen\.yml' exists"):
        run("init", "--with-ci")
    assert not Path("ethosgen.toml").exists()


def test_commands_take_networks_and_options_from_the_file(folder: Path) -> None:
    Path("ethosgen.toml").write_text(
        'networks = ["net.tflite"]\nboard = "corstone300"\nnpu = "ethos-u55-256"\n'
        'project = "out"\n[options]\nname = "mine"\nsamples = 2\ncheck = false\n'
    )
    inner = folder / "inner"
    inner.mkdir()
    done = run("project")
    assert done.exit_code == 0 and "mine for corstone300 (ethos-u55-256" in done.stdout
    assert (folder / "out" / "model" / "mine.c").exists()
    simulated = run("simulate", "--npu", "ethos-u55-32", "--json")
    assert json.loads(simulated.stdout)["samples"] == 2
    assert json.loads(simulated.stdout)["npu"]["name"] == "ethos-u55-32"  # the command line wins


def test_a_network_that_the_file_lacks_takes_only_board_and_npu(folder: Path) -> None:
    Path("ethosgen.toml").write_text(
        'networks = ["missing.tflite"]\nnpu = "ethos-u55-32"\n[options]\nsamples = 2\n'
    )
    done = json.loads(run("simulate", "net.tflite", "--json").stdout)
    assert done["samples"] == 10 and done["npu"]["name"] == "ethos-u55-32"
    with pytest.raises(InputError, match=r"missing\.tflite"):
        run("simulate")


def test_a_network_of_the_file_takes_all_its_options(folder: Path) -> None:
    image_net(folder / "other.tflite")
    Path("ethosgen.toml").write_text(
        'networks = ["net.tflite", "other.tflite"]\nboard = "corstone300"\nproject = "out"\n'
        "[options]\nsamples = 2\ncheck = false\n"
    )
    inner = folder / "inner"
    inner.mkdir()
    for name in ("other.tflite", str(folder / "other.tflite")):
        assert json.loads(run("simulate", name, "--json").stdout)["samples"] == 2
    done = run("project", "other.tflite", "-o", "one")
    assert done.exit_code == 0 and "other for corstone300" in done.stdout
    assert (folder / "one" / "model" / "other.c").exists() and not Path("out").exists()


def test_an_option_that_no_command_has_is_refused(folder: Path) -> None:
    Path("ethosgen.toml").write_text('networks = ["net.tflite"]\n[options]\nofload = "auto"\n')
    with pytest.raises(InputError, match=r"unknown option 'ofload' \(did you mean 'offload'\?\)"):
        run("simulate")


def test_check_without_a_file_says_how_to_write_one(folder: Path) -> None:
    with pytest.raises(InputError, match=r"write one with: ethosgen init MODEL"):
        run("check", "net.tflite", "--board", "corstone300")


@needs_qemu
def test_check_fails_exactly_when_a_budget_is_exceeded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'networks = ["net.tflite"]\nboard = "corstone300"\n[options]\nsamples = 2\n'
    Path("ethosgen.toml").write_text(f'{text}[budget]\nram = "1MiB"\nflash = "1MiB"\nms = 1000\n')
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    done = run("check", "--junit", "junit.xml", "--json")
    answer = json.loads(done.stdout)
    assert done.exit_code == 0 and answer["passed"] and len(answer["budgets"]) == 3
    assert (folder / "summary.md").read_text().startswith("### PASS: net on corstone300")
    suite = ET.parse("junit.xml").getroot().find("testsuite")
    assert suite is not None and (suite.attrib["tests"], suite.attrib["failures"]) == ("5", "0")

    Path("ethosgen.toml").write_text(f"{text}[budget]\nram = 1000\n")
    failed = run("check", "--junit", "junit.xml", "--summary", "own.md")
    assert failed.exit_code == 1 and failed.stdout.startswith("FAIL  net on corstone300")
    assert "of at most 1,000 B  exceeded" in failed.stdout
    suite = ET.parse("junit.xml").getroot().find("testsuite")
    assert suite is not None and (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "1")
    assert (folder / "own.md").read_text().startswith("### FAIL: ")


@needs_qemu
def test_check_measures_the_accuracy_of_labelled_data(folder: Path) -> None:
    rng = np.random.default_rng(1)
    sample = json.loads(run("simulate", "net.tflite", "--samples", "1", "--json").stdout)
    assert sample["passed"]
    shape = image_shape(folder / "net.tflite")
    np.savez("test.npz", x=rng.integers(-128, 128, (6, *shape), np.int8), y=np.zeros(6, np.int64))
    text = 'networks = ["net.tflite"]\nboard = "corstone300"\n[accuracy]\ndata = "test.npz"\n'
    Path("ethosgen.toml").write_text(f"{text}[budget]\naccuracy = 0\n[options]\nsamples = 1\n")
    done = json.loads(run("check", "--json").stdout)
    figure = done["accuracy"]["classification"]["top"]["1"]["accuracy"]
    assert done["budgets"][0]["value"] == figure and done["accuracy"]["samples"] == 6
    Path("ethosgen.toml").write_text(f"{text}[budget]\naccuracy = 1.0\n[options]\nsamples = 1\n")
    assert run("check").exit_code == (0 if figure == 1 else 1)


def image_shape(path: Path) -> tuple[int, ...]:
    from ethosgen import flow
    from ethosgen.values.watch import Watch

    return flow.read(path, None, Watch()).inputs[0].shape[1:]


def test_an_accuracy_without_data_is_refused_before_anything_runs(folder: Path) -> None:
    Path("ethosgen.toml").write_text(
        'networks = ["net.tflite"]\nboard = "corstone300"\n[budget]\naccuracy = 0.5\n'
    )
    with pytest.raises(InputError, match=r"name them in \[accuracy\]"):
        run("check")


def test_watch_runs_again_after_a_change_and_only_then(folder: Path) -> None:
    words = ["simulate", "net.tflite", "--samples", "1", "--npu", "ethos-u55-128"]
    with subprocess.Popen(
        [sys.executable, "-m", "ethosgen", "watch", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert next(line for line in lines if line.startswith("PASS"))
        (folder / "net.tflite").write_bytes(b"no network")
        image_net(folder / "net.tflite")
        assert next(line for line in lines if line.startswith("PASS"))
        process.terminate()


def test_watch_with_nothing_to_watch_says_so(folder: Path) -> None:
    with pytest.raises(InputError, match="there is nothing to watch"):
        run("watch")


def test_a_missing_network_is_one_sentence_with_both_ways(folder: Path) -> None:
    for command, says in (
        ("verify", "ethosgen verify needs a network: ethosgen verify MODEL; or write"),
        ("build", "ethosgen build needs a folder: ethosgen build DIRECTORY; or write"),
        ("quantize x.onnx", "ethosgen quantize needs --data; its help: ethosgen quantize --help"),
    ):
        done = ethosgen(*command.split())
        assert done.returncode == 2 and done.stderr.startswith(f"ethosgen: {says}")
        assert done.stderr.count("\n") == 1
