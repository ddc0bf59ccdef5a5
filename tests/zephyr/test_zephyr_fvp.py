"""Zephyr's own samples by its run target, which starts the FVP: here the program of its name.

Nothing in them knows of ethosgen. The sample of the NPU also needs the module tflite-micro in
ZEPHYR_MODULES; it compares the outputs of TensorFlow Lite Micro and the NPU with its own.
"""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import ethosgen
from tests.support.needs import needs_build, needs_qemu, needs_zephyr

BOARD = "mps3/corstone300/fvp"
SAMPLES = {
    "hello_world": ("Hello World! mps3/corstone300/fvp", 1),
    "modules/tflite-micro/tflm_ethosu": ("Received job response.", 4),
}
"""The line that each prints, and how often."""
BUILD_S, RUN_S = 1200, 240
"""At most; the NPU's sample compiles TensorFlow Lite Micro."""

pytestmark = [needs_zephyr, needs_qemu, needs_build]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_runs_on_the_program_with_the_fvps_name(sample: str, tmp_path: Path) -> None:
    modules = os.environ.get("ZEPHYR_MODULES", "")
    if "tflite-micro" in sample and "tflite-micro" not in modules:
        pytest.skip("the sample needs tflite-micro in ZEPHYR_MODULES")
    programs, build = tmp_path / "fvps", tmp_path / "build"
    assert ethosgen("fvp", "install", programs).returncode == 0
    source = Path(os.environ["ZEPHYR_BASE"]) / "samples" / sample
    environment = {**os.environ, "ARMFVP_BIN_PATH": str(programs)}
    environment |= {"ZEPHYR_TOOLCHAIN_VARIANT": "gnuarmemb", "GNUARMEMB_TOOLCHAIN_PATH": "/usr"}
    asked = ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(build), f"-DBOARD={BOARD}"]
    for command in (asked, ["cmake", "--build", str(build)]):
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=BUILD_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
    text, times = SAMPLES[sample]
    said = [line for line in run(build, environment, text, times) if text in line]
    assert len(said) == times
    assert "tflm" not in sample or all(line.strip().endswith("status=0") for line in said)


def run(build: Path, environment: dict[str, str], text: str, times: int) -> list[str]:
    """Return the lines of the run target, up to the last that is asked for; the FVP has no end."""
    running = subprocess.Popen(
        ["timeout", str(RUN_S), "cmake", "--build", str(build), "--target", "run"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lines: list[str] = []
    assert running.stdout is not None
    for line in running.stdout:
        lines.append(line)
        times -= text in line
        if not times:
            break
    os.killpg(running.pid, signal.SIGTERM)
    running.wait(timeout=60)
    return lines
