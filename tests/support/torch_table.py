"""Makes, imports and runs .pt2 files, many in one process; a script for the environment "torch"."""

import io
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ethosgen.frontend.torch import importer
from ethosgen.frontend.torch.archive import PROGRAM, checked
from ethosgen.oracle.runtimes import torch_program
from ethosgen.values.source import Source


def table(
    request: dict[str, Any], _arrays: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Import the programs that `request["wanted"]` names, and run them on random samples.

    `request["programs"]` is the file that makes them. The answer has a packed graph, or the
    sentence that refuses the program; arrays are named after the program, and "constant" and the
    tensor, "in" and the sample and input, or "out" and the sample and output.
    """
    graphs, arrays = {}, {}
    programs = _module(request["programs"])
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    for name in request["wanted"]:
        stream = io.BytesIO()
        torch.export.save(programs.program(name, request["kind"]), stream)
        program = checked(Source("pt2", f"{name}.pt2", stream.getvalue()))
        (folder / PROGRAM).write_bytes(program.archive())
        ends = {"outputs": list(program.outputs), "channels_last": False}
        values, constants = importer.convert({"name": name, "shapes": {}, **ends}, {}, folder)
        rng = np.random.default_rng(3)
        inputs = {
            f"{index} {port}": rng.standard_normal(tuple(map(int, shape))).astype(np.float32)
            for index in range(request["samples"])
            for port, shape in program.inputs.items()
        }
        asked = {"samples": request["samples"], "inputs": list(program.inputs)}
        _, outputs = torch_program.run(asked, inputs, folder)
        graphs[name] = {**values, "outputs": list(program.outputs), **asked}
        for kind, some in (("constant", constants), ("in", inputs), ("out", outputs)):
            arrays.update({f"{name} {kind} {key}": array for key, array in some.items()})
    return graphs, arrays


def _module(path: str) -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location("programs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
