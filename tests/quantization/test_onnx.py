"""Float .onnx networks: what is written, checked with ONNX's own tools and plain sessions."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from ethosgen import flow
from ethosgen.studies.quantization import quantize
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.quantization import QuantizationReport, QuantizationRequest
from ethosgen.values.watch import Watch
from tests.support.float_onnx import (
    add_conv,
    drawn,
    lopsided_classifier,
    lopsided_onnx,
    small_onnx,
    write,
)
from tests.support.onnx_networks import OnnxNetwork

pytestmark = pytest.mark.slow

SAMPLES = 12


def images(count: int = SAMPLES, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 3, 8, 8)).astype(np.float32)


def run(network: Path, folder: Path, **more: Any) -> tuple[QuantizationReport, onnx.ModelProto]:
    """Quantize a network of one input with random images."""
    np.savez(folder / "data.npz", image=images())
    request = QuantizationRequest(network, folder / "data.npz", folder / "made.onnx", **more)
    report = quantize(request, Watch())
    model = onnx.load(folder / "made.onnx")
    onnx.checker.check_model(model, full_check=True)
    return report, model


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def sources(model: onnx.ModelProto) -> Mapping[str, onnx.NodeProto]:
    return {name: node for node in model.graph.node for name in node.output}


def outputs(network: Path, samples: np.ndarray) -> np.ndarray:
    """Return the only output of each sample, without ONNX Runtime's optimizer."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(network, options)
    return np.concatenate(
        [session.run(None, {"image": sample[np.newaxis]})[0] for sample in samples]
    )


def test_weights_are_int8_by_channel_and_activations_int8(tmp_path: Path) -> None:
    _, model = run(small_onnx(tmp_path / "float.onnx"), tmp_path)
    stored, makers = constants(model), sources(model)
    weighted = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm")]
    assert [node.op_type for node in weighted] == ["Conv", "Conv", "Gemm"]
    for node in weighted:
        dequantize = makers[node.input[1]]
        weights, scales, zeros = (stored[name] for name in dequantize.input)
        assert weights.dtype == np.int8
        assert scales.shape == (len(weights),)
        assert not zeros.any()
        assert stored[makers[node.input[2]].input[0]].dtype == np.int32
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            assert stored[node.input[2]].dtype == np.int8


def test_batch_norms_are_folded_and_only_the_standard_operators_are_left(tmp_path: Path) -> None:
    _, model = run(small_onnx(tmp_path / "float.onnx"), tmp_path)
    assert "BatchNormalization" not in {node.op_type for node in model.graph.node}
    assert {node.domain for node in model.graph.node} <= {"", "ai.onnx"}
    assert [entry.domain for entry in model.opset_import] == [""]


def test_an_open_batch_is_1_in_the_quantized_network(tmp_path: Path) -> None:
    report, model = run(small_onnx(tmp_path / "float.onnx"), tmp_path)
    assert report.inputs == {"image": (1, 3, 8, 8)}
    for port, shape in ((model.graph.input[0], [1, 3, 8, 8]), (model.graph.output[0], [1, 5])):
        assert [size.dim_value for size in port.type.tensor_type.shape.dim] == shape


@pytest.mark.parametrize("activations", ["int8", "int16"])
def test_the_reported_ratio_is_that_of_plain_runs(tmp_path: Path, activations: str) -> None:
    network = small_onnx(tmp_path / "float.onnx")
    report, _ = run(network, tmp_path, activations=activations)
    true, quantized = (outputs(path, images()) for path in (network, tmp_path / "made.onnx"))
    ratio = 10 * np.log10(np.sum(true**2) / np.sum((true - quantized) ** 2))
    assert ratio > 30
    assert report.sqnr_db == pytest.approx(ratio, abs=0.1)
    assert report.layers[-1].energy.sqnr_db == pytest.approx(ratio, abs=0.1)


def test_each_layer_is_listed_once_with_its_fused_activation(tmp_path: Path) -> None:
    report, _ = run(small_onnx(tmp_path / "float.onnx"), tmp_path)
    assert [(layer.operator, layer.dtype) for layer in report.layers] == [
        ("Conv + Relu", "int8"),
        ("Conv", "int8"),
        ("Add", "int8"),
        ("GlobalAveragePool", "int8"),
        ("Flatten", "int8"),
        ("Gemm", "int8"),
    ]


def test_int16_activations_are_symmetric_and_keep_activations_fused(tmp_path: Path) -> None:
    _, model = run(small_onnx(tmp_path / "float.onnx"), tmp_path, activations="int16")
    stored, makers = constants(model), sources(model)
    rounding = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    assert rounding
    for node in rounding:
        assert stored[node.input[2]].dtype == np.int16
        assert not stored[node.input[2]].any()
    (relu,) = (node for node in model.graph.node if node.op_type == "Relu")
    assert makers[relu.input[0]].op_type == "Conv"


