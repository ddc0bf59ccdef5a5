"""TFLite_Detection_PostProcess against its oracles: both variants, types, ties, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from ethosgen.aot import compile_program, decided_by_litert, is_exact, make_evaluator
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.litert import litert_outputs
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.dialect import DETECTION
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests.support.aot_harness import GeneratedC, cpu_plan
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder, Spec

MOST = 8


def detector(rows: int, classes: int, columns: int, **options: Any) -> Network:
    net = NetworkBuilder("detector", seed=rows)
    encodings = net.input((1, rows, 4), "float32", None, name="encodings")
    scores = net.input((1, rows, columns), "float32", None, name="scores")
    centres, sizes = net.random.uniform(0, 1, (rows, 2)), net.random.uniform(0.1, 0.5, (rows, 2))
    anchors = net.constant(np.concatenate([centres, sizes], 1).astype(np.float32))
    settings = {
        "max_detections": MOST, "max_classes_per_detection": 1, "detections_per_class": 4,
        "use_regular_nms": True, "nms_score_threshold": 0.1, "nms_iou_threshold": 0.5,
        "num_classes": classes, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
    } | options  # fmt: skip
    outputs = [Spec(shape, "float32") for shape in ((1, MOST, 4), (1, MOST), (1, MOST), (1,))]
    chosen = {name: value for name, value in settings.items() if value is not None}
    results = net.operator(
        "CUSTOM", [encodings, scores, anchors], outputs, custom_code=DETECTION,
        custom_options=bytes(flexbuffers.Dumps(chosen)),
    )  # fmt: skip
    return parse_network(net.build(*results), "detector")


def samples_of(network: Network, steps: int | None) -> list[Arrays]:
    """Return boxes and scores, which have so many steps between 0 and 1."""
    random, samples = np.random.default_rng(1), []
    for _ in range(3):
        scores = random.uniform(0, 1, network.inputs[1].shape)
        scores = np.round(scores * steps) / steps if steps else scores
        boxes = random.normal(0, 2, network.inputs[0].shape)
        samples.append({"encodings": boxes.astype(np.float32), "scores": scores.astype(np.float32)})
    return samples


def quantized(shaped: bool = True, **options: Any) -> Network:
    """Return a detector of uint8, as TensorFlow 1 exported: with outputs without a shape too."""
    net = NetworkBuilder("detector", seed=3)
    encodings = net.input((1, 40, 4), "uint8", 0.079, 191, name="encodings")
    scores = net.input((1, 40, 4), "uint8", 1 / 256, 0, name="scores")
    corners = net.random.integers(20, 156, (40, 4)).astype(np.uint8)
    anchors = net.constant(corners, scale=0.00645, zero_point=2)
    shapes = ((1, MOST, 4), (1, MOST), (1, MOST), (1,)) if shaped else ((),) * 4
    settings = {
        "max_detections": MOST, "max_classes_per_detection": 1, "num_classes": 3,
        "use_regular_nms": False, "nms_score_threshold": 1e-8, "nms_iou_threshold": 0.5,
        "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
    } | options  # fmt: skip
    results = net.operator(
        "CUSTOM", [encodings, scores, anchors], [Spec(shape, "float32") for shape in shapes],
        custom_code=DETECTION, custom_options=bytes(flexbuffers.Dumps(settings)),
    )  # fmt: skip
    return parse_network(net.build(*results), "detector")


CASES: dict[str, tuple[Network, int | None]] = {
    "regular": (detector(40, 3, 4), None),
    "regular, equal scores": (detector(40, 3, 3), 5),
    "regular, few": (detector(3, 1, 2, detections_per_class=None), None),
    "fast": (detector(40, 3, 4, use_regular_nms=False), None),
    "fast, equal scores": (detector(40, 2, 2, use_regular_nms=None), 4),
    "fast, one": (detector(1, 1, 1, use_regular_nms=False), None),
}


@needs_gcc
@pytest.mark.parametrize("name", CASES)
def test_equals_tflite_micro(name: str, tmp_path: Path) -> None:
    """The fast variant leaves what lies behind the number of detections to chance; here it is 0."""
    network, steps = CASES[name]
    samples, plan = samples_of(network, steps), cpu_plan(network)
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    evaluate = make_evaluator(plan)
    for sample, golden in zip(samples, golden_outputs(network, samples), strict=True):
        c_outputs = generated.outputs(sample)
        *_, count = golden.values()
        assert 0 < count.item() <= MOST
        for outputs in (c_outputs, evaluate(sample, lambda *_: {})):
            for tensor, wanted in golden.items():
                _assert_first(outputs[tensor], wanted, int(count.item()))


@needs_gcc
@pytest.mark.parametrize("is_regular", [False, True])
@pytest.mark.parametrize("shaped", [False, True])
def test_uint8_equals_litert(shaped: bool, is_regular: bool, tmp_path: Path) -> None:
    """TFLite Micro has it of float32 alone. Files give no shapes: those of single numbers then."""
    network = quantized(shaped, use_regular_nms=is_regular)
    assert [t.shape for t in network.outputs] == [(1, MOST, 4), (1, MOST), (1, MOST), (1,)]
    assert decided_by_litert(network.graph)
    samples, plan = random_samples(network, 6, seed=2), cpu_plan(network)
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    for sample, golden in zip(samples, litert_outputs(network, samples), strict=True):
        c_outputs = generated.outputs(sample)
        *_, count = golden.values()
        assert count.item() > 2
        for tensor, wanted in golden.items():
            _assert_first(c_outputs[tensor], wanted, int(count.item()))


def test_a_detector_without_shapes_is_offloaded_around() -> None:
    """Vela keeps the shapes of outputs as the file has them."""
    plan = offload(quantized(shaped=False), find_accelerator("ethos-u55-128"))
    assert plan.residual.output_tensors()[0].shape == (1, MOST, 4)


def _assert_first(output: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], count: int) -> None:
    """Compare the detections that there are; the number of them is an output of one element."""
    if wanted.shape == (1,):
        assert output.item() == wanted.item()
        return
    np.testing.assert_array_equal(output[0, :count], wanted[0, :count])
    assert not output[0, count:].any()


def test_sizes_are_exponentials_which_may_round_either_way() -> None:
    assert not is_exact(detector(3, 1, 2))


@needs_gcc
def test_a_box_without_area_ends_the_network(tmp_path: Path) -> None:
    network, _ = CASES["regular"]
    generated = GeneratedC(compile_program(cpu_plan(network), "net"), tmp_path)
    (sample, *_) = samples_of(network, None)
    sample["encodings"][0, 7, 2] = -10000  # a height of 0
    assert generated.run(sample)[0] == 15


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "several classes, fast": (
        {"use_regular_nms": False, "max_classes_per_detection": 2},
        "max_classes_per_detection is 2, with which TFLite Micro writes outside",
    ),
    "no overlap": ({"nms_iou_threshold": 0.0}, "nms_iou_threshold is 0.0"),
    "a missing option": ({"num_classes": None}, "lack 'num_classes'"),
    "other shapes": ({"max_detections": 9}, "do not fit its options"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_covered_is_named(name: str) -> None:
    options, words = REFUSED[name]
    with pytest.raises(UnsupportedError, match=words):
        compile_program(cpu_plan(detector(40, 3, 4, **options)), "net")
