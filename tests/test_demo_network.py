"""The committed demo network: what it promises, and the rules that its quantizer keeps."""

import numpy as np
import pytest
import train_digits
from digits import CALIBRATION, Digits, load_split
from quantize import NetworkSpec, quantize_network
from tflite_writer import write_tflite

from ethosgen.frontend import read
from tests import ROOT

MODEL = ROOT / "demo" / "digits_int8.tflite"
CODES = [
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "CONV_2D",
    "MAX_POOL_2D",
    "CONV_2D",
    "ADD",
    "AVERAGE_POOL_2D",
    "RESHAPE",
    "FULLY_CONNECTED",
    "SOFTMAX",
]


@pytest.fixture(scope="module")
def split() -> tuple[Digits, Digits]:
    return load_split()


@pytest.fixture(scope="module")
def quantized(split: tuple[Digits, Digits]) -> NetworkSpec:
    training, _ = split
    few = Digits(training.images[:256], training.labels[:256])
    return quantize_network(train_digits.train(few, epochs=1), training.images[:CALIBRATION])


def test_no_held_out_digit_was_trained_on(split: tuple[Digits, Digits]) -> None:
    training, held_out = split
    seen = {image.tobytes() for image in training.images}
    assert len(training.labels) == 1437
    assert np.bincount(held_out.labels).tolist() == [36] * 10
    assert not any(image.tobytes() in seen for image in held_out.images)


def test_the_committed_network_is_accurate_on_tflite_micro(split: tuple[Digits, Digits]) -> None:
    _, held_out = split
    assert train_digits.accuracy(MODEL.read_bytes(), held_out) >= 0.97


def test_the_committed_network_is_small_and_wholly_int8() -> None:
    network = read(MODEL)
    assert MODEL.stat().st_size < 20_000
    assert [operator.code for operator in network.graph.operators] == CODES
    assert [(t.name, t.shape, t.dtype) for t in network.inputs] == [("image", (1, 8, 8, 1), "int8")]
    assert [(t.name, t.shape, t.dtype) for t in network.outputs] == [("digit", (1, 10), "int8")]
    assert all(t.dtype == "int8" for t in network.graph.tensors if t.data is None)


def test_the_demo_quantizes_images_as_the_network_says() -> None:
    import show

    (image,) = read(MODEL).inputs
    assert image.quantization is not None
    assert image.quantization.scale == pytest.approx((show.SCALE,))
    assert image.quantization.zero_point == (show.ZERO_POINT,)


def test_weights_are_symmetric_and_per_channel(quantized: NetworkSpec) -> None:
    weights = [t for t in quantized.tensors if t.name.endswith("_weights")]
    assert len(weights) == 5
    for tensor in weights:
        assert tensor.data is not None
        assert tensor.dtype == "int8"
        assert set(tensor.zero_point) == {0}
        assert int(np.abs(tensor.data.astype(int)).max()) == 127
        channels = tensor.shape[tensor.axis]
        assert len(tensor.scale) == (1 if len(tensor.shape) == 2 else channels)


def test_a_bias_has_the_product_of_both_scales(quantized: NetworkSpec) -> None:
    for operator in quantized.operators:
        if operator.code in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            source, weights, bias = (quantized.tensors[i] for i in operator.inputs)
            assert bias.dtype == "int32"
            assert bias.scale == pytest.approx([source.scale[0] * s for s in weights.scale])


def test_pools_and_reshapes_keep_their_scale(quantized: NetworkSpec) -> None:
    kept = [o for o in quantized.operators if "POOL" in o.code or o.code == "RESHAPE"]
    assert len(kept) == 3
    for operator in kept:
        source, output = quantized.tensors[operator.inputs[0]], quantized.tensors[operator.output]
        assert (source.scale, source.zero_point) == (output.scale, output.zero_point)


def test_softmax_is_fixed_at_one_256th(quantized: NetworkSpec) -> None:
    output = quantized.tensors[quantized.outputs[0]]
    assert (output.scale, output.zero_point) == ((1 / 256,), (-128,))


def test_training_and_writing_are_deterministic(split: tuple[Digits, Digits]) -> None:
    training, _ = split
    few = Digits(training.images[:128], training.labels[:128])
    files = [
        write_tflite(quantize_network(train_digits.train(few, epochs=1), few.images))
        for _ in range(2)
    ]
    assert files[0] == files[1]


def test_one_training_step_follows_the_gradient() -> None:
    """Each parameter's gradient equals the slope of the loss, measured in float64."""
    rng = np.random.default_rng(5)
    layers = train_digits.digits_network(5)
    for layer in layers:
        for parameter in layer.parameters():
            # Off the kinks: a ReLU has no slope where a zero bias meets a dead neighbourhood.
            parameter.value = parameter.value + rng.uniform(0.01, 0.02, parameter.value.shape)
    images, labels = rng.random((3, 8, 8, 1)), np.array([1, 7, 4])
    train_digits.descend(layers, images, labels)
    parameters = [p for layer in layers for p in layer.parameters()]
    gradients = [p.gradient.copy() for p in parameters]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        index = np.unravel_index(int(np.abs(gradient).argmax()), gradient.shape)
        step, middle = 1e-6, parameter.value[index]
        losses = []
        for value in (middle - step, middle + step):
            parameter.value[index] = value
            losses.append(train_digits.descend(layers, images, labels))
        parameter.value[index] = middle
        slope = (losses[1] - losses[0]) / (2 * step)
        assert slope == pytest.approx(gradient[index], rel=1e-3, abs=1e-6)
