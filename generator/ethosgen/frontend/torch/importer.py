"""Turns an exported program into a graph; runs in the environment "torch", as a file.

The archive was checked and rewritten before, so nothing in it is pickled. Composite operators
such as linear stay whole, since the quantizer saw them so; only those that TVM does not know are
decomposed.
"""

import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantization
from tvm.relax.frontend.torch import from_exported_program

from ethosgen.frontend.relax import import_module
from ethosgen.frontend.torch.archive import PROGRAM
from ethosgen.frontend.torch.converters import Convert, Converters, known_names
from ethosgen.frontend.transfer import pack
from ethosgen.values.errors import UnsupportedError

_ROUNDS = 4
"""Decompositions may introduce operators that TVM does not know either."""


def convert(
    request: dict[str, Any], _arrays: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Import the program in the file "program.pt2".

    `request` has the `name` of the network, the `shapes` of inputs if any are open, the names of
    the `outputs`, and whether inputs are to be `channels_last`. The answer is the packed graph, and
    the reasons for results that stay float.
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


def is_program(program: Any) -> bool:
    """Return whether an object is an exported program."""
    return isinstance(program, torch.export.ExportedProgram)


def to_relax(program: Any) -> Any:
    """Return the module of Relax for a program, its parameters bound as constants."""
    program = known_operators(program.run_decompositions({}))
    return with_converters(program, Converters(held_tensors(program)).by_name())


def with_converters(program: Any, converters: Mapping[str, Convert]) -> Any:
    """Return the module of Relax for a program all of whose operators have a converter."""
    return from_exported_program(
        program, custom_convert_map=dict(converters), run_ep_decomposition=False
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
        message = str(error).strip().splitlines()[0]
        raise UnsupportedError(f"it does not run with the shapes given: {message}") from None


def known_operators(program: Any) -> Any:
    """Decompose the operators that TVM does not know; refuse those that remain."""
    table = torch.export.default_decompositions()
    for _ in range(_ROUNDS):
        unknown = _unknown(program)
        if not unknown:
            return program
        parts = {name: table[name] for name in unknown if name in table}
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
    known = known_names()
    return {
        node.target: node.name
        for node in program.graph.nodes
        if node.op == "call_function" and node.target.__name__ not in known
    }
