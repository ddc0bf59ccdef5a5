"""zephyr_app/ as west reads it: manifests and the extension command."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from west.manifest import Manifest

from tests import ROOT

APP = ROOT / "zephyr_app"
MANIFESTS = {"west.yml": "v3.7.1", "west-4.3.yml": "v4.3.0"}
CMSIS = {"west.yml": "cmsis", "west-4.3.yml": "cmsis_6"}
"""The Arm header that each version's Cortex-M port includes."""


def load_command() -> ModuleType:
    path = APP / "scripts" / "ethosgen_west.py"
    spec = importlib.util.spec_from_file_location("ethosgen_west", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("file", "revision"), MANIFESTS.items())
def test_a_manifest_pins_zephyr_and_allows_what_is_needed(file: str, revision: str) -> None:
    source = (APP / file).read_text()
    asked: list[Any] = []

    def importer(project: Any, path: str) -> str:
        asked.append((project.name, path))
        return ZEPHYRS_OWN

    manifest = Manifest.from_data(source, importer=importer)
    assert asked == [("zephyr", "west.yml")]
    (zephyr,) = [p for p in manifest.projects if p.name == "zephyr"]
    assert zephyr.revision == revision
    assert zephyr.url == "https://github.com/zephyrproject-rtos/zephyr"
    names = {project.name for project in manifest.projects} - {"manifest", "zephyr"}
    assert names == {CMSIS[file], "hal_ethos_u"}
    pinned = {p.name: p.revision for p in manifest.projects}
    assert pinned["hal_ethos_u"] == "0123456789abcdef0123456789abcdef01234567"


ZEPHYRS_OWN = """
manifest:
  defaults: {remote: upstream}
  remotes: [{name: upstream, url-base: "https://github.com/zephyrproject-rtos"}]
  projects:
    - {name: cmsis, revision: 1123456789abcdef0123456789abcdef01234567}
    - {name: cmsis_6, revision: 2123456789abcdef0123456789abcdef01234567}
    - {name: hal_ethos_u, revision: 0123456789abcdef0123456789abcdef01234567}
    - {name: hal_somebody, revision: 3123456789abcdef0123456789abcdef01234567}
"""
"""The parts of Zephyr's west.yml that the manifest imports."""


def test_the_command_is_where_the_manifest_says() -> None:
    for file in MANIFESTS:
        manifest = yaml.safe_load((APP / file).read_text())["manifest"]
        commands = yaml.safe_load((APP / manifest["self"]["west-commands"]).read_text())
        (entry,) = commands["west-commands"]
        assert (APP / entry["file"]).is_file()
        (command,) = entry["commands"]
        assert command["name"] == "ethosgen"
        assert hasattr(load_command(), command["class"])


@pytest.mark.parametrize(
    ("command", "options", "passed"),
    [
        ("project", ["m.tflite"], ["m.tflite", "--platform", "zephyr"]),
        ("verify", ["--samples", "3"], ["--samples", "3", "--platform", "zephyr"]),
        ("verify", ["--platform", "baremetal"], ["--platform", "baremetal"]),
        ("verify", ["--platform=baremetal"], ["--platform=baremetal"]),
        ("run", ["kws"], ["kws"]),
    ],
)
def test_what_takes_a_platform_is_for_zephyr(
    command: str, options: list[str], passed: list[str]
) -> None:
    assert load_command().with_platform(command, options) == passed


def test_west_runs_it_in_a_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ethosgen"
    program.write_text('#!/bin/sh\necho "ran: $*"\nexit 7\n')
    program.chmod(0o755)
    monkeypatch.setenv("ETHOSGEN", str(program))
    (tmp_path / ".west").mkdir()
    (tmp_path / ".west" / "config").write_text(
        "[manifest]\npath = app\nfile = west.yml\n[zephyr]\nbase = zephyr\n"
    )
    # The manifest's own commands, without the import that a clone of Zephyr would answer.
    shutil.copytree(APP / "scripts", tmp_path / "app" / "scripts")
    own = "manifest:\n  self:\n    west-commands: scripts/west-commands.yml\n"
    (tmp_path / "app" / "west.yml").write_text(own)
    done = subprocess.run(
        [sys.executable, "-m", "west", "ethosgen", "verify", "m.tflite", "--samples", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ran: verify m.tflite --samples 2 --platform zephyr" in done.stdout, done.stderr
    assert done.returncode == 7
