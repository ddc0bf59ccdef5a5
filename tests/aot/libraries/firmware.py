"""A network's firmware on QEMU, compared with the oracle."""

from pathlib import Path

from ethosgen import flow
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.recipes import BOARD, recipe


def check_firmware(
    network: bytes, folder: Path, board: str | Path = BOARD, samples: int = 2
) -> None:
    """Fail unless all outputs are equal; the NPU is not used."""
    path = folder / "network.tflite"
    path.write_bytes(network)
    settings = recipe(path, board=str(board), npu="none")
    assert flow.verify(settings, flow.RunOptions(Inputs(None, samples, 5)), watch=Watch()).passed
