"""What becomes of PyTorch's operators: on the NPU or not, exact or not, how near to PyTorch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosgen.frontend.transfer import unpack
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script
from ethosgen.values.fidelity import Fidelity
from ethosgen.values.network import Network
from tests.support.torch_alone import ROUNDINGS, SUMS
from tests.support.trials import Trial, try_network

HERE = Path(__file__).parent
SAMPLES = 5
CONVOLUTIONS = (
    "conv2d conv2d_grouped conv2d_dilated depthwise conv2d_relu conv2d_hardtanh conv1d "
    "conv_transpose2d linear linear_of_rows linear_relu"
).split()
OTHERS = (
    "add add_relu sub mul mul_scalar maximum minimum matmul relu relu6 hardtanh hardswish "
    "hardsigmoid sigmoid tanh gelu silu leaky_relu softmax layer_norm mean adaptive_avg_pool2d "
    "avg_pool2d max_pool2d cat flatten permute slice pad upsample_nearest batch_norm"
).split()

XNNPACKS = [*CONVOLUTIONS, "add", "add_relu", "mul", "mul_scalar", "cat"]
"""What the quantizer of XNNPACK quantizes."""
IN_SIXTEEN_BITS = ["conv2d", "depthwise", "linear", "add", "avg_pool2d", "cat"]
NETWORKS = {
    "xnnpack": ["ds_cnn", "resnet_8", "autoencoder", "mobilenet_v2"],
    "ethosu": ["ds_cnn", "resnet_8", "autoencoder", "transformer", "lstm"],
}
"""By quantizer."""
_ROUNDINGS = (
    "TFLite and the NPU round each layer's sums twice, which adds up over the layers: alone, each "
    "layer is within a step of its runtime's"
)
KNOWN: dict[tuple[str, str], str] = {
    ("layer_norm", "ethosu"): "a dozen operators in a row, each of which rounds",
    ("mobilenet_v2", "xnnpack"): _ROUNDINGS,
    ("transformer", "ethosu"): SUMS,
    ("lstm", "ethosu"): ROUNDINGS,
}
"""By name and quantizer, the cause of differences above one step."""


@dataclass(frozen=True)
class Row:
    """One operator or network of PyTorch; `in_float` are operators that compute in float."""

    name: str
    codes: tuple[str, ...]
    in_float: tuple[str, ...]
    trial: Trial

    @property
    def on_npu(self) -> int:
        """The number of operators on the NPU."""
        return self.trial.on_npu

    @property
    def differing(self) -> int:
        """Elements that differ from the oracle's, on the NPU model or on the CPU alone."""
        return self.trial.npu + (self.trial.cpu or 0)

    @property
    def fidelity(self) -> Fidelity:
        """The comparison with PyTorch."""
        return self.trial.fidelity


def rows(kind: str, names: Sequence[str], alone: bool = False, samples: int = SAMPLES) -> list[Row]:
    """Return the rows of operators or networks, quantized as `kind` says.

    `alone` runs them on the CPU alone, too.
    """
    request = {
        "programs": str(HERE / "torch_programs.py"),
        "kind": kind,
        "wanted": list(names),
        "samples": samples,
    }
    reply = run_script(
        ENVIRONMENTS["torch"], HERE / "torch_table.py", "table", request, limit_s=1200
    )
    return [_row(name, reply.values[name], _of(reply.arrays, name), alone) for name in names]


def _of(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        key.removeprefix(f"{name} "): array
        for key, array in arrays.items()
        if key.startswith(f"{name} ")
    }


def _row(name: str, values: dict[str, Any], arrays: dict[str, Any], alone: bool) -> Row:
    constants = {k.split(" ")[1]: a for k, a in arrays.items() if k.startswith("constant ")}
    graph = unpack(values["graph"], constants)
    network = Network(name, (graph,))
    samples = [
        {tensor.name: arrays[f"in {index} {tensor.name}"] for tensor in network.inputs}
        for index in range(values["samples"])
    ]
    theirs = [
        {output: arrays[f"out {index} {i}"] for i, output in enumerate(values["outputs"])}
        for index in range(values["samples"])
    ]
    return Row(
        name,
        tuple(operator.code for operator in graph.operators),
        tuple(
            operator.code
            for operator in graph.operators
            if operator.code != "DEQUANTIZE"
            and graph.tensors[operator.outputs[0]].dtype == "float32"
        ),
        try_network(network, name, samples, theirs, "PyTorch", alone=alone),
    )
