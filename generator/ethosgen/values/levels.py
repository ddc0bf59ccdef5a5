"""Levels of TOSA: the profile and the extensions that each operator needs (TOSA 1.0).

PRO-INT, the base inference of older versions, is for quantized integers, and PRO-FP, the main
inference, for floats. Operators that belong to both carry no data of either kind: integers of 32
bits for sizes and indices, and booleans.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.values.errors import InputError
from ethosgen.values.network import ABSENT, Graph, Network, Operator
from ethosgen.values.tosa import PREFIX

LEVELS = "ethosgen_tosa"
"""The key of levels in a network's metadata, and in a delegate's compile specs."""
INTEGER, FLOAT, EITHER = "PRO-INT", "PRO-FP", "PRO-INT or PRO-FP"

_EITHER = frozenset(
    """
    ADD SUB MUL INTDIV LOGICAL_AND LOGICAL_LEFT_SHIFT LOGICAL_RIGHT_SHIFT LOGICAL_OR LOGICAL_XOR
    LOGICAL_NOT REDUCE_ALL REDUCE_ANY IDENTITY
    """.split()
)
"""Operators whose integers of 32 bits, or booleans, belong to both profiles."""
_MOVES = frozenset("CONCAT PAD RESHAPE REVERSE SLICE TILE TRANSPOSE SELECT".split())
"""Operators whose booleans do."""
_ANY_SIZE = frozenset({"LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT", "IDENTITY"})
"""Operators of both profiles with integers of all sizes."""
_INT16 = frozenset(
    """
    ARGMAX AVG_POOL2D CONV2D CONV3D DEPTHWISE_CONV2D MATMUL MAX_POOL2D TRANSPOSE_CONV2D CLAMP TABLE
    CONCAT RESIZE
    """.split()
)
"""Operators whose int16 is an extension; for others it is in the profile."""
_FFT = frozenset({"FFT2D", "RFFT2D"})
_ROUNDINGS = {"DOUBLE_ROUND": "EXT-DOUBLEROUND", "INEXACT_ROUND": "EXT-INEXACTROUND"}
_CONTROL = frozenset({"IF", "WHILE"})
_VARIABLES = frozenset({"READ_VARIABLE", "ASSIGN_VARIABLE"})


@dataclass(frozen=True)
class Level:
    """An operator of TOSA, the tensor that it makes, and the level that it needs."""

    code: str
    output: str
    level: str


def levels_of(network: Network) -> list[Level]:
    """Return the levels of a network's operators in order, none if they are not TOSA's."""
    graph = network.graph
    if not network.is_tosa:
        return []
    return [
        Level(op.code.removeprefix(PREFIX), _output(graph, op), level)
        for op in graph.operators
        if (level := level_of(graph, op))
    ]


def level_of(graph: Graph, operator: Operator) -> str:
    """Return the level of an operator of a TOSA network, such as "PRO-INT + EXT-INT16".

    "" for an operator that stands for none of TOSA's.
    """
    if operator.code in _CONTROL:
        return f"{EITHER} + EXT-CONTROLFLOW"
    if operator.code in _VARIABLES:
        value = (*operator.inputs, *operator.outputs)[-1]
        profile = FLOAT if graph.tensors[value].dtype == "float32" else INTEGER
        return f"{profile} + EXT-VARIABLE"
    if not operator.code.startswith(PREFIX):
        return ""
    name = operator.code.removeprefix(PREFIX)
    tensors = [graph.tensors[i] for i in (*operator.inputs, *operator.outputs) if i != ABSENT]
    extensions = [_ROUNDINGS.get(operator.options.get("rounding_mode", ""), "")]
    dtypes = {tensor.dtype for tensor in tensors}
    if name in _FFT:
        extensions.append("EXT-FFT")
    if any(tensor.is_packed for tensor in tensors):
        extensions.append("EXT-INT4")
    if _is_wide(graph, operator, name):
        extensions.append("EXT-INT16")
    profile = FLOAT if "float32" in dtypes else _profile(graph, operator, name)
    return " + ".join([profile, *filter(None, extensions)])


def _is_wide(graph: Graph, operator: Operator, name: str) -> bool:
    """Return whether an operator's data are int16, or int48, in a way that is an extension."""
    data = {graph.tensors[i].dtype for i in _data(operator)}
    return "int64" in data or (name in _INT16 and "int16" in data)


def _profile(graph: Graph, operator: Operator, name: str) -> str:
    """Return the profile of an operator without floats."""
    dtypes = {graph.tensors[i].dtype for i in _data(operator)}
    if "int64" in dtypes:
        return INTEGER
    if name in _ANY_SIZE:
        return EITHER
    if name in _EITHER and dtypes <= {"int32", "bool"}:
        return EITHER
    return EITHER if name in _MOVES and dtypes <= {"bool"} else INTEGER


def _data(operator: Operator) -> list[int]:
    """Return an operator's first input and its outputs."""
    return [*(i for i in operator.inputs[:1] if i != ABSENT), *operator.outputs]


def _output(graph: Graph, operator: Operator) -> str:
    return graph.tensors[operator.outputs[0]].name if operator.outputs else ""


def levels_text(levels: Sequence[Level]) -> str:
    """Return levels as JSON."""
    return json.dumps([[each.code, each.output, each.level] for each in levels])


def levels_of_text(text: str) -> list[Level]:
    """Read what `levels_text` wrote; InputError for anything else."""
    try:
        rows: Any = json.loads(text)
        levels = [Level(*row) for row in rows]
    except (ValueError, TypeError):
        levels = [Level("", "", "")]
    if not all(isinstance(word, str) and word for each in levels for word in vars(each).values()):
        raise InputError("the levels of TOSA in a delegate are damaged; lower the program again")
    return levels


def levels_metadata(stated: Mapping[int, str]) -> bytes:
    """Return the metadata for compiled operators: by index, what `levels_text` wrote."""
    return json.dumps({str(index): text for index, text in stated.items()}).encode()


def levels_in(network: Network, operator: Operator) -> list[Level]:
    """Return the levels of an operator: its own, or those of what it was compiled from."""
    own = level_of(network.graph, operator) if network.is_tosa else ""
    if own:
        code = operator.code.removeprefix(PREFIX)
        return [Level(code, _output(network.graph, operator), own)]
    stated = json.loads(network.metadata.get(LEVELS, b"{}")).get(str(operator.index))
    return levels_of_text(stated) if stated else []


def described(levels: Sequence[Level]) -> str:
    """Return levels for readers, with the number of each operator if there are several."""
    counts: dict[str, dict[str, int]] = {}
    for each in levels:
        of = counts.setdefault(each.level, {})
        of[each.code] = of.get(each.code, 0) + 1
    if len(levels) == 1:
        return levels[0].level
    return "; ".join(
        f"{level}: {', '.join(f'{n} x {code}' if n > 1 else code for code, n in of.items())}"
        for level, of in counts.items()
    )
