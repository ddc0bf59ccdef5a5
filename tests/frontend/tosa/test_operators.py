"""Each operator of TOSA's integer profile on the CPU, against the reference model."""

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.oracle.tosa import reference_outputs, unpredictable_outputs
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, compare
from ethosgen.values.plan import IoStyle
from ethosgen.values.tosa import TOSA_OPS
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.execution import simulate_samples
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_tosa
from tests.support.tosa_cases import CASES
from tests.support.tosa_float_cases import FLOAT_CASES
from tests.support.tosa_networks import TosaBuilder
from tests.support.tosa_rows import U85, case_network
from tests.support.trials import plan_for

QUICK = {"CONV2D", "RESCALE", "RESIZE", "TABLE"}
"""Operators whose tests are not slow."""

TURNS = 5

NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]


def test_each_operator_has_a_case() -> None:
    assert {f"TOSA_{name}" for name in (*CASES, *FLOAT_CASES)} == set(TOSA_OPS)


@needs_tosa
@pytest.mark.parametrize("name", NAMES)
def test_the_cpu_computes_what_the_reference_model_computes(name: str) -> None:
    assert_equal(*case_network(name))


@pytest.mark.slow
@needs_tosa
def test_u85_computes_what_the_reference_model_computes() -> None:
    """Other operators for each commit; evidence/frontends.md has the figures of all of them."""
    for name in list(CASES)[fresh_seed(TURNS) :: TURNS]:
        network, samples = case_network(name)
        plan = plan_for(network, U85)
        assert plan.npu_operators, name
        outputs = simulate_samples(plan, samples, Watch())
        comparison = compare("tosa", outputs, reference_outputs(network, samples))
        assert comparison.elements
        assert not comparison.mismatches, comparison.first and f"{name}: {comparison.first.text()}"


@needs_tosa
@pytest.mark.parametrize("npu", [None, U85])
def test_an_inexact_rounding_is_a_single_one(npu: str | None) -> None:
    """TOSA leaves its bits open; what Vela and the CPU compute is what SINGLE_ROUND says."""
    outputs = []
    for rounding in ("INEXACT_ROUND", "SINGLE_ROUND"):
        net = TosaBuilder("rounded", 1)
        net.rescale(net.input((1, 8, 8, 4), "int32"), "int32", 0.37, rounding=rounding)
        network, sample = net.network(), net.sample()
        outputs += simulate_samples(plan_for(network, npu), [sample], Watch())
        outputs += reference_outputs(network, [sample])
    assert not compare("tosa", outputs[1:], outputs[:1] * 3).mismatches


def assert_equal(network: Network, samples: list[Arrays]) -> None:
    assert unpredictable_outputs(network, samples) is None
    golden = reference_outputs(network, samples)
    assert any(np.any(array) for outputs in golden for array in outputs.values())
    run = make_evaluator(plan_cpu_only(network, IoStyle.ARENA))
    outputs = [run(sample, None) for sample in samples]
    comparison = compare("tosa", outputs, golden)
    assert comparison.elements
    assert not comparison.mismatches, comparison.first and comparison.first.text()
