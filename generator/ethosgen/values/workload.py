"""Estimate a network's work, so that slow ones get more time and fewer samples."""

import math

from ethosgen.values.network import ABSENT, STATEFUL, Graph, Network, Operator

SAMPLES = 10
"""Default number of samples: two of each distribution."""

MOST_WORK = 4_000_000_000
"""Default limit on the multiplications of all samples together.

TFLite Micro takes 0.7 to 1.7 ns for a multiplication of CONV_2D, 2.7 ns of DEPTHWISE_CONV_2D.
"""

_WEIGHTS = {"CONV_2D": 0, "FULLY_CONNECTED": 0, "DEPTHWISE_CONV_2D": 3, "CONV_3D": 4}
"""The axis of an operator's weights that counts output channels."""
_RECURRENT = {"SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"}
"""Operators that use all their weights in every step."""


def multiplications(network: Network) -> int:
    """Return the approximate number of values that an inference multiplies or moves.

    Each subgraph counts once.
    """
    return sum(_of_operator(graph, op) for graph in network.graphs for op in graph.operators)


def macs(graph: Graph, operator: Operator) -> int:
    """Return the products that an operator adds up, without padding; 0 if it adds up none."""
    if operator.code in {*_WEIGHTS, *_RECURRENT, "TRANSPOSE_CONV", "BATCH_MATMUL"}:
        return _of_operator(graph, operator)
    return 0


def default_samples(network: Network, most: int = SAMPLES, work: int | None = None) -> int:
    """Return the number of samples to draw: `most`, or fewer for a large network.

    Together they multiply up to `work`, by default MOST_WORK.
    """
    allowed = MOST_WORK if work is None else work
    return max(1, min(most, allowed // max(multiplications(network), 1)))


def has_state(network: Network) -> bool:
    """Return whether an inference may depend on earlier ones."""
    return any(tensor.is_variable for graph in network.graphs for tensor in graph.tensors) or any(
        op.code in STATEFUL or op.code == "CUSTOM"
        for graph in network.graphs
        for op in graph.operators
    )


def period(network: Network) -> int:
    """Return the number of inferences per output, above 1 if a CIRCULAR_BUFFER ends the others."""
    cycles = (
        int(op.options.get("cycles_max", 1))
        for graph in network.graphs
        for op in graph.operators
        if op.custom_code == "CIRCULAR_BUFFER"
    )
    return math.prod(max(1, count) for count in cycles)


def _of_operator(graph: Graph, operator: Operator) -> int:
    tensors = [graph.tensors[i] for i in operator.inputs if i != ABSENT]
    outputs = sum(graph.tensors[i].elements for i in operator.outputs)
    axis = _WEIGHTS.get(operator.code)
    if axis is not None and len(tensors) > 1 and len(tensors[1].shape) > axis:
        return outputs * max(1, tensors[1].elements // max(tensors[1].shape[axis], 1))
    if operator.code == "TRANSPOSE_CONV" and len(tensors) > 2:
        return tensors[2].elements * max(1, tensors[1].elements // max(tensors[1].shape[-1], 1))
    if operator.code in _RECURRENT:
        steps = outputs // max(graph.tensors[operator.outputs[0]].shape[-1], 1)
        return steps * sum(tensor.elements for tensor in tensors if tensor.data is not None)
    if operator.code == "BATCH_MATMUL" and tensors and tensors[0].shape:
        return outputs * tensors[0].shape[-1]
    window = 1
    for side in ("filter_height", "filter_width"):
        window *= int(operator.options.get(side, 1))
    return max([outputs * window, *(tensor.elements for tensor in tensors)])
