"""The trials of accelerators: networks that our kernels and the oracle compute alike."""

import numpy as np
import pytest

from ethosgen.samples.drawing import draw_samples
from ethosgen.studies.trial_builder import STYLES, TrialNetwork, UnsuitableSizeError
from ethosgen.studies.trial_networks import trial_codes, trial_network
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer

SIGNED = (
    *("ABS", "BATCH_MATMUL", "CONCATENATION", "DEPTH_TO_SPACE", "REDUCE_MAX", "REDUCE_MIN"),
    *("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SLICE", "SPACE_TO_DEPTH", "SUM"),
    *("TRANSPOSE", "TRANSPOSE_CONV"),
)
UNSIGNED = ("ADD", "MUL", "CONCATENATION", "MAX_POOL_2D", "MEAN", "PAD", "LOGISTIC")


def first_trial(code: str, dtype: str) -> TrialNetwork:
    """Return the first trial of an operator that is not too large."""
    for seed in range(50):
        trial = TrialNetwork((code,), dtype, STYLES[seed % len(STYLES)], seed)
        try:
            trial_network([trial])
        except UnsuitableSizeError:
            continue
        return trial
    raise AssertionError(f"{code} has no small trial")


@pytest.mark.parametrize(
    ("dtype", "codes"), [("int8", SIGNED), ("uint8", UNSIGNED)], ids=["int8", "uint8"]
)
def test_trials_are_networks_that_the_oracle_runs(dtype: str, codes: tuple[str, ...]) -> None:
    network = trial_network([first_trial(code, dtype) for code in codes])
    assert set(codes) <= trial_codes() and len(network.graph.outputs) == len(codes)
    samples = draw_samples(network, 2, 1)
    plan = plan_cpu_only(network, IoStyle.ARENA)
    got = simulate_samples(plan, samples, Watch())
    wanted = golden_answer(network, samples).outputs
    for mine, right in zip(got, wanted, strict=True):
        assert all(np.array_equal(mine[name], array) for name, array in right.items())


def test_no_softmax_is_longer_than_tflite_micro_allows() -> None:
    lengths = []
    for seed in range(40):
        try:
            network = trial_network([TrialNetwork(("SOFTMAX",), "int8", "limits", seed, (40, 512))])
        except UnsuitableSizeError:
            continue
        lengths.append(network.graph.tensors[0].shape[-1])
    assert 511 in lengths and max(lengths) == 511
