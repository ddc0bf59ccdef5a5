"""Stored costs: the sum of a plan's operators in cycles of a core, and what it leaves out."""

from dataclasses import replace
from pathlib import Path

from ethosgen import aot
from ethosgen.aot.times import stored_costs, stored_time
from ethosgen.cycles.pace import PACE
from ethosgen.frontend import read
from ethosgen.values.plan import IoStyle
from ethosgen.verdict.cpu_only import plan_cpu_only
from tests.support.small_models import image_net

CORE, CLOCK_HZ = "cortex-m55", 32_000_000


def test_operators_and_starts_are_summed(tmp_path: Path) -> None:
    network = read(image_net(tmp_path / "n.tflite"))
    plan = plan_cpu_only(network, IoStyle.ARENA)
    known = [aot.cpu_cycles(op, network.graph) for op in network.graph.operators]
    time = stored_time(plan, CORE, CLOCK_HZ, start_cycles=300)
    assert time is not None and not time.is_counted and not time.unknown
    assert time.cycles == round(PACE[CORE] * sum(cost or 0 for cost in known))
    assert time.hz == CLOCK_HZ


def test_an_operator_without_a_cost_is_named(tmp_path: Path) -> None:
    plan = plan_cpu_only(read(image_net(tmp_path / "n.tflite")), IoStyle.ARENA)
    last = plan.residual.operators[-1]
    odd = replace(last, code="CUSTOM", custom_code="odd")
    residual = replace(plan.residual, operators=(*plan.residual.operators[:-1], odd))
    changed = replace(plan, residual=residual)
    assert stored_costs(changed)[last.index] is None
    time = stored_time(changed, CORE, None)
    assert time is not None and time.unknown == ("CUSTOM odd",)


def test_a_core_without_a_pace_has_no_time(tmp_path: Path) -> None:
    plan = plan_cpu_only(read(image_net(tmp_path / "n.tflite")), IoStyle.ARENA)
    assert stored_time(plan, "aarch64", None) is None
