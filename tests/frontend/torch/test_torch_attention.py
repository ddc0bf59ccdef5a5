"""Why attention and layer norms are not PyTorch's to the step: the second rounding, most of SUM."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from ethosgen.oracle import LITERT, TFLM
from ethosgen.studies.quantization import quantize
from ethosgen.values.quantization import QuantizationRequest
from ethosgen.values.watch import Watch
from tests.support.needs import needs_torch
from tests.support.pt2_files import pt2_files
from tests.support.torch_alone import (
    Array,
    Layer,
    Recording,
    carried,
    once_rounded,
    recorded,
    unrounded,
)

pytestmark = [needs_torch, pytest.mark.slow]

SAMPLES = 12
COMPUTES = {
    *("BATCH_MATMUL", "MUL", "SOFTMAX", "SUM", "SUB", "ADD", "RSQRT", "FULLY_CONNECTED", "GELU")
}
FLOAT32 = 0.01
"""Steps that PyTorch's float32 may be off at the ends of int16's range."""
Given = Sequence[Mapping[str, Array]]


def main(layer: Layer) -> str:
    return next(code for code in layer.codes if code in COMPUTES)


def with_tflite(layer: Layer, samples: Given) -> list[Array]:
    oracle = LITERT if main(layer) == "GELU" else TFLM
    return [outputs[layer.output.name] for outputs in oracle.run(layer.network, list(samples))]


def once(layer: Layer, samples: Given) -> list[Array]:
    return [once_rounded(layer, sample, between=True) for sample in samples]


def steps(computed: Sequence[Array], expected: Sequence[Array]) -> Array:
    """Return the difference of each element of all samples, in steps."""
    pairs = zip(computed, expected, strict=True)
    return np.concatenate([np.abs(a.astype(int) - b.astype(int)).ravel() for a, b in pairs])


def quantized(factory: pytest.TempPathFactory, activations: str) -> Recording:
    (path,) = pt2_files(factory, "float", "attention")
    folder = factory.mktemp(activations)
    random = np.random.default_rng(3)
    tokens = random.standard_normal((8 + SAMPLES, 1, 16, 32)).astype(np.float32)
    np.savez(folder / "data.npz", tokens=tokens[:8])
    files = (path, folder / "data.npz", folder / "made.pt2")
    quantize(QuantizationRequest(*files, activations=activations), Watch())
    return recorded(folder / "made.pt2", [{"tokens": sample} for sample in tokens[8:]])


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return quantized(tmp_path_factory, "int8")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return quantized(tmp_path_factory, "int16")


def test_each_operator_of_attention_alone_is_within_a_step(attention: Recording) -> None:
    ours, exact = defaultdict(list), []
    for layer in attention.layers():
        ours[main(layer)].append(steps(with_tflite(layer, layer.inputs), layer.expected))
        exact.append(steps(once(layer, layer.inputs), layer.expected))
    assert set(ours) == COMPUTES
    for code, steps_of_code in ours.items():
        differences = np.concatenate(steps_of_code)
        assert np.max(differences) <= 1, code
        assert np.mean(differences) < (0.3 if code == "SUM" else 0.01), code
    differences = np.concatenate(exact)
    assert differences.size > 90_000
    assert np.max(differences) <= 1
    assert np.mean(differences) < 0.0001


def test_sums_part_from_torch_where_a_shift_rounds_a_second_time(attention: Recording) -> None:
    differing = 0
    for layer in attention.layers():
        if main(layer) != "SUM":
            continue
        ((source,), target) = (layer.graph.inputs, layer.output.quantization)
        about = layer.graph.tensors[source].quantization
        assert about is not None
        assert target is not None
        ratio = about.scale[0] / target.scale[0]
        shift = max(0, -int(np.frexp(ratio)[1]))
        sums = with_tflite(layer, layer.inputs)
        for sample, rounded_sum, expected in zip(layer.inputs, sums, layer.expected, strict=True):
            (codes,) = sample.values()
            total = (codes.astype(int) - about.zero_point[0]).sum(-1) * ratio
            beyond = np.abs(total - np.rint(total)).ravel() - (0.5 - 0.5 ** (shift + 1))
            wrong = (rounded_sum != expected).ravel()
            assert np.all(beyond[wrong] > -1e-3)
            differing += int(wrong.sum())
    assert differing > 50


def test_attention_that_rounds_once_throughout_is_torchs(attention: Recording) -> None:
    layers = list(attention.layers())
    expected = layers[-1].expected
    assert np.mean(steps(carried(layers, once), expected)) < 0.0001

    def second_in_sums(layer: Layer, samples: Given) -> list[Array]:
        return (with_tflite if main(layer) == "SUM" else once)(layer, samples)

    assert np.mean(steps(carried(layers, second_in_sums), expected) > 0) > 0.05


def test_each_operator_of_int16_attention_alone_is_within_a_step(wide: Recording) -> None:
    ours = defaultdict(list)
    for layer in wide.layers():
        ours[main(layer)].append(steps(with_tflite(layer, layer.inputs), layer.expected))
    assert set(ours) == COMPUTES
    rare = {"SUM": 0.3, "SOFTMAX": 0.15, "BATCH_MATMUL": 0.1, "FULLY_CONNECTED": 0.1}
    for code, steps_of_code in ours.items():
        differences = np.concatenate(steps_of_code)
        assert np.max(differences) <= 1, code
        assert np.mean(differences) < rare.get(code, 0.02), code


def test_int16_operators_that_round_once_part_from_torch_only_beside_ties(wide: Recording) -> None:
    compared = differing = 0
    for layer in wide.layers():
        if "QUANTIZE" in layer.codes:
            continue
        for sample, expected in zip(layer.inputs, layer.expected, strict=True):
            exact = unrounded(layer, sample, between=True)
            is_tie = np.abs(np.abs(exact - np.rint(exact)) - 0.5) < FLOAT32
            wrong = np.rint(np.clip(exact, -32768, 32767)) != expected
            assert not np.any(wrong & ~is_tie), layer.output.name
            compared += wrong.size
            differing += int(wrong.sum())
    assert compared > 60_000
    assert 0 < differing < 0.002 * compared


def test_int16_attention_is_torchs_to_a_few_steps(wide: Recording) -> None:
    layers = list(wide.layers())
    expected = layers[-1].expected
    exact, ours = (steps(carried(layers, compute), expected) for compute in (once, with_tflite))
    assert np.max(exact) <= 2
    assert np.mean(exact > 0) < 0.05
    assert np.max(ours) <= 4
    assert np.mean(ours > 1) < 0.05


def test_int16_products_part_from_torch_by_a_multiplier_of_16_bits(wide: Recording) -> None:
    """Sums of 64 bits are multiplied by the upper half of the multiplier, and rounded once."""
    differing = 0
    for layer in wide.layers():
        if layer.codes not in (("BATCH_MATMUL",), ("FULLY_CONNECTED",)):
            continue
        tensors = layer.graph.tensors
        (op,) = layer.graph.operators
        scales = [tensors[i].quantization for i in (*op.inputs[:2], *op.outputs)]
        left, right, target = (np.array(scale.scale) for scale in scales if scale is not None)
        mantissa, _ = np.frexp(left * right / target)
        multiplier = np.rint(mantissa * (1 << 31))
        short = np.floor((multiplier + (1 << 15)) / (1 << 16)) / (1 << 15)
        products = with_tflite(layer, layer.inputs)
        for sample, product, expected in zip(layer.inputs, products, layer.expected, strict=True):
            steps_made = unrounded(layer, sample) * (short / mantissa)
            assert np.array_equal(product, np.floor(steps_made + 0.5)), layer.output.name
            differing += int((product != expected).sum())
    assert differing > 500
