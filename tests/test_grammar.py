"""Counted nouns, names that somebody meant, and paths in suggested commands."""

import subprocess
import sys
from pathlib import Path

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.board import load_board
from ethosgen.cli import main
from ethosgen.commands.wording import plan_lines
from ethosgen.pipeline.creation import create_project
from ethosgen.project import open_project, render, write
from ethosgen.toolchain import find_built, find_zephyr
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted, nearest
from ethosgen.values.plan import Check, PlanSummary
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from tests.support.networks import Network
from tests.support.programs import make_program


def test_one_is_singular() -> None:
    assert [counted(n, "operator") for n in (0, 1, 1200)] == [
        "0 operators", "1 operator", "1,200 operators",
    ]  # fmt: skip
    (head,) = plan_lines(PlanSummary("ethos-u55-128", 1, 1, (), 100, 10))
    assert "1 operator in 1 partition, 0 on the CPU" in head


def test_the_name_that_was_meant_is_suggested() -> None:
    with pytest.raises(InputError, match=r"did you mean 'ethos-u55-128'\?"):
        find_accelerator("ethos-u55-12")
    with pytest.raises(InputError, match=r"did you mean 'corstone300'\?"):
        load_board("corestone300")
    assert nearest("mars", ["qemu", "fvp"]) == ""


def test_a_suggested_command_quotes_its_path(tmp_path: Path) -> None:
    net, place = Network("net"), tmp_path / "my firmware"
    net.relu(net.input((1, 4)))
    (tmp_path / "net.tflite").write_bytes(net.build())
    command = ["project", tmp_path / "net.tflite", "--board", "corstone300", "-o", place]
    done = subprocess.run(
        [sys.executable, "-m", "ethosgen", *map(str, command)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"ethosgen build '{place}'" in done.stderr


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("verfy net.tflite", "unknown command 'verfy' (did you mean 'verify'?); choose one of: "),
        ("boards shwo x", "unknown command 'shwo' (did you mean 'show'?); choose one of: show, "),
        ("verify n.tflite --board corstone300 --on qmeu", "unknown target 'qmeu' (did you mean 'q"),
        ("project n.tflite --memory-mode sram-only", "unknown --memory-mode 'sram-only' (did you "),
        ("project n.tflite --platform zefyr", "unknown --platform 'zefyr' (did you mean 'zephyr'?"),
        ("project n.tflite --offload atuo", "unknown --offload 'atuo' (did you mean 'auto'?); ch"),
    ],
)
def test_what_was_typed_wrong_is_one_sentence_with_what_was_meant(
    typed: str, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ethosgen.cli.end_in_order", lambda: None)
    monkeypatch.setattr(sys, "argv", ["ethosgen", *typed.split()])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    words = capsys.readouterr().err.splitlines()
    assert len(words) == 1 and words[0].startswith(f"ethosgen: {says}"), words


def test_errors_that_suggest_a_command_quote_its_path(tmp_path: Path) -> None:
    place = tmp_path / "my firmware"
    write(render(make_program(), load_board("corstone300")), place)
    info = open_project(place)
    for find in (lambda: find_built(place), lambda: find_zephyr(info)):
        with pytest.raises(InputError, match=f"run: ethosgen build '{place}' --on qemu"):
            find()


def test_counts_of_one_are_singular_everywhere() -> None:
    check = Check(oracle="tflm", samples=1, elements=1)
    lines = plan_lines(PlanSummary("ethos-u55-128", 1, 1, (), 100, 10, check=check))
    assert (
        "  check     1 output of 1 sample on the NPU model equal TensorFlow Lite Micro's" in lines
    )
    with pytest.raises(InputError, match=r"got --name 1 time for 2 networks"):
        create_project(Recipe((Path("a"), Path("b")), "corstone300", names=("a",)), watch=Watch())