def test_a_kept_layer_stays_in_float(tmp_path: Path) -> None:
    network = small_onnx(tmp_path / "float.onnx")
    names = [layer.name for layer in run(network, tmp_path)[0].layers]
    report, model = run(network, tmp_path, keep=(names[1],), force=True)
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    stored = constants(model)
    assert [node.input[1] in stored for node in convolutions] == [False, True]
    assert stored[convolutions[1].input[1]].dtype == np.float32
    assert report.layers[1].dtype == "float32"
    assert report.layers[0].dtype == "int8"


@pytest.mark.slow
def test_what_helps_a_network_that_quantization_hurts_is_advised(tmp_path: Path) -> None:
    network = lopsided_onnx(tmp_path / "float.onnx")
    report, _ = run(network, tmp_path)
    assert report.sqnr_db < 20
    best = report.advice[0]
    kept = tuple(word for word in best.options if word != "--keep")
    assert best.sqnr_db > report.sqnr_db + 20
    better, _ = run(network, tmp_path, keep=kept, force=True)
    assert better.sqnr_db == pytest.approx(best.sqnr_db, abs=0.01)
    assert not better.advice
    wide = next(
        suggestion
        for suggestion in report.advice
        if suggestion.options == ("--activations", "int16")
    )
    assert run(network, tmp_path, activations="int16", force=True)[0].sqnr_db == pytest.approx(
        wide.sqnr_db, abs=0.01
    )


def labelled_classifier(folder: Path, ratio: float = 300) -> tuple[Path, Path]:
    """Write a classifier that int8 hurts, and images with the classes that it gives them."""
    generator = np.random.default_rng(5)
    colours = generator.standard_normal((120, 3, 1, 1))
    batch = generator.standard_normal((120, 3, 8, 8)) * 0.5 + colours
    batch = batch.astype(np.float32)
    scores = outputs(lopsided_classifier(folder / "float.onnx", ratio=ratio), batch)
    bias = -np.median(scores, axis=0)  # so that every class is used
    network = lopsided_classifier(folder / "float.onnx", bias, ratio)
    classes = outputs(network, batch).argmax(axis=1)
    assert len(set(classes)) >= 4
    np.savez(folder / "labelled.npz", x=batch, y=classes)
    return network, folder / "labelled.npz"


def test_the_advised_layer_brings_the_accuracy_back(tmp_path: Path) -> None:
    network, data = labelled_classifier(tmp_path)
    request = QuantizationRequest(network, data, tmp_path / "made.onnx")
    hurt = quantize(request, Watch())
    assert hurt.accuracy is not None
    assert hurt.accuracy.before == 1
    assert hurt.accuracy.after < 0.6
    layers = next(advice.options for advice in hurt.advice if advice.options[0] == "--keep")
    kept = tuple(word for word in layers if word != "--keep")
    assert kept == ("wide", "narrow")
    well = quantize(replace(request, keep=kept, force=True), Watch())
    assert well.accuracy is not None
    assert well.accuracy.after >= 0.97


def test_as_few_layers_as_the_budget_needs_become_int16(tmp_path: Path) -> None:
    network, data = labelled_classifier(tmp_path)
    request = QuantizationRequest(network, data, tmp_path / "made.onnx", max_loss=0.03)
    report = quantize(request, Watch())
    mixed, accuracy = report.mixture, report.accuracy
    assert mixed is not None
    assert accuracy is not None
    assert mixed.loss_int8 > 0.03
    assert mixed.wide == ("wide",)
    assert next(iter(mixed.sensitivities)) == "wide"
    types = {layer.name: layer.dtype for layer in report.layers}
    # `narrow` reads the result of `wide`, so it computes in int16, and its own is then converted
    assert [name for name, dtype in types.items() if dtype == "int16"] == ["wide", "narrow"]
    with np.load(data) as stored:
        answers = outputs(tmp_path / "made.onnx", stored["x"]).argmax(axis=1)
        lost = float(np.mean(answers != stored["y"]))
    assert lost == pytest.approx(mixed.loss) == pytest.approx(1 - accuracy.after)
    assert lost <= 0.03
    quantized = flow.read(tmp_path / "made.onnx", None, Watch())
    convolutions = [op for op in quantized.graph.operators if op.code == "CONV_2D"]
    kinds = [quantized.graph.tensors[op.outputs[0]].dtype for op in convolutions]
    assert kinds == ["int8", "int16", "int16", "int8"]
    assert not [op.code for op in quantized.graph.operators if op.code == "RELU"]  # it is fused


