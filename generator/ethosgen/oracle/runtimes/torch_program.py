"""Runs an exported program; a file for the environment "torch"."""

import logging
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantization

from ethosgen.frontend.torch.archive import PROGRAM


def run(
    request: dict[str, Any], arrays: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run all samples; arrays are named after the sample and the input, or the output's number."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    program = torch.export.load(folder / PROGRAM)
    module = program.module(check_guards=False)
    outputs = {}
    with torch.no_grad():
        for index in range(request["samples"]):
            inputs = [torch.from_numpy(arrays[f"{index} {name}"]) for name in request["inputs"]]
            taken = torch.utils._pytree.tree_unflatten(inputs, program.call_spec.in_spec)
            results = torch.utils._pytree.tree_leaves(module(*taken[0], **taken[1]))
            for number, result in enumerate(results):
                outputs[f"{index} {number}"] = result.numpy()
    return {}, outputs
