"""Whole networks as real tools make them: exact on the CPU and on each NPU, and near to torch."""

import numpy as np
import pytest

from ethosgen.oracle import TOSA
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests.support.needs import needs_extra, needs_torch, needs_tosa
from tests.support.tosa_files import CONVERTED, NETWORKS
from tests.support.tosa_trials import converted_trial, exported_trial
from tests.support.trials import Trial, plan_for

pytestmark = [pytest.mark.slow, needs_tosa]

LEAST_VALUES = 5
"""Distinct values in the outputs, below which equality would say little."""
LEAST_EQUAL = {
    "MobileNetV2": 0.8,
    "ResNet-8": 0.8,
    "autoencoder": 0.8,
    "LSTM": 0.8,
    "LSTM in int16": 0.5,
}
"""The share of outputs that equal torch's: TOSA rescales integers where torch computes in float,
which adds up over 52 layers or six steps in int16. The others differ by one step."""
REFUSED = {"TOSA_REDUCE_MAX"}
"""What Vela refuses on Ethos-U55 of the converter's softmax: a maximum of int32."""


def check(trial: Trial) -> None:
    assert trial.elements and trial.oracle == TOSA.name
    assert (trial.npu, trial.cpu) == (0, 0)
    values = [np.unique(array) for outputs in trial.outputs for array in outputs.values()]
    assert len(np.unique(np.concatenate(values))) >= LEAST_VALUES
    network = trial.plan.network
    whole = plan_for(network, "ethos-u85-256")
    assert not whole.cpu_operators and len(whole.partitions) == 1
    assert whole.npu_operators == len(network.graph.operators)
    for outputs, wanted in zip(
        simulate_samples(whole, trial.samples, Watch()), trial.outputs, strict=True
    ):
        for name, value in wanted.items():
            np.testing.assert_array_equal(outputs[name], value, name)


@needs_torch
@pytest.mark.parametrize("title", NETWORKS)
def test_what_executorch_lowers_is_exact_and_wholly_on_the_npu(title: str) -> None:
    trial = exported_trial(title)
    check(trial)
    assert len(trial.plan.partitions) == 1 and not trial.on_cpu
    fidelity = trial.fidelity
    assert fidelity.elements == trial.elements
    assert fidelity.equal + fidelity.by_one == fidelity.elements, fidelity.text()
    assert fidelity.same_largest + fidelity.close_largest == fidelity.rows, fidelity.text()
    least = LEAST_EQUAL.get(title, 0.95)
    assert fidelity.equal >= least * fidelity.elements, fidelity.text()


@needs_extra("convert")
@pytest.mark.parametrize("title", CONVERTED)
def test_what_arms_converter_makes_of_a_tflite_file_is_exact(title: str) -> None:
    trial = converted_trial(title)
    check(trial)
    assert {text.split(":")[0] for text in trial.on_cpu} <= REFUSED, trial.on_cpu
    assert len(trial.plan.partitions) <= 2
