"""The page of U85's commands and values has them all."""

import pytest

from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.samples.drawing import random_samples
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer
from tests.corpus import fields
from tests.support.needs import needs_tosa
from tests.support.tosa_fused import FUSED
from tests.support.tosa_rows import U85, case_network
from tests.support.trials import plan_for

SAMPLES = 3


def test_the_page_has_each_command_and_value_or_says_why_not() -> None:
    lines = fields.PAGE.read_text().splitlines()
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[10:]]
    expected = list(fields.rows({}))
    assert [row[:3] for row in rows if len(row) == 4][-len(expected) :] == [r[:3] for r in expected]


def test_each_value_is_reached_or_has_a_reason() -> None:
    assert not [line for line in fields.PAGE.read_text().splitlines() if line.endswith("| 0 |")]


def assert_exact(network: Network, plan: Plan, samples: list[Arrays]) -> None:
    assert plan.partitions and not plan.cpu_operators
    golden = golden_answer(network, samples)
    compared = golden.compared(simulate_samples(plan, samples, Watch()))
    assert compared.elements
    assert not compared.mismatches, compared.first and compared.first.text()


def used(plan: Plan) -> set[fields.Use]:
    return {use for p in plan.partitions for use in fields.uses(stream_of(p).commands)}


def test_an_output_in_the_order_wch_is_exact() -> None:
    data, setting = fields.EXTRA["TRANSPOSE to WCH"]
    network = decode_network(data, "transpose")
    plan = setting.compile(network)
    assert ("NPU_SET_OFM_PRECISION", "activation_transpose", "WCH") in used(plan)
    assert_exact(network, plan, random_samples(network, SAMPLES, 0))


@needs_tosa
@pytest.mark.parametrize("title", FUSED)
def test_inputs_that_a_fused_rescale_rounds_once_are_exact(title: str) -> None:
    network, samples = case_network(title)
    plan = plan_for(network, U85)
    assert ("NPU_SET_IFM_SCALE", "round_mode", "NATURAL") in used(plan)
    assert_exact(network, plan, samples)


def test_what_vela_does_not_emit_exists() -> None:
    assert fields.NOT_EMITTED.keys() <= {row[:3] for row in fields.rows({})}
