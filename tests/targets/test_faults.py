"""The real firmware on QEMU while the line damages frames, and when the board restarts."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.project.info import ProjectInfo
from ethosgen.toolchain import Built, build
from ethosgen.values.errors import TargetError
from ethosgen.values.plan import IoStyle
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import ELEMENTS
from tests.support.soak import soak

Firmwares = Callable[[IoStyle], tuple[Built, ProjectInfo]]
INPUT, OUTPUT = "serving/input:0", "serving/output:0"

RESET = """
    /* RAM keeps its content over a reset: a word that nobody else uses counts the runs. */
    volatile uint32_t *tries = (volatile uint32_t *)0x3007FFF0u;
    *tries = *tries + 1;
    if (*tries {condition}) {{
        *(volatile uint32_t *)0xE000ED0Cu = 0x05FA0004u; /* AIRCR: SYSRESETREQ */
        for (;;) {{
        }}
    }}
"""


def test_no_inference_is_lost_where_a_tenth_of_the_frames_is_damaged(firmware: Firmwares) -> None:
    """A short soak, ten times as bad as the long one; see soak.py."""
    built, info = firmware(IoStyle.ARENA)
    line = soak(built.elf, info, 40, 0.1, seed=3)
    assert line.damaged > 20


def resetting(firmware: Firmwares, place: Path, condition: str) -> tuple[Path, ProjectInfo]:
    """Return a firmware that resets its processor in the middle of inferences."""
    _, info = firmware(IoStyle.ARENA)
    shutil.copytree(info.directory, place, ignore=shutil.ignore_patterns("build"))
    main = place / "app" / "main.c"
    text = main.read_text()
    head = "struct server_run *result)\n{\n#if ETHOSGEN_HAS_NPU\n    counted ="
    assert head in text
    main.write_text(
        text.replace(head, head.replace("#if", RESET.format(condition=condition) + "#if"), 1)
    )
    return build(place).elf, info


def test_a_reset_in_mid_inference_is_made_good(firmware: Firmwares, tmp_path: Path) -> None:
    elf, info = resetting(firmware, tmp_path / "p", "== 2")
    random = np.random.default_rng(1)
    samples = [{INPUT: random.integers(-128, 128, (1, ELEMENTS), np.int8)} for _ in range(3)]
    outcome = targets.run(elf, info, samples, attach=PlusOneNpu)
    assert outcome.ended
    for sample, result in zip(samples, outcome.samples, strict=True):
        assert np.array_equal(result.outputs[OUTPUT], sample[INPUT] + np.int8(1))


def test_a_board_that_resets_every_time(firmware: Firmwares, tmp_path: Path) -> None:
    elf, info = resetting(firmware, tmp_path / "p", ">= 1")
    sample = {INPUT: np.zeros((1, ELEMENTS), np.int8)}
    with pytest.raises(TargetError, match="restarted 4 times while it ran"):
        targets.run(elf, info, [sample], attach=PlusOneNpu)
