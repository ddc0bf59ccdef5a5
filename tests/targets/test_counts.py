"""The instructions of an inference on QEMU: the same, whenever the interrupt comes."""

import time
from pathlib import Path

from ethosgen import targets
from ethosgen.board import load_board
from ethosgen.project import open_project, render, write
from ethosgen.toolchain import build
from ethosgen.values.plan import IoStyle
from tests.support.needs import needs_qemu
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import make_program
from tests.targets.conftest import Firmware
from tests.targets.test_qemu import Firmwares, make_samples

RUNS = 25
"""Few enough for seconds; ticks alone gave four or five different counts in so many runs."""
SLOW_CLOCK = """
/* The driver reads it before it sleeps: by then the NPU has long ended. */
uint32_t ethosgen_npu_clock(uint32_t *per_ms)
{
    *per_ms = 1;
    for (volatile uint32_t i = 0; i < 300000; i++) {
    }
    return 0;
}
"""


class LateNpu(PlusOneNpu):
    """Raises its interrupt long after the firmware has gone to sleep."""

    def _run(self) -> None:
        time.sleep(0.01)
        super()._run()


def counts_of(firmware: Firmware, npu: type[PlusOneNpu]) -> set[int | None]:
    """Return the counts that differ in some runs."""
    built, info = firmware
    done = targets.run(built.elf, info, make_samples(RUNS), attach=npu)
    return {sample.cpu_instructions for sample in done.samples}


@needs_qemu
def test_an_inference_counts_the_same_whenever_the_interrupt_comes(
    firmware: Firmwares, tmp_path: Path
) -> None:
    early = tmp_path / "early"
    write(render(make_program(), load_board("corstone300")), early)
    main = early / "app" / "main.c"
    main.write_text(main.read_text() + SLOW_CLOCK)
    counts = counts_of(firmware(IoStyle.ARENA), LateNpu)
    assert len(counts) == 1 and None not in counts
    assert counts_of((build(early), open_project(early)), PlusOneNpu) == counts
