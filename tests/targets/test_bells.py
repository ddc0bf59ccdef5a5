"""The real firmware on QEMU where the NPU's interrupt is lost, doubled, late or has no reason."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.board import load_board
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.targets import SharedMemory
from ethosgen.toolchain import build
from ethosgen.values.errors import TargetError
from ethosgen.values.outcome import Arrays
from tests.support.needs import needs_qemu
from tests.support.npu_stub import STATUS, PlusOneNpu
from tests.support.programs import ELEMENTS, make_program

pytestmark = needs_qemu

INPUT, OUTPUT = "serving/input:0", "serving/output:0"
TIMEOUT_MS = 1000
LATE_S = {
    "as it should": (0.0,),
    "lost": (),
    "doubled": (0.0, 0.001),
    "spurious": (0.0, 0.003, 0.02),
    "late": (0.05,),
    "in the next run": (1.5 * TIMEOUT_MS / 1000,),
}
"""Delays of interrupts after the end of a run."""

Page = np.ndarray[Any, np.dtype[np.uint32]]
Firmware = tuple[Path, ProjectInfo]


def drivers() -> list[str]:
    """Return the drivers to test: our own, and the sources of Arm's if there are any."""
    return ["", *([os.environ["ETHOSU_CORE_DRIVER"]] if "ETHOSU_CORE_DRIVER" in os.environ else [])]


@pytest.fixture(scope="module", params=drivers(), ids=lambda path: "arm" if path else "direct")
def firmware(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    place = tmp_path_factory.mktemp("bells") / "p"
    write(render(make_program(), load_board("corstone300")), place)
    options = {"ETHOSGEN_NPU_TIMEOUT_MS": str(TIMEOUT_MS)}
    if request.param:
        options["ETHOSU_CORE_DRIVER"] = request.param
    return build(place, "qemu", options).elf, open_project(place)


def make_samples(count: int) -> list[Arrays]:
    random = np.random.default_rng(7)
    return [{INPUT: random.integers(-128, 128, (1, ELEMENTS), np.int8)} for _ in range(count)]


@pytest.mark.parametrize("how", LATE_S)
def test_outputs_are_right_however_the_interrupt_comes(firmware: Firmware, how: str) -> None:
    elf, info = firmware

    def attach(page: Page, memory: Sequence[SharedMemory], ring: Callable[[], None]) -> PlusOneNpu:
        def ring_if_open() -> None:
            with suppress(OSError):
                ring()

        def bell() -> None:
            for late_s in LATE_S[how]:
                threading.Timer(late_s, ring_if_open).start()

        return PlusOneNpu(page, memory, bell)

    samples = make_samples(4)
    outcome = targets.run(elf, info, samples, attach=attach)
    assert outcome.ended
    for sample, result in zip(samples, outcome.samples, strict=True):
        assert np.array_equal(result.outputs[OUTPUT], sample[INPUT] + np.int8(1))


class SleepyNpu(PlusOneNpu):
    """Takes a start and never ends, while its interrupt comes all the time."""

    def poll(self) -> bool:
        """Serve the registers, and interrupt."""
        time.sleep(0.002)
        self.raise_irq()
        return super().poll()

    def _run(self) -> None:
        self.page[STATUS] = 1


def test_an_npu_that_does_not_finish_is_a_timeout(firmware: Firmware) -> None:
    elf, info = firmware
    with pytest.raises(TargetError, match="ETHOSGEN_NPU_TIMEOUT"):
        targets.run(elf, info, make_samples(1), attach=SleepyNpu)
