"""LiteRT's reference kernels (BUILTIN_REF)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ethosgen.host.child import ChildError
from ethosgen.oracle.interpreters import (
    Array,
    LateError,
    file_of,
    named_outputs,
    ordered_inputs,
    run_in_children,
)
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.outcome import Arrays

NAME = "litert"

_COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
_SUB_SHIFT = {"int8": 20, "uint8": 20, "int16": 15}
"""Left shift of SUB's inputs before rescaling."""


def litert_outputs(
    network: Network, samples: Sequence[Arrays], within_s: float | None = None, steps: int = 0
) -> list[Arrays]:
    """Run samples through LiteRT's reference kernels; return the outputs by tensor name.

    A new interpreter, whose state is initial, runs each `steps` samples; with 0, one runs all.

    Raises InputError for inputs that do not fit the network, UnsupportedError if LiteRT cannot run
    it, LateError if it takes longer than `within_s`.
    """
    inputs, data = ordered_inputs(network, samples), for_litert(network)
    script = Path(__file__)
    try:
        runs = run_in_children(
            network, script, "run_litert", data, inputs, steps, within_s=within_s
        )
    except ChildError as error:
        if within_s is not None and error.how == "late":
            raise LateError(f"it took longer than {within_s:g} s") from None
        words = " ".join(str(error).split())
        raise UnsupportedError(f"LiteRT cannot run '{network.name}': {words}") from None
    return named_outputs(network, runs)


def for_litert(network: Network) -> bytes:
    """Return the file as LiteRT's reference kernels accept it.

    They support TILE up to version 2. Version 3 only adds int8, which they copy like any other
    type. UnsupportedError for an operator whose result they leave undefined.
    """
    for graph in network.graphs:
        for op in graph.operators:
            if _shifts_by_negative(op, graph):
                raise UnsupportedError(
                    f"LiteRT leaves the result of {op.code} in '{network.name}' undefined: its "
                    "scales make a factor of 1 or more, and it shifts by a negative number"
                )
    if any(_is_new_tile(op) for graph in network.graphs for op in graph.operators):
        network = network.edited(*map(_with_old_tiles, network.graphs))
    return file_of(network)


def _with_old_tiles(graph: Graph) -> Graph:
    operators = (replace(o, version=2) if _is_new_tile(o) else o for o in graph.operators)
    return replace(graph, operators=tuple(operators))


def _is_new_tile(operator: Operator) -> bool:
    return operator.code == "TILE" and operator.version == 3


def _shifts_by_negative(operator: Operator, graph: Graph) -> bool:
    """Return whether LiteRT uses a multiplier for factors below 1 (comparisons.cc, sub.cc)."""
    if operator.code not in (*_COMPARISONS, "SUB"):
        return False
    tensors = [graph.tensors[i] for i in (*operator.inputs, *operator.outputs)]
    first, second, target = (t.scales for t in tensors)
    dtype = tensors[0].dtype
    if operator.code == "SUB":
        if dtype not in _SUB_SHIFT or not (first and second and target):
            return False
        return 2 * max(first[0], second[0]) >= target[0] * (1 << _SUB_SHIFT[dtype])
    is_scaled = dtype in ("int8", "uint8") or (
        dtype == "int16" and operator.code in ("EQUAL", "NOT_EQUAL")
    )
    return is_scaled and any(scale >= 1 for scale in (*first[:1], *second[:1]))


# ---- code that runs in the child -----------------------------------------------------------------


def run_litert(data: bytes, samples: list[list[Array]], steps: int = 0) -> list[list[Array]]:
    """Return the outputs of each sample in the signature's order."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter, outputs = None, []
    for number, sample in enumerate(samples):
        if interpreter is None or (steps and number % steps == 0):
            interpreter = Interpreter(
                model_content=data,
                experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
                num_threads=1,
            )
            interpreter.allocate_tensors()
            input_indices = [detail["index"] for detail in interpreter.get_input_details()]
            output_indices = [detail["index"] for detail in interpreter.get_output_details()]
        for index, array in zip(input_indices, sample, strict=True):
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        outputs.append([np.array(interpreter.get_tensor(index)) for index in output_indices])
    return outputs
