"""Runs many inferences on QEMU while 1% of the frames are damaged; no inference may be lost.

.venv/bin/python -m tests.support.soak 10000
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ethosgen.board import load_board
from ethosgen.host.tools import QEMU
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.qemu import QemuTarget
from ethosgen.targets.session import Session
from ethosgen.toolchain import build
from ethosgen.values.plan import IoStyle
from tests.support.noisy_line import NoisyFrames
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import ELEMENTS, make_program

_RETRY_S = 0.05
_ANSWER_S = 20.0


def soak(elf: Path, info: ProjectInfo, count: int, share: float, seed: int) -> NoisyFrames:
    """Run `count` inferences with different inputs, check each, and return the line."""
    random = np.random.default_rng(seed)
    with QemuTarget(QEMU.find(), elf, info.board, PlusOneNpu) as machine:
        line = NoisyFrames(machine.console, share, seed)
        session = Session(line, machine.check, retry_s=_RETRY_S)
        assert session.hello(_ANSWER_S).digest == info.digest
        machine.settle()
        for index in range(count):
            sample = random.integers(-128, 128, ELEMENTS, np.int8)
            session.write_input(0, sample.tobytes(), _ANSWER_S)
            assert session.run(_ANSWER_S).status == 0
            got = np.frombuffer(session.read_output(0, ELEMENTS, _ANSWER_S), np.int8)
            assert np.array_equal(got, sample + np.int8(1)), f"inference {index} is wrong"
        marker = session.end(_ANSWER_S)
        assert (marker.runs, marker.failed) == (count, 0), marker
    return line


def main() -> None:
    """Run the soak test and print its result."""
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "p"
        write(render(make_program(IoStyle.ARENA), load_board("corstone300")), place)
        elf = build(place).elf
        started = time.monotonic()
        line = soak(elf, open_project(place), count, 0.01, 1)
    print(
        f"{count} inferences, none lost: {line.damaged} of {line.frames} frames damaged, "
        f"{time.monotonic() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
