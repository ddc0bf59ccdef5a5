"""Parts of ethosgen's own wheel come in by entry points, which an installation may lack."""

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint

import click
import pytest
from click.testing import CliRunner

import ethosgen
from ethosgen import plugins
from ethosgen.commands.choices import Group
from ethosgen.values.errors import ToolError
from tests import ROOT

DECLARED: dict[str, dict[str, str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())[
    "project"
]["entry-points"]
SENTENCE = "older than its sources, and lacks '{}'; install it again: .* --editable "


@pytest.fixture(autouse=True)
def fresh_entry_points() -> Iterator[None]:
    """Read entry points again in and after each test."""
    plugins._parts.cache_clear()
    yield
    plugins._parts.cache_clear()


def stale(monkeypatch: pytest.MonkeyPatch, *entries: EntryPoint) -> None:
    """Play an installation that has only these entry points."""
    parts = {(entry.group, entry.name): entry for entry in entries}
    monkeypatch.setattr(plugins, "_parts", lambda: parts)


def test_the_installation_has_what_the_project_declares() -> None:
    declared = {
        (group, name)
        for group, names in DECLARED.items()
        for name in names
        if group.startswith("ethosgen.")
    }
    assert declared == {key for key in plugins._parts() if key[0].startswith("ethosgen.")}
    folders = sorted(path.name for path in (ROOT / "generator").glob("ethosgen*"))
    assert [path.name for path in plugins.packages()] == folders


def test_parts_are_no_plugins_of_others() -> None:
    assert not [plugin for plugin in plugins.installed() if plugin.package == "ethosgen"]


def test_relax_keeps_its_public_name() -> None:
    part = importlib.import_module("ethosgen_relax")
    assert importlib.import_module("ethosgen.relax") is part
    assert ethosgen.relax is part


def test_a_stale_installation_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    stale(monkeypatch)
    monkeypatch.delitem(sys.modules, "ethosgen.relax", raising=False)
    with pytest.raises(ToolError, match=SENTENCE.format("relax")):
        importlib.import_module("ethosgen.relax")


def test_a_command_that_is_lacking_says_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stale(monkeypatch)
    group = Group(name="toy", door=plugins.COMMANDS)
    group.add_section("Parts", click.Command("other"), "sweep")
    told = CliRunner().invoke(group, ["--help"])
    assert told.exit_code == 0 and "sweep" not in told.output
    said = CliRunner().invoke(group, ["sweep", "study.toml"]).exception
    assert isinstance(said, ToolError) and re.search(SENTENCE.format("sweep"), str(said))


def test_so_does_one_with_another_package_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    stale(monkeypatch, EntryPoint("relax", "ethosgen_earlier.relax", plugins.NAMES.group))
    with pytest.raises(ToolError, match=SENTENCE.format("relax")):
        plugins.part(plugins.NAMES, "relax")
