"""Which region of its inputs an operator needs for a region of its output, operator by operator.

A rule returns None where a part of that kind would not compute the same values, or where TFLite has
no operator that computes exactly this region.
"""

from collections.abc import Callable, Mapping

from ethosgen.splitting.boxes import Box, whole
from ethosgen.splitting.layers import convolution, dense, depthwise, partial, pool
from ethosgen.splitting.moves import concatenation, pad, reshape, slice_, transpose
from ethosgen.splitting.pointwise import along_axis, elementwise, matrices, reduction
from ethosgen.splitting.reading import PARTIAL, TOTAL, PartReading
from ethosgen.values.network import ABSENT, Graph, Operator

Rule = Callable[[Graph, Operator, Box], PartReading | None]

_ELEMENTWISE = """ABS ADD CAST CEIL COS DEQUANTIZE DIV ELU EQUAL EXP FLOOR FLOOR_DIV FLOOR_MOD GELU
    GREATER GREATER_EQUAL HARD_SWISH LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT
    LOGICAL_OR LOGISTIC MAXIMUM MINIMUM MUL NEG NOT_EQUAL POW PRELU QUANTIZE RELU RELU6
    RELU_N1_TO_1 ROUND RSQRT SIN SQRT SQUARE SQUARED_DIFFERENCE SUB TANH""".split()
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, elementwise),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), reduction),
    **dict.fromkeys(("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"), along_axis),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), pool),
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), reshape),
    **dict.fromkeys(("PAD", "PADV2"), pad),
    "BATCH_MATMUL": matrices,
    "CONCATENATION": concatenation,
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": dense,
    "SLICE": slice_,
    "TRANSPOSE": transpose,
    PARTIAL: partial,
    TOTAL: elementwise,
}


def reading_of(graph: Graph, operator: Operator, box: Box) -> PartReading | None:
    """Return the regions that a part reads for a box of its output, None if no part can compute it.

    Any operator can compute the whole of its outputs from the whole of its inputs.
    """
    target = graph.tensors[operator.outputs[0]]
    rule = _RULES.get(operator.custom_code or operator.code)
    if rule is not None and len(operator.outputs) == 1 and not target.is_packed:
        reading = rule(graph, operator, box)
        if reading is not None:
            return reading
    if box != whole(target.shape):
        return None
    return PartReading(
        tuple(None if i == ABSENT else whole(graph.tensors[i].shape) for i in operator.inputs)
    )
