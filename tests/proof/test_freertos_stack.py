"""The bound of a thread's stack against what a thread of FreeRTOS uses on QEMU.

FREERTOS_KERNEL names FreeRTOS's kernel. A thread of a higher priority interrupts the network's at
each tick, so a switch comes at most places of its code.
"""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.targets.stack_bounds import MOST_ABOVE
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.freertos_projects import NETWORKS, PORTS, make_thread_project
from tests.support.needs import needs_qemu

SAMPLES = 8

pytestmark = [pytest.mark.freertos, needs_qemu]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("board", PORTS)
def test_a_thread_uses_the_bound_and_not_much_less(
    board: str, network: str, tmp_path: Path
) -> None:
    make_thread_project(board, network, tmp_path / "p")
    (bound,) = flow.build_project(tmp_path / "p", watch=Watch()).stack
    assert bound.need is not None and bound.need.in_thread, bound.why
    options = flow.RunOptions(Inputs(None, SAMPLES, 1))
    report = flow.run_project(tmp_path / "p", options, watch=Watch())
    assert isinstance(report, Report) and report.passed and report.run_stack is not None
    use = report.run_stack
    assert use.bound == bound.need.run + bound.need.interrupt
    assert use.used <= use.bound <= use.used + MOST_ABOVE
