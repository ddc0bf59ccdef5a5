"""Known oddities of TensorFlow Lite Micro's own results, where the oracle matters.

Each is a cause in evidence/exactness.md, where LiteRT, and usually the NPU too, differs.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.oracle import litert
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Network, Operator, Tensor

Array = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_QUOTIENT = "computes the quotient of scales in double, LiteRT in float"
_FIXED = "computes it in fixed point, LiteRT with a table made in float"
ODD = {
    ("RELU6", "int8"): "clamps without rescaling to the output's scale",
    ("RELU6", "int16"): "clamps without rescaling to the output's scale",
    ("RSQRT", "int16"): "computes each value, LiteRT interpolates in a coarse table",
    ("SOFTMAX", "int16"): "makes its tables in float, LiteRT in double",
    ("LOGISTIC", "int8"): _FIXED,
    ("TANH", "int8"): _FIXED,
    ("SQUARED_DIFFERENCE", "int8"): "shifts the square in 32 bits, which may overflow",
    ("MUL", "int16"): _QUOTIENT,
    ("RELU", "int16"): _QUOTIENT,
}
"""TensorFlow Lite Micro's behaviour, by operator and type of its first input."""
_MICRO_ONLY = frozenset({"ELU"})
"""Operators that LiteRT's reference kernels lack."""
MOST_DIMENSIONS = 5
"""The dimensions of TensorFlow Lite Micro's RuntimeShape (kernels/internal/runtime_shape.h)."""
_BY_BYTES = frozenset({"EXPAND_DIMS", "RESHAPE", "SQUEEZE"})
"""Operators that copy bytes, whatever the shape."""


def chance_of(operator: Operator, tensors: Sequence[Tensor]) -> str:
    """Return why TensorFlow Lite Micro answers an operator by chance, "" if it does not.

    SPACE_TO_BATCH_ND's padding value and int16 GREATER's multipliers are never set. A shape of more
    dimensions than it has room for overwrites what lies behind: only debug builds check.
    """
    code, dtype = operator.code, tensors[operator.inputs[0]].dtype if operator.inputs else ""
    if code == "SPACE_TO_BATCH_ND" or (code, dtype) == ("GREATER", "int16"):
        return f"{code} of {dtype} with values that it never sets"
    ends = (tensors[i] for i in (*operator.inputs, *operator.outputs) if i != ABSENT)
    most = max((len(tensor.shape) for tensor in ends), default=0)
    if most > MOST_DIMENSIONS and code not in _BY_BYTES:
        return f"{code} of {counted(most, 'dimension')} in room for {MOST_DIMENSIONS}"
    return ""


def with_room(piece: Network) -> Network | None:
    """Return an operator that TFLite Micro must decide on, in a shape of fewer dimensions.

    None if LiteRT can decide. The results depend on no dimension but SOFTMAX's last.
    """
    (operator,) = piece.graph.operators
    ends = [piece.graph.tensors[i] for i in (*operator.inputs, *operator.outputs)]
    is_micros = (operator.code, ends[0].dtype) in ODD or operator.code in _MICRO_ONLY
    if not is_micros or len({tensor.shape for tensor in ends}) != 1:
        return None
    last = ends[0].shape[-1:] if operator.code == "SOFTMAX" else ()
    tensors = tuple(
        replace(tensor, shape=(tensor.elements // math.prod(last), *last))
        for tensor in piece.graph.tensors
    )
    graph = replace(piece.graph, tensors=tensors)
    return replace(piece, graphs=(graph, *piece.graphs[1:]), source=None)


def operator_by_chance(network: Network) -> str:
    """Return why TensorFlow Lite Micro's answer is left to chance, "" if it is not."""
    reasons = (chance_of(op, graph.tensors) for graph in network.graphs for op in graph.operators)
    return next(filter(None, reasons), "")


_AWAITING = ("SignalFramer", "SignalStacker")


def may_be_undefined(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether an operator's result is undefined in C++ for some inputs.

    Both oracles' QUANTIZE, TFLite Micro's CAST and LiteRT's POW of integers convert floats to
    integers with a plain static_cast (reference/quantize.h, micro/kernels/cast.cc, kernels/pow.cc):
    the result for a float that does not fit depends on the processor and the compiler. SignalFramer
    and SignalStacker do not write their result while their second output is false (framer.cc,
    stacker.cc).
    """
    if operator.custom_code in _AWAITING:
        return True
    if operator.code not in ("QUANTIZE", "CAST", "POW"):
        return False
    source, target = (np.dtype(tensors[i].dtype) for i in (operator.inputs[0], operator.outputs[0]))
    return target.kind in "iu" and (source.kind == "f" or operator.code == "POW")


def when_undefined(operator: Operator) -> str:
    """Return, for a sentence, when the result of an operator is undefined."""
    return (
        "before it has enough data"
        if operator.custom_code in _AWAITING
        else "for a float that does not fit"
    )


def undefined_elements(
    operator: Operator, tensors: Sequence[Tensor], oracle: str, values: Mapping[int, Array]
) -> Mask:
    """Return a mask of the results that are undefined in C++; `oracle` ran the operator.

    `values` has the tensors that are not constants, by index. LiteRT's CAST saturates, so its
    result is always defined.
    """
    target = tensors[operator.outputs[0]]
    none = np.zeros(target.shape, bool)
    if not may_be_undefined(operator, tensors):
        return none
    if operator.custom_code in _AWAITING:
        return ~none & (not values[operator.outputs[1]].item())
    operands = [
        values[i] if tensors[i].data is None else tensors[i].array() for i in operator.inputs
    ]
    with np.errstate(all="ignore"):
        if operator.code == "POW":
            power = np.power(operands[0].astype(np.float64), operands[1].astype(np.float64))
            return ~_fits(power, np.iinfo(target.dtype))
        value = operands[0]
        if operator.code == "CAST":
            fits = _fits(np.trunc(value), np.iinfo(target.dtype))
            return none if oracle == litert.NAME else ~fits
        if target.quantization is None or len(target.quantization.scale) != 1:
            return none
        (scale,), (point,) = target.quantization.scale, target.quantization.zero_point
        steps = np.rint(np.float32(value) / np.float32(scale)).astype(np.float64)
    return ~(_fits(steps, np.iinfo(np.int32)) & _fits(steps + point, np.iinfo(np.int32)))


def _fits(whole: Array, info: Any) -> Mask:
    """Return a mask of the floats within an integer type's range; NaN is outside."""
    return np.asarray((whole >= float(info.min)) & (whole < float(info.max) + 1))


def oddities(network: Network) -> tuple[str, ...]:
    """Return a sentence for each kind of operator in a network that has an oddity."""
    return tuple(dict.fromkeys(_all(network)))


def _all(network: Network) -> Iterator[str]:
    for graph in network.graphs:
        for op in graph.operators:
            dtype = graph.tensors[op.inputs[0]].dtype if op.inputs else ""
            if (op.code, dtype) in ODD:
                yield f"{op.code} of {dtype}: TensorFlow Lite Micro {ODD[op.code, dtype]}"
