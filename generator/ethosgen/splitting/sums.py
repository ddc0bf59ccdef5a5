"""Cuts layers along their input channels: partial sums in int32, added and requantised once.

Addition in int32 is exact in any order, also where it wraps around, so the outputs keep every bit.
No operator of TFLite's has such sums as its output. The graph then has operators of its own, for
tasks and for the estimates of memory and bytes.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ethosgen.splitting.boxes import spread
from ethosgen.splitting.reading import PARTIAL, TOTAL
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor

_DTYPE = "int32"
_REQUANTISE = 8
"""Cycles for each output, besides one for each sum."""


def most_depth(graph: Graph, operator: Operator) -> int:
    """Return the input channels along which an operator can be cut, 1 if it cannot."""
    if operator.code not in ("CONV_2D", "FULLY_CONNECTED") or len(operator.inputs) < 2:
        return 1
    source, weights = (graph.tensors[i] for i in operator.inputs[:2])
    target = graph.tensors[operator.outputs[0]]
    if source.dtype != "int8" or target.dtype != "int8" or weights.dtype != "int8":
        return 1
    if weights.data is None or weights.is_packed or source.data is not None:
        return 1
    is_plain = source.shape[-1] == weights.shape[-1] and len(source.shape) == len(target.shape)
    return source.shape[-1] if is_plain else 1


def with_sums(graph: Graph, depths: Mapping[int, int]) -> tuple[Graph, dict[int, range]]:
    """Return a graph in which some operators are cut along their input channels.

    `depths` has the number of parts by operator. Also return the operators that each became.
    """
    tensors, operators = list(graph.tensors), list[Operator]()
    became = {}
    for operator in graph.operators:
        start = len(operators)
        if depths.get(operator.index, 1) > 1:
            operators += _summed(tensors, operator, depths[operator.index])
        else:
            operators.append(operator)
        became[operator.index] = range(start, len(operators))
    numbered = tuple(replace(op, index=number) for number, op in enumerate(operators))
    return replace(graph, tensors=tuple(tensors), operators=numbered), became


def total_cycles(graph: Graph, operator: Operator) -> int:
    """Return an estimate of the cycles in which an element adds all sums of a layer."""
    sums = len(operator.inputs)
    return graph.tensors[operator.outputs[0]].elements * (sums + _REQUANTISE)


def _summed(tensors: list[Tensor], operator: Operator, count: int) -> list[Operator]:
    source, weights = operator.inputs[:2]
    bias = operator.inputs[2] if len(operator.inputs) > 2 else ABSENT
    target = tensors[operator.outputs[0]]
    partials, sums = [], []
    for number, depth in enumerate(spread(tensors[source].shape[-1], count)):
        name = f"{target.name}_sum{number}"
        sums.append(len(tensors))
        tensors.append(Tensor(len(tensors), name, target.shape, _DTYPE))
        some = len(tensors)
        tensors.append(_some_weights(tensors[weights], some, *depth))
        options = {**operator.options, "depth": depth}
        partials.append(
            replace(
                operator,
                code="CUSTOM",
                custom_code=PARTIAL,
                inputs=(source, some),
                outputs=(sums[-1],),
                options=options,
            )
        )
    inputs = (*sums, bias) if bias != ABSENT else tuple(sums)
    total = replace(operator, code="CUSTOM", custom_code=TOTAL, inputs=inputs)
    return [*partials, total]


def _some_weights(weights: Tensor, index: int, start: int, end: int) -> Tensor:
    values = np.ascontiguousarray(weights.array()[..., start:end])
    return replace(
        weights,
        index=index,
        name=f"{weights.name}_{start}",
        shape=values.shape,
        data=values.tobytes(),
    )
