# mypy: disable-error-code="misc,no-any-return"
"""Imports a quantized .pt2 file and records torch's integers; a script for the environment "torch".

The answer has the packed graph, whose constants are the arrays "constant NUMBER", the names of the
outputs, and "scales": [scale, zero point] of each quantized node by its name. The array
"SAMPLE NODE" has the integers that torch computes for it.
"""

import logging
import warnings
from pathlib import Path
from typing import Any

import torch

from ethosgen.frontend.torch import importer
from ethosgen.frontend.torch.archive import PROGRAM, checked
from ethosgen.values.source import Source

GIVEN = "given.pt2"


class Observed(torch.fx.Interpreter):
    """Keeps the value of each node."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.values: dict[str, Any] = {}

    def run_node(self, n: Any) -> Any:
        self.values[n.name] = value = super().run_node(n)
        return value


def record(
    request: dict[str, Any], arrays: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run the samples, arrays "SAMPLE INPUT", of the file "given.pt2"."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    program = checked(Source("pt2", GIVEN, (folder / GIVEN).read_bytes()))
    (folder / PROGRAM).write_bytes(program.archive())
    asked = {"name": "main", "shapes": {}, "channels_last": False}
    values, constants = importer.convert(asked | {"outputs": list(program.outputs)}, {}, folder)
    recorded = {f"constant {number}": array for number, array in constants.items()}
    module = torch.export.load(folder / PROGRAM).module(check_guards=False)
    rounding = {
        node: node.args[0].name for node in module.graph.nodes if "quantize_per_tensor" in node.name
        and not node.name.startswith("dequantize")
    }  # fmt: skip
    for number in range(request["samples"]):
        observed = Observed(module)
        with torch.no_grad():
            observed.run(*(torch.from_numpy(arrays[f"{number} {n}"]) for n in program.inputs))
        for node, source in rounding.items():
            recorded[f"{number} {source}"] = observed.values[node.name].numpy()
    scales = {source: [float(node.args[1]), node.args[2]] for node, source in rounding.items()}
    return {**values, "outputs": list(program.outputs), "scales": scales}, recorded
