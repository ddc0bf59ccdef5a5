"""Each operator of TOSA's integer profile on the CPU, against the reference model."""

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.oracle.tosa import reference_outputs, unpredictable_outputs
from ethosgen.pipeline.cpu_only import plan_cpu_only
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, compare
from ethosgen.values.plan import IoStyle
from ethosgen.values.tosa import TOSA_OPS
from tests.support.needs import needs_tosa
from tests.support.tosa_cases import CASES
from tests.support.tosa_rows import case_network

QUICK = {"CONV2D", "RESCALE", "RESIZE", "TABLE"}
"""Operators whose tests are not slow."""

NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]


def test_each_operator_has_a_case() -> None:
    assert {f"TOSA_{name}" for name in CASES} == set(TOSA_OPS)


@needs_tosa
@pytest.mark.parametrize("name", NAMES)
def test_the_cpu_computes_what_the_reference_model_computes(name: str) -> None:
    assert_equal(*case_network(name))


def assert_equal(network: Network, samples: list[Arrays]) -> None:
    assert unpredictable_outputs(network, samples) is None
    golden = reference_outputs(network, samples)
    assert any(np.any(array) for one in golden for array in one.values())
    run = make_evaluator(plan_cpu_only(network, IoStyle.ARENA))
    outputs = [run(sample, None) for sample in samples]
    found = compare("tosa", outputs, golden)
    assert found.elements
    assert not found.mismatches, found.first and found.first.text()
