"""Exports quantized torch networks for Ethos-U, with torch's own answers; runs beside ethosgen.

    python export_programs.py VELA FOLDER NAME...

The Python is that of the environment `torch`, which has no Vela: VELA is the program of another.
For each network, FOLDER gets NAME.pte, NAME_in.npz, NAME_out.npz (torch's outputs), NAME.bpte (all
three in one) and, if all of it is one delegate, NAME_tosa.npz (those of TOSA's reference model for
what Vela compiled). A name is one of NETWORKS below, or "KIND-NAME" with a network or operator of
tests/support/torch_programs.py and its quantizer: ethosu or ethosu16.
"""

import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def provide_vela(program: str) -> None:
    """Let ExecuTorch import a module `ethosu.vela.vela` that runs Vela's command line."""

    def main(arguments: list[str]) -> None:
        subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)

    package = types.ModuleType("ethosu.vela")
    package.__dict__["vela"] = types.SimpleNamespace(main=main)
    sys.modules.update({"ethosu": types.ModuleType("ethosu"), "ethosu.vela": package})


provide_vela(sys.argv[1])

import torch  # noqa: E402
import tosa_reference_model  # noqa: E402
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner  # noqa: E402
from executorch.backends.arm.quantizer import (  # noqa: E402
    EthosUQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from executorch.devtools import BundledProgram  # noqa: E402
from executorch.devtools.bundled_program.config import (  # noqa: E402
    MethodTestCase,
    MethodTestSuite,
)
from executorch.devtools.bundled_program.serialize import (  # noqa: E402
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower  # noqa: E402
from torch import nn  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: E402

SAMPLES, FEW = 20, 5
Q = torch.ops.quantized_decomposed


class Small(nn.Module):
    """Convolutions of all kinds, pooling, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        kinds = (nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8, padding=1))
        self.features = nn.Sequential(*kinds, nn.ReLU6(), nn.Conv2d(8, 16, 1), nn.ReLU())
        self.layer = nn.Linear(16 * 4 * 4, 10)

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(self.features(x), 4)
        return self.layer(x.flatten(1))


class Middle(nn.Module):
    """What is not quantized: the CPU's part."""

    def forward(self, x: Any) -> Any:
        return x.permute(0, 2, 3, 1).reshape(1, -1)


class Split(nn.Module):
    """Two delegates."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.middle = nn.Conv2d(3, 4, 3, padding=1), Middle()
        self.last = nn.Linear(4 * 36, 10)

    def forward(self, x: Any) -> Any:
        return self.last(self.middle(torch.relu(self.first(x))))


class Attention(nn.Module):
    """Attention with layer norm."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))
        self.norm = nn.LayerNorm(16)

    def forward(self, x: Any) -> Any:
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) * 0.25, -1)
        return self.norm(x + weights @ self.v(x))


NETWORKS: dict[str, tuple[Any, tuple[int, ...], str]] = {
    "small": (Small, (1, 3, 16, 16), "ethos-u55-128"),
    "channels_last": (Small, (1, 3, 16, 16), "ethos-u55-128"),
    "int16": (Small, (1, 3, 16, 16), "ethos-u55-128"),
    "u65": (Small, (1, 3, 16, 16), "ethos-u65-256"),
    "split": (Split, (1, 3, 6, 6), "ethos-u55-128"),
    "attention": (Attention, (1, 8, 16), "ethos-u55-128"),
}


def export(name: str, folder: Path) -> None:
    """Write the files of one of NETWORKS."""
    make, shape, npu = NETWORKS[name]
    is_last = name == "channels_last"
    torch.manual_seed(1)
    network = make().eval()

    def draw() -> Any:
        x = torch.randn(*shape)
        return x.to(memory_format=torch.channels_last) if is_last else x

    exported = torch.export.export(network, (draw(),)).module(check_guards=False)
    spec = EthosUCompileSpec(target=npu)
    quantizer = EthosUQuantizer(spec)
    config = get_symmetric_quantization_config()
    if name == "int16":
        config = get_symmetric_a16w8_quantization_config()
    quantizer.set_global(config)
    if name == "split":
        quantizer.set_module_name("middle", None)
    prepared = prepare_pt2e(exported, quantizer)
    for _ in range(8):
        prepared(draw())
    converted = convert_pt2e(prepared)
    inputs = [(draw(),) for _ in range(SAMPLES)]
    write(folder, name, torch.export.export(converted, inputs[0]), inputs, spec)


