"""The demo's digits as .pt2, .tosa and .pte: nearly as accurate as the float network.

As .tflite and .onnx they are quantized in tests/commands/test_quantize.py.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.backend import compiled_for
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend import read
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script
from ethosgen.values.outcome import Arrays
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests.support.float_networks import trained_digits
from tests.support.needs import needs_torch

pytestmark = [pytest.mark.slow, needs_torch]

SCRIPT = Path(__file__).parents[1] / "support" / "digits_programs.py"
MOST_LOST = 0.005
LAYERS = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD"}
"""On the NPU. In float on the CPU are the ends, and what PyTorch's softmax of a .pt2 leaves."""


def parameters() -> dict[str, Any]:
    """Return the trained parameters in PyTorch's layout."""
    arrays = {}
    trained = [p.value for layer in trained_digits()[0] for p in layer.parameters()]
    for number, parameter in enumerate(trained):
        array = np.asarray(parameter, np.float32)
        if array.ndim == 4:  # [out, k, k, in]; [1, k, k, channels] if depthwise
            array = array.transpose((3, 0, 1, 2) if array.shape[0] == 1 else (0, 3, 1, 2))
        arrays[str(number)] = np.ascontiguousarray(array)
    return arrays


def channels_first(images: Any) -> Any:
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("kind", ["pt2", "tosa", "pte"])
def test_the_digits_lose_less_than_half_a_percent(kind: str, tmp_path: Path) -> None:
    from convnet import forward

    layers, calibration, held_out = trained_digits()
    request = {"format": kind, "vela": str(Path(sys.executable).with_name("vela"))}
    arrays = parameters() | {"images": channels_first(calibration)}
    reply = run_script(ENVIRONMENTS["torch"], SCRIPT, "export", request, arrays)
    file = tmp_path / f"digits.{kind}"
    file.write_bytes(reply.arrays["file"].tobytes())
    pixels = channels_first(held_out.images)
    if kind == "tosa":
        steps = np.rint(pixels / reply.values["scale"]) + reply.values["zero_point"]
        pixels = np.clip(steps, -128, 127).astype(np.int8)
    after = np.mean(answers(kind, file, pixels) == held_out.labels)
    before = np.mean(forward(layers, held_out.images).argmax(axis=1) == held_out.labels)
    assert before > 0.95
    assert abs(after - before) <= MOST_LOST


def answers(kind: str, file: Path, images: Any) -> Any:
    """Return the digits that the NPU model reads."""
    network = read(file)
    npu = compiled_for(network) or find_accelerator("ethos-u55-128")
    plan = make_plan(network, PlanSettings(npu), Watch())
    (image,), (digit,) = network.inputs, network.outputs
    samples: list[Arrays] = [{image.name: picture[np.newaxis]} for picture in images]
    assert plan.partitions
    tensors = plan.residual.tensors
    assert not [
        op.code
        for op in plan.residual.operators
        if op.code in LAYERS and tensors[op.outputs[0]].dtype == "int8"
    ]
    assert kind != "tosa" or not plan.cpu_operators
    outputs = simulate_samples(plan, samples, Watch())
    return np.array([sample[digit.name].argmax() for sample in outputs])
