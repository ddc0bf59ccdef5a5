import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from tests.support.command_line import commands, ethosgen
from tests.support.networks import NetworkBuilder
from tests.support.said import sentences
from tests.support.small_models import image_net


def in_a_process(
    *arguments: object, env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "ethosgen", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=env, check=False
    )


def assert_one_sentence(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode not in (0, 1, -6, -11), done
    assert done.stdout == ""
    assert done.stderr.startswith("ethosgen: "), done.stderr
    assert len(sentences(done.stderr)) == 1, done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return image_net(tmp_path / "net.tflite")


@pytest.mark.slow
def test_simulate_answers_in_json(network: Path, tmp_path: Path) -> None:
    done = in_a_process("simulate", network, "--json", "--output", tmp_path / "y.npz")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["mismatches"] == 0
    assert answer["samples"] == 10
    twice = dict.fromkeys(("uniform", "lowest", "extremes"), 2)
    once = dict.fromkeys(("highest", "normal", "sparse", "constant"), 1)
    assert answer["distributions"] == twice | once
    assert answer["npu"]["partitions"] == 1
    assert set(answer["wall_s"]) >= {"read", "offload", "simulate", "reference"}
    assert (tmp_path / "y.npz").is_file()


@pytest.mark.slow
def test_project_says_what_to_type_next(network: Path, tmp_path: Path) -> None:
    done = ethosgen("project", network, "--board", "corstone300", "-o", tmp_path / "fw")
    assert done.returncode == 0, done.stderr
    assert f"next: ethosgen build {tmp_path / 'fw'}" in done.stderr
    assert (tmp_path / "fw" / "model" / "net.h").is_file()


def test_help_is_there_for_every_command() -> None:
    for command in ("project", "build", "run", "verify", "simulate", "doctor"):
        done = ethosgen(command, "--help")
        assert done.returncode == 0 and "Usage:" in done.stdout


def test_the_help_has_each_command_once_on_a_line_of_its_own() -> None:
    told = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    lines = told[told.index("\nA folder of yours:") :].splitlines()
    entries = [line.split(maxsplit=1) for line in lines if line.startswith("  ")]
    shown = {name for name, command in commands().items() if not command.hidden}
    assert sorted(name for name, _ in entries) == sorted(shown)
    assert not any(about.endswith("...") for _, about in entries)


def test_examples_in_the_help_keep_their_lines() -> None:
    """Click keeps the lines of a paragraph only after a line that has nothing but its mark."""
    helps = {name: command.help or "" for name, command in commands().items()}
    assert any("\b\n" in text for text in helps.values())
    for name, text in helps.items():
        assert text.count("\b") == text.count("\b\n"), name


def test_an_unknown_command_gets_no_hidden_ones() -> None:
    told = ethosgen("serve-np")
    assert told.returncode == 2 and "verify" in told.stderr
    assert "serve-npu" not in told.stderr.split("choose one of")[1]


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"not a network", b"\x1c\x00\x00\x00TFL3", None])
@pytest.mark.parametrize("command", ["simulate", "project"])
def test_a_bad_file_is_one_sentence(tmp_path: Path, command: str, content: bytes | None) -> None:
    path = tmp_path / "bad.tflite"
    if content is not None:
        path.write_bytes(content)
    place = tmp_path / "out"
    more = ["--board", "corstone300", "-o", place] if command == "project" else []
    assert_one_sentence(ethosgen(command, path, *more))
    assert not place.exists()


@pytest.mark.slow
def test_a_float_network_is_told_what_to_do(tmp_path: Path) -> None:
    net = NetworkBuilder("floating")
    x = net.input((1, 4), "float32", scale=None)
    path = tmp_path / "floating.tflite"
    path.write_bytes(net.build(net.unary("MATRIX_DIAG", x)))
    done = ethosgen("simulate", path)
    assert_one_sentence(done)
    assert "no CPU code for float32" in done.stderr
    assert "change the network: 'ethosgen ops' lists what runs where" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--board", "nowhere"], "unknown board 'nowhere'"),
        (["--board", "corstone300", "--npu", "ethos-u99-1"], "unknown NPU 'ethos-u99-1'"),
        (["--board", "corstone300", "--name", "2nd"], "not a C identifier"),
        (["--board", "corstone300", "--name", "while"], "reserved by C"),
    ],
)
def test_bad_options_are_one_sentence(
    network: Path, tmp_path: Path, options: list[str], says: str
) -> None:
    done = ethosgen("project", network, "-o", tmp_path / "fw", *options)
    assert_one_sentence(done)
    assert says in done.stderr
    assert not (tmp_path / "fw").exists()


def test_simulate_takes_one_network_and_says_what_takes_more(network: Path) -> None:
    done = ethosgen("simulate", network, network)
    assert_one_sentence(done)
    assert "simulate runs one network but got 2" in done.stderr


@pytest.mark.slow
def test_a_directory_of_the_users_is_left_alone(network: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    done = ethosgen("project", network, "--board", "corstone300", "-o", tmp_path / "mine")
    assert_one_sentence(done)
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.slow
def test_an_edited_application_survives_and_an_edited_library_is_refused(
    network: Path, tmp_path: Path
) -> None:
    place = tmp_path / "fw"
    arguments = ("project", network, "--board", "corstone300", "-o", place)
    assert ethosgen(*arguments).returncode == 0
    main = place / "app" / "main.c"
    main.write_text("/* mine */")
    assert ethosgen(*arguments).returncode == 0
    assert main.read_text() == "/* mine */"
    (place / "model" / "net.c").write_text("/* edited */")
    done = ethosgen(*arguments)
    assert_one_sentence(done)
    assert "net.c" in done.stderr
    assert (place / "model" / "net.c").read_text() == "/* edited */"


@pytest.mark.slow
def test_missing_tools_are_named(network: Path, tmp_path: Path, monkeypatch: object) -> None:
    place = tmp_path / "fw"
    assert ethosgen("project", network, "--board", "corstone300", "-o", place).returncode == 0
    done = in_a_process("build", place, env={"PATH": "/nowhere"})
    assert_one_sentence(done)
    assert done.returncode == 3
    assert "install it with: " in done.stderr


def test_wrong_inputs_are_named(network: Path, tmp_path: Path) -> None:
    import numpy as np

    np.savez(tmp_path / "x.npz", picture=np.zeros((1, 8, 8, 3), np.int8))
    done = ethosgen("simulate", network, "--input", tmp_path / "x.npz")
    assert_one_sentence(done)
    assert "'image'" in done.stderr


@pytest.mark.slow
def test_an_unknown_operator_to_keep_is_refused(network: Path) -> None:
    done = ethosgen("simulate", network, "--cpu-ops", "NONSENSE")
    assert_one_sentence(done)
