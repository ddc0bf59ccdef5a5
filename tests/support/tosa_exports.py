# mypy: disable-error-code="misc,no-any-return"
"""Lowers the networks of torch_programs.py to TOSA, as users of ExecuTorch do; a script for the
environment "torch".

ExecuTorch quantizes with Arm's quantizer, partitions the program for TOSA, and writes each
partition's file. The quantization at the ends stays outside: a file has integer ends.
"""

import importlib.util
import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.backends.arm.quantizer import (
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from executorch.backends.arm.tosa import TosaSpecification
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

CALIBRATION = 8
SPECIFICATIONS = {"int8": "TOSA-1.0+INT", "int16": "TOSA-1.0+INT+int16+int4"}
Q = torch.ops.quantized_decomposed

warnings.simplefilter("ignore")


def lower(
    request: dict[str, Any], _arrays: dict[str, Any], _folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the .tosa file of each network of `request["wanted"]`, a list of names and types.

    `request["programs"]` is the file with the networks. The arrays are named after network and
    type: "file"; "in" and "out", `request["samples"]` samples as torch quantizes them, and torch's
    outputs in steps of their quantization, as int32.
    """
    logging.disable(logging.WARNING)
    programs = _module(request["programs"])
    arrays = {}
    for name, kind in request["wanted"]:
        factory, shapes = programs.NETWORKS[name]
        torch.manual_seed(0)
        module = factory().eval()
        programs._settle(module, shapes)
        (shape,) = shapes
        lowered = _lowered(module, shape, kind, request["samples"])
        arrays.update({f"{name} {kind} {key}": array for key, array in lowered.items()})
    return {}, arrays


def _lowered(module: Any, shape: tuple[int, ...], kind: str, samples: int) -> dict[str, Any]:
    spec = TosaCompileSpec(TosaSpecification.create_from_string(SPECIFICATIONS[kind]))
    wide = get_symmetric_a16w8_quantization_config
    quantizer = TOSAQuantizer(spec)
    quantizer.set_global(wide() if kind == "int16" else get_symmetric_quantization_config())
    exported = torch.export.export(module, (torch.randn(shape),)).module(check_guards=False)
    prepared = prepare_pt2e(exported, quantizer)
    for _ in range(CALIBRATION):
        prepared(torch.randn(shape))
    converted = convert_pt2e(prepared)
    nodes = list(converted.graph.nodes)
    first = next(n for n in nodes if n.target is Q.quantize_per_tensor.default)
    last = next(n for n in reversed(nodes) if n.target is Q.dequantize_per_tensor.default)
    drawn = [torch.randn(shape) for _ in range(samples)]
    inputs = [Q.quantize_per_tensor(x, *first.args[1:]).numpy() for x in drawn]
    outputs = [_in_steps(converted(x).detach(), *last.args[1:3]) for x in drawn]
    file = np.frombuffer(_file(converted, shape, spec), np.uint8)
    return {"file": file, "in": np.stack(inputs), "out": np.stack(outputs)}


def _in_steps(values: Any, scale: float, zero_point: int) -> Any:
    return torch.round(values / scale + zero_point).to(torch.int32).numpy()


def _file(converted: Any, shape: tuple[int, ...], spec: TosaCompileSpec) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        spec.dump_intermediate_artifacts_to(place)
        to_edge_transform_and_lower(
            torch.export.export(converted, (torch.randn(shape),)),
            partitioner=[TOSAPartitioner(spec)],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
        (file,) = Path(place).glob("*.tosa")
        return file.read_bytes()


def _module(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("programs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