def test_a_budget_that_int8_keeps_or_nothing_can_keep_is_told(tmp_path: Path) -> None:
    network, data = labelled_classifier(tmp_path, ratio=30_000)
    request = QuantizationRequest(network, data, tmp_path / "made.onnx", max_loss=0.0)
    with pytest.raises(UnsupportedError, match=r"0\.00% cannot be met: the least loss .* int16 in"):
        quantize(request, Watch())
    assert not (tmp_path / "made.onnx").exists()
    report = quantize(replace(request, max_loss=0.9), Watch())
    assert report.mixture is not None
    assert not report.mixture.wide
    assert {layer.dtype for layer in report.layers} == {"int8"}


def test_a_budget_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--max-loss is a share of labelled samples"):
        run(small_onnx(tmp_path / "float.onnx"), tmp_path, max_loss=0.01)


def test_an_old_opset_is_converted(tmp_path: Path) -> None:
    net = OnnxNetwork()
    add_conv(net, net.add_input("image", 1, 3, 8, 8), "made", drawn(net, 4, 3, 3, 3))
    path = write(net, tmp_path / "old.onnx", ["made"], opset=9)
    report, model = run(path, tmp_path)
    assert model.opset_import[0].version >= 13
    assert [layer.dtype for layer in report.layers] == ["int8"]


def test_constants_in_a_file_of_their_own_are_read(tmp_path: Path) -> None:
    model = onnx.load(small_onnx(tmp_path / "float.onnx"))
    onnx.save(
        model,
        tmp_path / "outside.onnx",
        save_as_external_data=True,
        size_threshold=0,
        location="constants.bin",
    )
    report, _ = run(tmp_path / "outside.onnx", tmp_path)
    assert report.sqnr_db > 30
    (tmp_path / "constants.bin").unlink()
    with pytest.raises(InputError, match="constants"):
        run(tmp_path / "outside.onnx", tmp_path, force=True)


def test_a_quantized_network_is_refused(tmp_path: Path) -> None:
    run(small_onnx(tmp_path / "float.onnx"), tmp_path)
    quantized = (tmp_path / "made.onnx").rename(tmp_path / "again.onnx")
    with pytest.raises(InputError, match="quantized already"):
        run(quantized, tmp_path)
    assert not (tmp_path / "made.onnx").exists()


@pytest.mark.parametrize("activations", ["int8", "int16"])
def test_inputs_and_outputs_can_be_integers(tmp_path: Path, activations: str) -> None:
    floats = small_onnx(tmp_path / "float.onnx")
    _, usual = run(floats, tmp_path, activations=activations)
    wanted = outputs(tmp_path / "made.onnx", images())
    stored, makers = constants(usual), sources(usual)
    first = next(node for node in usual.graph.node if node.input[0] == "image")
    last = makers["scores"]
    (scale, zero), (out_scale, out_zero) = (
        (stored[node.input[1]], stored[node.input[2]].astype(np.float32)) for node in (first, last)
    )

    report, quantized = run(floats, tmp_path, activations=activations, io="int8", force=True)
    assert report.integer_ends == ["image", "scores"] == report.as_json()["integer_ends"]
    kind = onnx.TensorProto.INT8 if activations == "int8" else onnx.TensorProto.INT16
    ports = [*quantized.graph.input, *quantized.graph.output]
    assert [(p.name, p.type.tensor_type.elem_type) for p in ports] == [
        ("image", kind),
        ("scores", kind),
    ]
    limits = np.iinfo(activations)
    integers = np.clip(np.rint(images() / scale) + zero, limits.min, limits.max).astype(activations)
    answers = outputs(tmp_path / "made.onnx", integers)
    np.testing.assert_array_equal((answers.astype(np.float32) - out_zero) * out_scale, wanted)
    network = flow.read(tmp_path / "made.onnx", None, Watch())
    assert [t.dtype for t in (*network.inputs, *network.outputs)] == [activations] * 2
    assert not {"QUANTIZE", "DEQUANTIZE"} & {op.code for op in network.graph.operators}


def test_integer_ends_of_layers_in_float_are_refused(tmp_path: Path) -> None:
    floats = small_onnx(tmp_path / "float.onnx")
    with pytest.raises(InputError, match="--io int8 has no effect on"):
        report, _ = run(floats, tmp_path)
        (tmp_path / "made.onnx").unlink()
        run(floats, tmp_path, io="int8", keep=tuple(layer.name for layer in report.layers))
    assert not (tmp_path / "made.onnx").exists()


def test_a_budget_of_time_names_the_operators_that_it_leaves_out(tmp_path: Path) -> None:
    network, data = labelled_classifier(tmp_path)
    request = QuantizationRequest(network, data, tmp_path / "made.onnx", max_loss=0.03)
    where = {"max_ms": 50.0, "board": "mps2-an386"}
    mixed = quantize(replace(request, **where), Watch()).mixture
    assert mixed is not None and mixed.ms is not None and mixed.ms_int8 is not None
    assert max(mixed.ms_int8, mixed.ms) < 50
    assert mixed.without == ("TRANSPOSE",)