def export_other(name: str, folder: Path) -> None:
    """Write the files of a network of torch_programs.py."""
    sys.path.append(str(Path(__file__).parents[2] / "support"))
    import torch_programs  # type: ignore[import-not-found]

    kind, _, network = name.partition("-")
    _, shapes = {**torch_programs.OPERATORS, **torch_programs.NETWORKS}[network]
    program = torch_programs.program(network, kind)
    torch.manual_seed(3)
    inputs = [tuple(torch.randn(shape) for shape in shapes) for _ in range(FEW)]
    write(folder, name, program, inputs, EthosUCompileSpec(target="ethos-u55-128"))


def write(
    folder: Path, name: str, program: Any, inputs: Sequence[tuple[Any, ...]], spec: Any
) -> None:
    """Write a quantized program as .pte, its inputs, and the outputs of torch and of TOSA."""
    module = program.module(check_guards=False)
    outputs = [module(*sample).detach() for sample in inputs]
    with tempfile.TemporaryDirectory() as artifacts:
        spec.dump_intermediate_artifacts_to(artifacts)
        edge = to_edge_transform_and_lower(
            program,
            partitioner=[EthosUPartitioner(spec)],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
        lowered = [f for f in Path(artifacts).glob("*.tosa") if f.name != "out.tosa"]
        graphs = [file.read_bytes() for file in lowered]
    lowered_program = edge.to_executorch()
    (folder / f"{name}.pte").write_bytes(lowered_program.buffer)
    cases = [MethodTestCase(list(x), [y]) for x, y in zip(inputs, outputs, strict=True)]
    bundle = BundledProgram(lowered_program, [MethodTestSuite("forward", cases)])
    bundled = serialize_from_bundled_program_to_flatbuffer(bundle)
    (folder / f"{name}.bpte").write_bytes(bundled)
    for index in range(len(inputs[0])):
        save(folder / f"{name}_in", f"input_{index}", [sample[index] for sample in inputs])
    save(folder / f"{name}_out", "output_0", outputs)
    if len(graphs) == 1:
        answers = [compute(graphs[0], module, sample) for sample in inputs]
        save(folder / f"{name}_tosa", "output_0", answers)


def compute(graph: bytes, module: Any, inputs: tuple[Any, ...]) -> Any:
    """Run a TOSA graph between torch's first quantizations and its last dequantization."""
    nodes = list(module.graph.nodes)
    ends = [n for n in nodes if n.op == "placeholder"]
    firsts = [
        next(n for n in end.users if n.target is Q.quantize_per_tensor.default) for end in ends
    ]
    last = next(n for n in reversed(nodes) if n.target is Q.dequantize_per_tensor.default)
    codes = []
    for x, first in zip(inputs, firsts, strict=True):
        q = Q.quantize_per_tensor(x, *first.args[1:])
        if is_channels_last(x):
            q = q.permute(0, 2, 3, 1)
        codes.append(np.ascontiguousarray(q.numpy()))
    (codes_out,), _ = tosa_reference_model.run(graph, codes)
    return Q.dequantize_per_tensor(torch.from_numpy(codes_out), *last.args[1:])


def is_channels_last(x: Any) -> bool:
    return bool(
        x.dim() == 4
        and not x.is_contiguous()
        and x.is_contiguous(memory_format=torch.channels_last)
    )


def save(file: Path, key: str, arrays: Sequence[Any]) -> None:
    """Add samples to a file, under the name that ethosgen gives the input or output."""
    stacked = np.stack([array.numpy() for array in arrays])
    if is_channels_last(arrays[0]) and key.startswith("input"):  # as it is in memory
        stacked = np.ascontiguousarray(np.moveaxis(stacked, 2, -1))
    path = file.with_suffix(".npz")
    named = dict(np.load(path)) if path.exists() else {}
    named[key] = stacked
    np.savez(path, **named)


failed = False
for wanted in sys.argv[3:]:
    try:
        (export if wanted in NETWORKS else export_other)(wanted, Path(sys.argv[2]))
    except Exception:
        failed = True
        traceback.print_exc()
sys.exit(failed)
