"""Each composite alone: partitioned, run in TVM on the NPU model, compared with the oracle."""

import numpy as np
import pytest

from ethosgen.frontend.relax import import_module
from ethosgen.relax import PATTERNS, partition_for_ethosu, simulate_ethosu, support_report
from ethosgen.values.network import Network
from ethosgen.verdict.judgement import golden_answer
from tests.support.relax_networks import edge_samples, run
from tests.support.relax_operators import CASES, Case, composite_of

pytestmark = pytest.mark.slow

NPU = "ethos-u55-128"
RUNS = [name for name, case in CASES.items() if not case.refusal]
STAYS = [name for name, case in CASES.items() if case.refusal]


def test_there_is_a_case_for_each_pattern() -> None:
    assert {composite_of(name) for name in CASES} == {pattern.name for pattern in PATTERNS}


@pytest.mark.parametrize("name", RUNS)
def test_a_partition_computes_what_the_oracle_does(name: str) -> None:
    case = CASES[name]
    module = case.module()
    partitioned = partition_for_ethosu(module, NPU)
    (support,) = support_report(partitioned)
    assert (support.composite, support.partition) == (composite_of(name), "ethosu_0")
    assert support.is_supported and not support.reason
    samples = edge_samples(case.givens)
    ours = run(simulate_ethosu(partitioned), samples)
    golden = _golden(case, samples)
    for our, theirs in zip(ours, golden, strict=True):
        np.testing.assert_array_equal(our[0], theirs)
    plain = run(module, samples)
    for our, theirs in zip(ours, plain, strict=True):
        steps = np.abs(our[0].astype(np.int64) - theirs[0].astype(np.int64))
        assert np.max(steps) <= 1, "TVM's own result of the float islands is another"


def _golden(case: Case, samples: list[list[np.ndarray]]) -> list[np.ndarray]:  # type: ignore[type-arg]
    """Compute the oracle's outputs of the imported graph."""
    names = [f"x{i}" for i in range(len(case.givens))]
    graph, in_float = import_module(case.module(), "main", names, ["made"])
    assert not in_float
    arrays = [dict(zip(names, sample, strict=True)) for sample in samples]
    outputs = golden_answer(Network("case", (graph,)), arrays).outputs
    return [np.asarray(output["made"]) for output in outputs]


@pytest.mark.parametrize("name", STAYS)
def test_what_the_npu_cannot_run_stays_with_its_reason(name: str) -> None:
    case = CASES[name]
    module = case.module()
    partitioned = partition_for_ethosu(module, NPU)
    (support,) = support_report(partitioned)
    assert (support.composite, support.is_supported) == (composite_of(name), False)
    assert case.refusal in support.reason and not support.partition
    (left,) = [f for v, f in partitioned.functions_items() if v.name_hint != "main"]
    assert str(left.attrs["ethosu_composite"]) == composite_of(name)
    assert case.refusal in str(left.attrs["ethosu_reason"])
    assert "Codegen" not in left.attrs and "Composite" not in left.attrs
    samples = edge_samples(case.givens)
    ours, plain = run(simulate_ethosu(partitioned), samples), run(module, samples)
    for our, theirs in zip(ours, plain, strict=True):
        np.testing.assert_array_equal(our[0], theirs[0])
