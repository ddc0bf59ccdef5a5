"""What becomes of PyTorch's operators: on the NPU or not, exact or not, how near to PyTorch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.backend import find_accelerator
from ethosgen.frontend.torch.transfer import unpack
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.worker import run_script
from ethosgen.pipeline.execution import simulate_samples
from ethosgen.pipeline.judgement import decisive_outputs
from ethosgen.pipeline.planning import make_plan
from ethosgen.values.fidelity import Fidelity, compare_fidelity
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch

HERE = Path(__file__).parent
NPU = "ethos-u55-128"
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


@dataclass(frozen=True)
class Row:
    """One operator of PyTorch; `in_float` are operators that compute in float, `differing`
    elements of the simulated plan that differ from the oracle's."""

    name: str
    codes: tuple[str, ...]
    in_float: tuple[str, ...]
    on_npu: int
    differing: int
    fidelity: Fidelity


def rows(kind: str, names: Sequence[str]) -> list[Row]:
    """Return the rows of operators or networks, quantized as `kind` says."""
    request = {
        "programs": str(HERE / "torch_programs.py"),
        "kind": kind,
        "wanted": list(names),
        "samples": SAMPLES,
    }
    reply = run_script(
        ENVIRONMENTS["torch"], HERE / "torch_table.py", "table", request, limit_s=1200
    )
    return [_row(name, reply.values[name], _of(reply.arrays, name)) for name in names]


def _of(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        key.removeprefix(f"{name} "): array
        for key, array in arrays.items()
        if key.startswith(f"{name} ")
    }


def _row(name: str, values: dict[str, Any], arrays: dict[str, Any]) -> Row:
    constants = {k.split(" ")[1]: a for k, a in arrays.items() if k.startswith("constant ")}
    graph = unpack(values["graph"], constants)
    network = Network(name, (graph,))
    samples = [
        {one.name: arrays[f"in {index} {one.name}"] for one in network.inputs}
        for index in range(SAMPLES)
    ]
    theirs = [
        {output: arrays[f"out {index} {i}"] for i, output in enumerate(values["outputs"])}
        for index in range(SAMPLES)
    ]
    plan = make_plan(network, find_accelerator(NPU), IoStyle.ARENA, Watch())
    ours = simulate_samples(plan, samples, Watch())
    _, golden = decisive_outputs(network, samples)
    differing = sum(
        int(np.sum(np.asarray(one[key]) != np.asarray(other[key])))
        for one, other in zip(ours, golden, strict=True)
        for key in values["outputs"]
    )
    return Row(
        name,
        tuple(one.code for one in graph.operators),
        tuple(
            one.code
            for one in graph.operators
            if one.code != "DEQUANTIZE" and graph.tensors[one.outputs[0]].dtype == "float32"
        ),
        plan.summary().npu_operators or 0,
        differing,
        compare_fidelity(network, ours, theirs, "PyTorch", "", None),
    )
