"""A network's firmware on QEMU, compared with the oracle."""

from contextlib import suppress
from pathlib import Path

from ethosgen import flow
from ethosgen.values.errors import CapacityError
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support import kernel_coverage
from tests.support.kernel_files import are_counted
from tests.support.recipes import BOARD, recipe


def check_firmware(
    network: bytes, folder: Path, board: str | Path = BOARD, samples: int = 2
) -> None:
    """Fail unless all outputs are equal; the NPU is not used."""
    path = folder / "network.tflite"
    path.write_bytes(network)
    report = _verify(recipe(path, board=str(board), npu="none"), Inputs(None, samples, 5))
    assert report.passed
    kernel_coverage.keep(report.coverage)


def _verify(settings: Recipe, inputs: Inputs) -> Report | FirmwareReport:
    """Run the firmware, with counters if the tests count and the board has room for them."""
    if are_counted():
        with suppress(CapacityError):
            return flow.verify(settings, flow.RunOptions(inputs, coverage=True), watch=Watch())
    return flow.verify(settings, flow.RunOptions(inputs), watch=Watch())
