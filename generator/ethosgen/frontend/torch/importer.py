"""Turns an exported program into a graph; runs in the environment "torch", as a file.

The archive was checked and written anew before, so nothing in it is pickled. Composite operators
such as linear stay whole, since they are what the quantizer saw; only those that TVM does not know
are decomposed.
"""

import logging
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantization
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program
from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

from ethosgen.frontend.relax import import_module
from ethosgen.frontend.torch.archive import PROGRAM
from ethosgen.frontend.torch.transfer import pack
from ethosgen.values.errors import UnsupportedError

_DTYPES = {torch.int8: "int8", torch.uint8: "uint8", torch.int16: "int16", torch.int32: "int32"}
_RANGES = {name: (torch.iinfo(one).min, torch.iinfo(one).max) for one, name in _DTYPES.items()}
_ROUNDS = 4
"""Decompositions may introduce operators that TVM does not know either."""


def convert(
    request: dict[str, Any], _arrays: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Import the program in the file "program.pt2".

    `request` has the `name` of the network, the `shapes` of inputs if any are open, the names of
    the `outputs`, and whether inputs are to be `channels_last`. The answer is the graph, packed,
    and the reasons for what stays float.
    """
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    program = torch.export.load(folder / PROGRAM)
    if request["shapes"]:
        program = specialized(program, request["shapes"])
    module = to_relax(program)
    names = list(program.graph_signature.user_inputs)
    is_last = bool(request["channels_last"])
    graph, in_float = import_module(
        module, request["name"], names, request["outputs"], channels_last=is_last
    )
    values, arrays = pack(graph)
    return {"graph": values, "in_float": dict(in_float)}, arrays


def to_relax(program: Any) -> Any:
    """Return the module of Relax for a program, its parameters bound as constants."""
    program = known_operators(program.run_decompositions({}))
    return from_exported_program(
        program,
        custom_convert_map=dict(converters(held_tensors(program))),
        run_ep_decomposition=False,
    )


def held_tensors(program: Any) -> dict[str, Any]:
    """Return the parameters, buffers and constants of a program by the names of their nodes."""
    held = {**program.state_dict, **program.constants}
    return {
        spec.arg.name: held[spec.target]
        for spec in program.graph_signature.input_specs
        if spec.target in held
    }


def specialized(program: Any, shapes: dict[str, list[int]]) -> Any:
    """Export a program again, for inputs of fixed shapes."""
    examples = []
    for node in program.graph.find_nodes(op="placeholder"):
        if node.name in program.graph_signature.user_inputs:
            value = node.meta["val"]
            examples.append(torch.zeros(shapes[node.name], dtype=value.dtype))
    try:
        module = program.module(check_guards=False)
        arguments, keywords = torch.utils._pytree.tree_unflatten(
            examples, program.call_spec.in_spec
        )
        return torch.export.export(module, arguments, keywords)
    except Exception as error:
        said = str(error).strip().splitlines()[0]
        raise UnsupportedError(f"it does not run with the shapes given: {said}") from None


def known_operators(program: Any) -> Any:
    """Decompose the operators that TVM does not know; refuse what is left of them."""
    table = torch.export.default_decompositions()
    for _ in range(_ROUNDS):
        unknown = _unknown(program)
        if not unknown:
            return program
        parts = {one: table[one] for one in unknown if one in table}
        if not parts:
            break
        program = program.run_decompositions(parts)
    unknown = _unknown(program)
    if unknown:
        target, node = next(iter(unknown.items()))
        raise UnsupportedError(
            f"its node '{node}' is {target}, an operator that cannot be imported"
        )
    return program


def _unknown(program: Any) -> dict[Any, str]:
    known = set(ExportedProgramImporter().convert_map) | set(converters({}))
    return {
        node.target: node.name
        for node in program.graph.nodes
        if node.op == "call_function" and node.target.__name__ not in known
    }


def converters(held: dict[str, Any]) -> dict[str, Any]:
    """Return TVM's converters of the operators that it lacks, by name.

    `held` has the constants of the program: scales and zero points must be among them.
    """
    base = ExportedProgramImporter().convert_map
    copies = {name.replace(".", "_copy.", 1): name for name in base if "." in name}
    made: dict[str, Any] = {
        copy: partial(_as_original, name) for copy, name in copies.items() if copy not in base
    }
    for what, convert_one in (("quantize", _quantize), ("dequantize", _dequantize)):
        for variant in ("per_tensor.default", "per_tensor.tensor", "per_channel.default"):
            made[f"{what}_{variant}"] = partial(convert_one, held)
    return made


def _as_original(name: str, node: Any, importer: Any) -> Any:
    """Convert the variant of an operator whose result is a copy."""
    return importer.convert_map[name](node)


def _quantize(held: dict[str, Any], node: Any, importer: Any) -> Any:
    scale, zero_point, axis, dtype = _quantization(held, node, is_checked=True)
    data = importer.env[node.args[0]]
    return importer.block_builder.emit(relax.op.quantize(data, scale, zero_point, axis, dtype))


def _dequantize(held: dict[str, Any], node: Any, importer: Any) -> Any:
    scale, zero_point, axis, _ = _quantization(held, node, is_checked=False)
    data = importer.env[node.args[0]]
    made = relax.op.dequantize(data, scale, zero_point, axis, "float32")
    return importer.block_builder.emit(made)


def _quantization(held: dict[str, Any], node: Any, is_checked: bool) -> tuple[Any, Any, int, str]:
    """Return a node's scale and zero point as constants, its axis and its type.

    If `is_checked`, refuse a range that is not all of the type's.
    """
    _, scale, zero_point, *rest = node.args
    axis = rest.pop(0) if "per_channel" in node.target.__name__ else -1
    low, high, dtype = rest[:3]
    name = _DTYPES.get(dtype)
    if name is None:
        raise UnsupportedError(f"its node '{node.name}' is quantized to {dtype}; use int8 or int16")
    if is_checked and (low, high) != _RANGES[name]:
        raise UnsupportedError(
            f"its node '{node.name}' quantizes to {low}..{high}, not to all of {name}; quantize "
            "activations over the type's whole range"
        )
    scales, zeros = (_array(held, node, one) for one in (scale, zero_point))
    return relax.const(scales.astype("float32")), relax.const(zeros.astype(name)), axis, name


def _array(held: dict[str, Any], node: Any, value: Any) -> Any:
    if isinstance(value, (int, float)):
        return np.array(value)
    if value.name not in held:
        raise UnsupportedError(
            f"its node '{node.name}' computes its scale when it runs (dynamic quantization); "
            "quantize activations statically"
        )
    return held[value.name].detach().numpy()
