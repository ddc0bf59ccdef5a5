"""llvm-mca times pieces of code; what follows can be issued after so many cycles."""

import os
from pathlib import Path

import pytest

from ethosgen.cycles.models import MODELS, model_of
from ethosgen.cycles.timing import BlockTimer, read_cycles
from ethosgen.values.errors import ToolError, UnsupportedError
from tests.support.needs import needs_llvm

OUTPUT = Path(__file__).with_name("llvm_mca.txt")
"""What llvm-mca 19.1.7 printed for VLDRB and VMLAVA in one region, NOP and LETP in another."""
MULTIPLICATION = ("vldrb.u8 q0, [r5], #16", "vmlava.s8 r0, q1, q2")


@pytest.fixture
def timer(tmp_path: Path) -> BlockTimer:
    return BlockTimer(model_of("cortex-m55"), tmp_path / "store.sqlite")


def test_cycles_of_each_region_are_read_after_warnings() -> None:
    text = OUTPUT.read_text()
    assert text.startswith("warning: found an unsupported instruction")
    assert list(read_cycles(text)) == [4, 2]


@needs_llvm
def test_llvm_mca_still_prints_what_is_read(timer: BlockTimer) -> None:
    """A load and a MAC of two cycles each overlap, as Arm's documentation of the M55 says."""
    assert timer.repeated_cycles([MULTIPLICATION])[MULTIPLICATION] == 2
    two_macs = (MULTIPLICATION[1],) * 2
    assert timer.repeated_cycles([two_macs])[two_macs] == 4
    assert timer.issue_cycles([()]) == {(): 0}


@needs_llvm
def test_a_latency_counts_only_where_its_result_is_needed(timer: BlockTimer) -> None:
    slow, use, other = ("vdiv.f32 s0, s1, s2",), ("vmov r0, s0",), ("vmov r0, s3",)
    times = timer.issue_cycles([slow, slow + use, slow + other])
    assert times[slow + other] < times[slow + use]


@needs_llvm
def test_what_was_timed_is_not_timed_again(
    timer: BlockTimer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = timer.issue_cycles([MULTIPLICATION])
    again = BlockTimer(timer.model, tmp_path / "store.sqlite")
    monkeypatch.setattr(BlockTimer, "_run", lambda *_: pytest.fail("it was timed again"))
    assert again.issue_cycles([MULTIPLICATION]) == times


@needs_llvm
@pytest.mark.parametrize("core", MODELS)
def test_each_core_has_a_model(core: str, tmp_path: Path) -> None:
    timer = BlockTimer(model_of(core), tmp_path / "store.sqlite")
    piece = ("ldr r0, [r1]", "adds r0, r0, r2", "bne #4")
    assert timer.issue_cycles([piece])[piece] >= 2


def test_without_llvm_mca_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "PATH", "/none")
    with pytest.raises(ToolError, match=r"llvm-mca-19 \(times code on a processor\).*llvm-19"):
        BlockTimer(model_of("cortex-m55"))


def test_a_core_without_a_model_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="unknown model of a core 'cortex-m23'"):
        model_of("cortex-m23")
