"""Help: groups of options, and an example in every command."""

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.commands.help import GROUPS, GroupedCommand
from tests.support.command_line import commands

LONG = ("verify", "project", "report", "compare", "accuracy", "run", "check")


@pytest.mark.parametrize("name", LONG)
def test_many_options_stand_in_groups_each_once(name: str) -> None:
    text = CliRunner().invoke(cli, [name, "--help"], terminal_width=100).output
    titles = [title for title in GROUPS if f"\n{title}:\n" in text]
    assert len(titles) >= 3 and titles[0] == "Common options" and "\nOptions:" not in text
    listed = text[text.index("\nCommon options:") :]
    for parameter in commands()[name].params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            longest = max(parameter.opts, key=len)
            lines = re.findall(rf"^  (?:-\w, )?{longest}(?![\w-])", listed, re.MULTILINE)
            lines += re.findall(rf"^  --[\w-]+, {longest}(?![\w-])", listed, re.MULTILINE)
            assert len(lines) == 1, longest


def test_few_options_stand_in_one_list() -> None:
    text = CliRunner().invoke(cli, ["explain", "--help"]).output
    assert "\nOptions:\n" in text and "Common options" not in text


def _all(by_name: dict[str, click.Command], start: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield commands, also those in groups, with the words that call them."""
    for name, command in by_name.items():
        if isinstance(command, click.Group):
            yield from _all(command.commands, f"{start}{name} ")
        elif not command.hidden:
            yield f"{start}{name}", command


def test_every_command_has_an_example() -> None:
    known = dict(_all(commands()))
    assert "boards list" in known and "accelerators check" in known
    without = [
        words for words, command in known.items() if f"ethosgen {words}" not in (command.help or "")
    ]
    assert without == []


@pytest.mark.parametrize("words", sorted(words for words, _ in _all(commands())))
def test_every_command_takes_both_options_for_help(words: str) -> None:
    short, long = (CliRunner().invoke(cli, [*words.split(), option]) for option in ("-h", "--help"))
    assert short.exit_code == long.exit_code == 0
    assert short.output == long.output


def test_the_commands_with_many_options_have_the_class_that_groups_them() -> None:
    plain = [
        name
        for name, command in commands().items()
        if len(command.params) > 12 and not isinstance(command, GroupedCommand | click.Group)
    ]
    assert plain == []
