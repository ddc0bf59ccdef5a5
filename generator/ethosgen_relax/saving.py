"""Relax modules as files that ethosgen's commands take.

TVM 0.27's own tvm.ir.save_json ends the process for each module that has a tensor, and its other
form, TVMScript, is Python, which ethosgen does not execute. So a module becomes a .tflite file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tvm

from ethosgen.frontend import source_of
from ethosgen.frontend.relax import import_module
from ethosgen.values.errors import cannot_write
from ethosgen.values.network import Network
from ethosgen_relax.island import types_of
from ethosgen_relax.preparation import prepared


def save_tflite(
    module: tvm.IRModule, path: Path | str, *, params: Mapping[str, Any] | None = None
) -> Mapping[str, str]:
    """Write main as a .tflite file, which `ethosgen verify` and the other commands take.

    Inputs have the names of main's parameters, outputs are named output_0, output_1 and so on.
    Returns the results that stay float although they are quantized, each with the reason.
    `params` are values of main's parameters by name. UnsupportedError names an operator that
    ethosgen does not have; InputError if the file cannot be written.
    """
    module = prepared(module, params)
    main, path = module["main"], Path(path)
    inputs = [parameter.name for parameter in main.params]
    outputs = [f"output_{number}" for number in range(len(types_of(main.ret_ty)))]
    graph, in_float = import_module(module, "main", inputs, outputs)
    content = source_of(Network(path.stem, (graph,))).data
    try:
        path.write_bytes(content)
    except OSError as error:
        raise cannot_write(path, error) from None
    return in_float
