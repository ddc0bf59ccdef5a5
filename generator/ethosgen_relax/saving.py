"""Relax modules as files for ethosgen's commands, and as firmware.

TVM 0.27's own tvm.ir.save_json ends the process for each module that has a tensor, and its other
form, TVMScript, is Python, which ethosgen does not execute. So a module becomes a .tflite file.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tvm

from ethosgen.api import create_project
from ethosgen.flow import Written
from ethosgen.frontend import source_of
from ethosgen.frontend.relax import import_module
from ethosgen.values.errors import cannot_write
from ethosgen.values.network import Network
from ethosgen_relax.island import types_of
from ethosgen_relax.partition import WHOLE, executors_of
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
    module = prepared(_whole(module), params)
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


def to_project(
    module: tvm.IRModule,
    *,
    directory: str | os.PathLike[str],
    board: str | None = None,
    name: str = "network",
    params: Mapping[str, Any] | None = None,
    **firmware: Any,
) -> Written:
    """Generate firmware for a module, as `ethosgen.create_project` does for a file.

    A partitioned module becomes whole again, for its NPU and accelerators, which then decide about
    the whole network; changes after the partitioning are lost. `name` is the prefix of the C
    functions, `firmware` has other options of create_project. InputError for a directory with other
    contents, UnsupportedError for an operator that ethosgen does not have.
    """
    used = executors_of(module)
    if used:
        npu, others = used
        firmware.setdefault("npu", npu or "none")
        if others:
            firmware.setdefault("accelerators", others)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.tflite"
        save_tflite(module, path, params=params)
        return create_project(path, directory=directory, board=board, **firmware)


def _whole(module: tvm.IRModule) -> tvm.IRModule:
    """Return a partitioned module in its original form."""
    before = (module.attrs or {}).get(WHOLE)
    return module if before is None else before
