"""`ethosgen fvp install`, and what the programs say of themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

from ethosgen_fvp.platforms import PLATFORMS
from tests.support.command_line import ethosgen


@pytest.fixture(scope="module")
def fvps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "fvps"
    done = ethosgen("fvp", "install", folder)
    assert done.returncode == 0, done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == list(PLATFORMS)
    assert f'export PATH="{folder}:$PATH"' in done.stderr
    return folder


def ask(program: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, *words], check=False, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("FVP_Corstone_SSE-300_Ethos-U55", "11.24.13"),
        ("FVP_Corstone_SSE-310", "11.24.13"),
        ("FVP_Corstone_SSE-320", "11.27.25"),
    ],
)
def test_versions_satisfy_scripts(fvps: Path, name: str, version: str) -> None:
    """Zephyr's armfvp.cmake takes the first three numbers, and wants a least version; run_ctest.py
    of Arm's ethos-u-core-platform accepts only 11.16, 11.22 and 11.24 of the MPS3 boards'."""
    done = ask(fvps / name, "--version")
    assert done.returncode == 0 and f"Fast Models [{version}]" in done.stdout.splitlines()[1]
    assert f"{name} is ethosgen" in done.stdout


def test_the_version_needs_no_simulation() -> None:
    """ExecuTorch's tests ask for it thrice before each run."""
    words = "['FVP_Corstone_SSE-320', '--version']"
    code = f"import sys; from ethosgen_fvp.program import main; main({words}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *_, modules = done.stdout.splitlines()
    assert "ethosgen_fvp.program" in modules.split() and "numpy" not in modules.split()


def test_parameters_are_listed(fvps: Path) -> None:
    done = ask(fvps / "FVP_Corstone_SSE-315", "--list-params")
    listed = [line.split("=")[0] for line in done.stdout.splitlines()[1:]]
    assert "mps4_board.subsystem.ethosu.num_macs" in listed
    assert "mps4_board.uart0.shutdown_on_eot" in listed


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no firmware; pass it with -a FILE"),
        (("-a", "/none.elf"), "cannot read '/none.elf'"),
        (("-a", __file__), "is not an ELF file"),
        (("-C", "ethosu.num_macs=100", "-a", "x"), "cannot read"),
    ],
)
def test_faults_are_one_sentence(fvps: Path, words: tuple[str, ...], says: str) -> None:
    done = ask(fvps / "FVP_Corstone_SSE-300_Ethos-U55", *words)
    assert done.returncode == 2 and done.stderr.startswith("ethosgen: ")
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_installing_again_replaces_ours_alone(fvps: Path, tmp_path: Path) -> None:
    assert ethosgen("fvp", "install", fvps).returncode == 0
    other = tmp_path / "FVP_Corstone_SSE-310"
    other.write_text("Arm's\n")
    done = ethosgen("fvp", "install", tmp_path)
    assert done.returncode != 0 and f"'{other}' is another program" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [other.name]
