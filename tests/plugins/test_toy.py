"""A package with a plug-in of each kind is installed and used; what is broken is skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ethosgen import plugins
from tests import ROOT
from tests.support.needs import needs_build, needs_qemu

DIGITS = ROOT / "demo" / "digits_int8.tflite"
TOY = b"toy network\nRELU 5\n"
ASK = """
from ethosgen.aot.libraries import libraries
from ethosgen.backend import accelerators, load_wrapped
from ethosgen.board import load_board
from ethosgen.targets import targets_of
from ethosgen.values.extension import Extension

print(accelerators()["adder-8"].family, load_wrapped("toy").name, targets_of(load_board("toy")))
print([libraries(extension)[-1].name for extension in Extension])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the toy into a folder of its own, as pip does it into an environment."""
    place = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    options = ["--no-build-isolation", "--target", str(place), str(ROOT / "tests/plugins/toy")]
    subprocess.run([*pip, *options], check=True, capture_output=True)
    return place


Done = subprocess.CompletedProcess[str]


def run(site: Path, *words: str | Path, cwd: Path | None = None) -> Done:
    command = [sys.executable, *map(str, words)]
    env = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, check=False)


def ethosgen(site: Path, *words: str | Path, cwd: Path | None = None) -> Done:
    return run(site, "-m", "ethosgen", *words, cwd=cwd)


def test_doctor_lists_each_kind_and_names_what_is_broken(site: Path) -> None:
    done = ethosgen(site, "doctor")
    for door in plugins.DOORS:
        assert f"{door.adds} of toy-plugin 1.2\n" in done.stdout
    faults = [line.split("; ", 1)[1] for line in done.stdout.splitlines() if "; skipped" in line]
    assert faults == [
        "skipped: toy_plugin.facts:BOARD is not a target: it has no start, variant, can_run",
        "skipped: its name is 'toy', but its entry point's 'other'; use one name",
        "skipped: ModuleNotFoundError: No module named 'toy_plugin.missing'",
        "skipped: ethosgen has a command of that name; choose another",
    ]


@pytest.mark.slow
def test_a_command_is_in_the_help_and_runs(site: Path) -> None:
    assert "Plug-ins:\n  hello         Say hello" in ethosgen(site, "--help").stdout
    done = ethosgen(site, "hello")
    assert (done.stdout, done.returncode) == ("hello from the toy\n", 0)
    assert "the plug-in 'broken' of the package 'toy-plugin' (ethosgen.commands) is" in done.stderr


@pytest.mark.slow
def test_its_front_end_reads_and_its_oracle_decides(site: Path, tmp_path: Path) -> None:
    (tmp_path / "half.toy").write_bytes(TOY)
    words = ("simulate", "half.toy", "--npu", "none", "--oracle", "toy")
    done = ethosgen(site, *words, cwd=tmp_path)
    assert (
        done.returncode == 0
        and done.stdout.startswith("PASS")
        and "Toy's oracle 1.2: as --oracle asks" in done.stdout
    )


@pytest.mark.slow
def test_its_sections_are_in_the_report_but_for_a_broken_one(site: Path, tmp_path: Path) -> None:
    (tmp_path / "half.toy").write_bytes(TOY)
    words = ("report", "half.toy", "--npu", "none", "--on", "simulate", "-o", "half.html")
    done = ethosgen(site, *words, cwd=tmp_path)
    page = (tmp_path / "half.html").read_text()
    assert '<h2 id="plugin-toy-title">Toy figures</h2>\n<p>half has 0 MACs.</p>' in page
    assert "Broken figures" not in page and done.returncode == 0
    assert "(ethosgen.sections) is skipped: ZeroDivisionError: no figures" in done.stderr


@pytest.mark.slow
def test_accelerators_targets_and_kernels_are_known(site: Path) -> None:
    done = run(site, "-c", ASK)
    first, second = done.stdout.splitlines()
    assert first == "toy toy ['qemu', 'serial', 'toy']"
    assert second == str(["toy"] * 5)


@pytest.mark.slow
def test_its_platform_has_files_and_its_application_too(site: Path, tmp_path: Path) -> None:
    words = ("--board", "toy", "--platform", "toy", "--npu", "none", "--app", "toy", "-o", "p")
    done = ethosgen(site, "project", DIGITS, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    readme = (tmp_path / "p" / "README.md").read_text()
    assert readme == "# digits_int8 on the toy platform\n"
    assert "hello, " in (tmp_path / "p" / "application" / "application.c").read_text()
    without = run(tmp_path, "-m", "ethosgen", "build", "p", cwd=tmp_path)
    assert without.returncode == 2 and "unknown platform 'toy'" in without.stderr


@needs_build
@needs_qemu
@pytest.mark.slow
def test_board_platform_target_and_application_run_together(site: Path, tmp_path: Path) -> None:
    words = ("--board", "toy", "--platform", "toy", "--on", "toy", "--npu", "none", "--app", "toy")
    done = ethosgen(site, "verify", DIGITS, *words, "--samples", "2", cwd=tmp_path)
    assert done.returncode == 0 and "2 lines for 2 items: equal" in done.stdout, (
        done.stdout + done.stderr
    )
