"""Firmware runs under the installed programs, as under an FVP."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import ethosgen
from tests.support.needs import needs_build, needs_qemu
from tests.targets.attach.firmwares import EXIT_STATUS, build_application, expected, outputs

pytestmark = [pytest.mark.compiler("arm-none-eabi-gcc", "make"), needs_qemu]

DIGITS = Path(__file__).parents[2] / "demo" / "digits_int8.tflite"
U55 = "FVP_Corstone_SSE-300_Ethos-U55"


@pytest.fixture(scope="module")
def fvps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "fvps"
    assert ethosgen("fvp", "install", folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_application(tmp_path_factory.mktemp("application"))


def simulate(program: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, *words], check=False, capture_output=True, text=True, timeout=120
    )


def settings(*parameters: str) -> list[str]:
    return [word for parameter in parameters for word in ("-C", parameter)]


def test_a_firmware_ends_by_semihosting(fvps: Path, elf: Path) -> None:
    words = settings('mps3_board.uart0.out_file="-"', "cpu0.semihosting-enable=1")
    done = simulate(fvps / U55, *words, "--timelimit", "100", str(elf))
    assert done.returncode == EXIT_STATUS and not done.stderr, done.stderr
    assert outputs(done.stdout) == expected(elf.parent)
    first, *_, last = done.stdout.strip().splitlines()
    assert first.startswith("telnetterminal0: Listening for serial connection on port 5")
    assert last == "Info: /OSCI/SystemC: Simulation stopped by user."


def test_a_firmware_ends_by_a_text(fvps: Path, elf: Path, tmp_path: Path) -> None:
    """A line of the second output ends the run, whatever follows; the file has it whole."""
    output = tmp_path / "uart0"
    second = "status 0: " + " ".join(map(str, expected(elf.parent)[1]))
    words = settings(
        f"mps3_board.uart0.out_file={output}", f"mps3_board.uart0.shutdown_tag={second}"
    )
    done = simulate(fvps / U55, *words, "--quiet", "--stat", "-a", f"cpu0*={elf}")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert outputs(output.read_text()) == expected(elf.parent)[:2]
    assert "Listening" not in done.stdout and "Wall time" in done.stdout


SPINNING = """
    .section .vectors, "a"
    .word 0x30001000, start + 1
    .text
    .thumb_func
start:
    b start
"""


def test_a_limit_of_time(fvps: Path, tmp_path: Path) -> None:
    source, elf = tmp_path / "spin.s", tmp_path / "spin.elf"
    source.write_text(".syntax unified\n.thumb\n" + SPINNING)
    places = "-Wl,--section-start=.vectors=0x10000000,-Ttext=0x10000100,-e,start"
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-nostdlib", places]
    subprocess.run([*command, str(source), "-o", str(elf)], check=True)
    done = simulate(fvps / U55, "--timelimit", "1", "-a", str(elf))
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "Info: Simulation is stopping. Reason: CPU time has been exceeded.\n" in done.stdout


def test_a_smaller_npu_is_refused_by_the_firmware(fvps: Path, elf: Path) -> None:
    words = settings(
        "mps3_board.uart0.out_file=-", "cpu0.semihosting-enable=1", "ethosu.num_macs=64"
    )
    done = simulate(fvps / U55, *words, "--timelimit", "100", "-a", str(elf))
    assert done.returncode == 2 and "no NPU" in done.stdout


@needs_build
@pytest.mark.parametrize("npu", ["ethos-u55-256", "ethos-u65-256"])
def test_our_own_target_runs_through_them(
    fvps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, npu: str
) -> None:
    """`run --on fvp`: the console is telnetterminal0, and the outputs are the oracle's."""
    monkeypatch.setenv("PATH", f"{fvps}:{os.environ['PATH']}")
    words = ("--board", "corstone300", "--npu", npu, "--on", "fvp", "--samples", "2")
    done = ethosgen("verify", DIGITS, *words)
    assert done.returncode == 0, done.stderr
    assert "fvp), 2 samples" in done.stdout and "20 outputs: equal" in done.stdout
