"""Counted nouns, names that somebody meant, and paths in suggested commands."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.board import board_names, load_board
from ethosgen.cli import main
from ethosgen.commands.wording import plan_lines
from ethosgen.flow.creation import create_project
from ethosgen.project import open_project, render, write
from ethosgen.toolchain import find_built, find_zephyr
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted, nearest
from ethosgen.values.plan import Check, PlanSummary
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.command_line import ethosgen
from tests.support.networks import NetworkBuilder
from tests.support.programs import make_program
from tests.support.recipes import recipe

PLURAL = re.compile(r"[ -](?:(?:more|other|further|different|zero|available) )?([a-z]+s)\b")
"""A plural noun after a count, optionally preceded by an adjective."""
VERBS = frozenset(
    "accesses asks calls cannot changes compiles computes contradicts contains counts creates "
    "decides declares differs does ends exceeds gets gives grows has holds is jumps lacks "
    "leaves lies loses makes names needs pass passes reads runs says sets stands takes uses was "
    "writes".split()
)
"""Words that end like a plural and are none, and prepositions."""
OTHERS = frozenset(("as", "its", "less", "ms", "this", "thus"))
NO_COUNTS = frozenset(
    (
        "{p.name} commands",
        "{name} rows",
        "{name} planes",
        "{by((operation.length, *rows))} bytes",
        "{by((length, *counts))} bytes",
    )
)
"""A name, and a size such as 64x3."""
PLACEHOLDER = re.compile(r"\{\{[^{}\"]*\}\}" + PLURAL.pattern)


def uncounted(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each value of an f-string that a plural noun follows."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, after in zip(node.values, node.values[1:], strict=False):
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                noun = PLURAL.match(str(after.value))
                if noun and noun[1] not in VERBS | OTHERS:
                    yield value.lineno, f"{{{ast.unparse(value.value)}}}{noun[0]}"


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
    assert nearest("npu", ["input_layout", "npus"]) == " (did you mean 'npus'?)"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("corstone30", "'corstone300'"),
        ("stm32f746", "'nucleo-f746zg'"),
        ("cortex-m3", "'qemu-cortex-m3'"),
        ("pico", "'rpi-pico' or 'rpi-pico2'"),
        ("psoc-e48", "'psoc-e84'"),
    ],
)
def test_a_part_of_a_boards_name_is_enough(typed: str, meant: str) -> None:
    assert nearest(typed, board_names()) == f" (did you mean {meant}?)"


def test_a_part_of_an_npus_name_is_enough() -> None:
    units = "'ethos-u55-32', 'ethos-u55-64', 'ethos-u55-128' or 'ethos-u55-256'"
    with pytest.raises(InputError, match=rf"unknown NPU 'u55' \(did you mean {units}\?\)"):
        find_accelerator("u55")


@pytest.mark.slow
def test_a_suggested_command_quotes_its_path(tmp_path: Path) -> None:
    net, place = NetworkBuilder("net"), tmp_path / "my firmware"
    net.relu(net.input((1, 4)))
    (tmp_path / "net.tflite").write_bytes(net.build())
    done = ethosgen("project", tmp_path / "net.tflite", "--board", "corstone300", "-o", place)
    assert done.returncode == 0
    assert f"ethosgen build '{place}'" in done.stderr


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("verfy net.tflite", "unknown command 'verfy' (did you mean 'verify'?); choose one of: "),
        (
            "boards shwo x",
            "unknown command 'shwo' (did you mean 'show'?); choose one of: list, show, ",
        ),
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
    lines = plan_lines(PlanSummary("ethos-u55-128", 1, 1, (), 100, 10, check=check), verbose=True)
    assert (
        "  check     1 output of 1 sample on the NPU model equal TensorFlow Lite Micro's" in lines
    )
    with pytest.raises(InputError, match=r"got --name 1 time for 2 networks"):
        create_project(recipe(Path("a"), Path("b"), names=("a",)), watch=Watch())


def test_an_uncounted_noun_is_found() -> None:
    source = "f'{n} bytes, {m:,} more reasons, {x} is, {y}-bit, {counted(z, w)} of {a} B'"
    assert [text for _, text in uncounted(source)] == ["{n} bytes", "{m} more reasons"]
    assert PLACEHOLDER.search("needs {{ kept_bytes }} bytes")


def test_every_noun_after_a_number_is_counted() -> None:
    """A plural that is written out is wrong for 1: counted() chooses."""
    sources = sorted((ROOT / "generator").rglob("*.py"))
    assert len(sources) > 200
    bare_nouns = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sources
        for line, text in uncounted(path.read_text())
        if text not in NO_COUNTS
    ]
    assert not bare_nouns, "use values/grammar.counted, or add a verb to VERBS:\n" + "\n".join(
        bare_nouns
    )


def test_every_noun_after_a_number_is_counted_in_templates() -> None:
    templates = [path for path in (ROOT / "templates").rglob("*") if path.is_file()]
    bare_nouns = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in templates
        for match in PLACEHOLDER.finditer(path.read_text())
        if match[1] not in VERBS | OTHERS
    ]
    assert not bare_nouns, "use the filter counted:\n" + "\n".join(bare_nouns)
