# mypy: disable-error-code="misc,no-any-return"
"""Quantizes the demo's digits in PyTorch and exports them; a script for the environment "torch".

.pt2     the quantized program
.tosa    what ExecuTorch lowers the program to; its ends are integers
.pte     the program with an Ethos-U delegate, which Vela compiles
"""

import io
import logging
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

NPU = "ethos-u55-128"
Q = torch.ops.quantized_decomposed

warnings.simplefilter("ignore")


class Digits(nn.Module):
    """The demo's network: `arrays` are its parameters in order, in PyTorch's layout."""

    def __init__(self, arrays: list[Any]) -> None:
        super().__init__()
        channels = arrays[0].shape[0]
        wide = arrays[4].shape[0]
        self.first = nn.Conv2d(1, channels, 3, padding=1)
        self.deep = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.point = nn.Conv2d(channels, wide, 1)
        self.inner = nn.Conv2d(wide, wide, 3, padding=1)
        self.dense = nn.Linear(arrays[8].shape[1], 10)
        for parameter, array in zip(self.parameters(), arrays, strict=True):
            parameter.data = torch.from_numpy(array)

    def forward(self, image: Any) -> Any:
        x = torch.relu(self.first(image))
        x = torch.relu(self.point(torch.relu(self.deep(x))))
        x = functional.max_pool2d(x, 2)
        x = functional.avg_pool2d(torch.relu(x + self.inner(x)), 2)
        return self.dense(x.permute(0, 2, 3, 1).flatten(1)).softmax(-1)


def export(
    request: dict[str, Any], arrays: dict[str, Any], _folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the file of `request["format"]`, and scale and zero point of its input.

    The arrays are "0" to "9", the parameters, and "images", all for calibration. `request["vela"]`
    is Vela's program.
    """
    logging.disable(logging.WARNING)
    _provide_vela(request["vela"])
    module = Digits([arrays[str(i)] for i in range(10)]).eval()
    converted = _quantized(module, arrays["images"], request["format"])
    data = {"pt2": _pt2, "tosa": _tosa, "pte": _pte}[request["format"]](converted, arrays["images"])
    nodes = converted.graph.nodes
    first = next(n for n in nodes if n.target is Q.quantize_per_tensor.default)
    values = {"scale": first.args[1], "zero_point": first.args[2]}
    return values, {"file": np.frombuffer(data, np.uint8)}


def save_float(
    _request: dict[str, Any], arrays: dict[str, Any], _folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the float .pt2 file; the arrays are "0" to "9", the parameters."""
    module = Digits([arrays[str(i)] for i in range(10)]).eval()
    data = _pt2(module, np.zeros((1, 1, 8, 8), np.float32))
    return {}, {"file": np.frombuffer(data, np.uint8)}


def _provide_vela(program: str) -> None:
    """Let ExecuTorch import a module `ethosu.vela.vela` that runs Vela's command line."""

    def main(arguments: list[str]) -> None:
        subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)

    package = types.ModuleType("ethosu.vela")
    package.__dict__["vela"] = types.SimpleNamespace(main=main)
    sys.modules.update({"ethosu": types.ModuleType("ethosu"), "ethosu.vela": package})


def _specification(kind: str) -> Any:
    from executorch.backends.arm.ethosu import EthosUCompileSpec
    from executorch.backends.arm.tosa import TosaSpecification
    from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec

    if kind == "tosa":
        return TosaCompileSpec(TosaSpecification.create_from_string("TOSA-1.0+INT"))
    return EthosUCompileSpec(NPU)


def _quantized(module: Any, images: Any, kind: str) -> Any:
    from executorch.backends.arm.quantizer import (
        EthosUQuantizer,
        TOSAQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    make = TOSAQuantizer if kind == "tosa" else EthosUQuantizer
    quantizer = make(_specification(kind))
    quantizer.set_global(get_symmetric_quantization_config())
    exported = torch.export.export(module, _example(images)).module(check_guards=False)
    prepared = prepare_pt2e(exported, quantizer)
    for image in images:
        prepared(torch.from_numpy(image[np.newaxis]))
    return convert_pt2e(prepared)


def _example(images: Any) -> tuple[Any]:
    return (torch.from_numpy(images[:1]),)


def _pt2(converted: Any, images: Any) -> bytes:
    stream = io.BytesIO()
    torch.export.save(torch.export.export(converted, _example(images)), stream)
    return stream.getvalue()


def _lowered(converted: Any, images: Any, partitioner: Any) -> Any:
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    return to_edge_transform_and_lower(
        torch.export.export(converted, _example(images)),
        partitioner=[partitioner],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )


def _tosa(converted: Any, images: Any) -> bytes:
    from executorch.backends.arm.tosa.partitioner import TOSAPartitioner

    spec = _specification("tosa")
    with tempfile.TemporaryDirectory() as place:
        spec.dump_intermediate_artifacts_to(place)
        _lowered(converted, images, TOSAPartitioner(spec))
        (file,) = Path(place).glob("*.tosa")
        return file.read_bytes()


def _pte(converted: Any, images: Any) -> bytes:
    from executorch.backends.arm.ethosu import EthosUPartitioner

    lowered = _lowered(converted, images, EthosUPartitioner(_specification("pte")))
    return bytes(lowered.to_executorch().buffer)
