"""Estimates the cycles of operators on the NPU and on the CPU, to choose between them.

The NPU's are Vela's own, operator by operator (the table perf of Regor's database). The CPU's are
a table of instructions for each product, tap or element, counted on QEMU's mps3-an547 (a
Cortex-M55 with Helium) for our own kernels: one operator a network, 32 x 32 x 16 elements, 3 x 3
and 1 x 1 convolutions, 2 x 2 and 3 x 3 pools. The estimate assumes one cycle per instruction, the
same clock for both processors, and memory without wait states, which favours the CPU: an operator
that stays on the NPU by a small margin might be slower there.
"""

import math
from collections.abc import Mapping, Sequence

from ethosgen.backend.ethosu.offload.vela import Row
from ethosgen.values.model import ABSENT, Graph, Operator, Tensor

INVOKE = 300
"""Cycles of one more command stream: 213 instructions of the driver, counted on QEMU, and a guess
for the NPU's reset, its first fetch and the interrupt."""
CALL = 40
"""Cycles of a CPU operator outside its loops."""

PRODUCT = {"CONV_2D": 0.23, "DEPTHWISE_CONV_2D": 0.36, "FULLY_CONNECTED": 0.16}
"""Cycles for each product; each output takes OUTPUT more."""
OUTPUT_OF_INT16 = 25.0
PRODUCT_OF_INT16 = {"CONV_2D": 0.4, "DEPTHWISE_CONV_2D": 2.0, "FULLY_CONNECTED": 0.4}
"""The same for int16: our own kernels, counted on QEMU."""
PLAIN_PRODUCT = 7.0
"""For floats, whose loops are plain C: two loads, a product, an addition and loop overhead."""
OUTPUT = 8.0
SCATTERED = {"int8": 12.0, "int16": 12.0, "float32": 6.0}
"""Cycles for each product of TRANSPOSE_CONV, whose loops check all positions: 8.6 to 14.8 for a
depth of 16 or 8, and 5.0 to 7.5 for floats."""
MATMUL = {"int8": 5.0, "int16": 6.0, "float32": 6.0}
"""Cycles for each product of BATCH_MATMUL: 4.2 if the second factor is transposed, at most 7.4.
"""
MATMUL_OUTPUT = 27.0
TAP = {"AVERAGE_POOL_2D": (1.1, 8.0), "MAX_POOL_2D": (0.5, 3.0)}
"""Cycles for each element under the window, and for each output in addition."""
ELEMENT = {
    "ADD": 10.3, "SUB": 10.3, "MUL": 6.5, "MINIMUM": 7.0, "MAXIMUM": 7.0, "RELU": 0.25,
    "RELU6": 0.25, "LOGISTIC": 0.25, "TANH": 0.25, "HARD_SWISH": 0.25, "LEAKY_RELU": 0.25,
    "QUANTIZE": 0.25, "SOFTMAX": 8.0, "CONCATENATION": 1.2, "PAD": 1.0, "RESHAPE": 0.0,
    "SQUEEZE": 0.0, "EXPAND_DIMS": 0.0, "MEAN": 5.3,
}  # fmt: skip
"""Cycles for each element of the output (of the input for MEAN), if all is int8."""
PLAIN_ELEMENT = 24.0
"""The minimum for other types, for operators that compute: one rescaling, as for MUL in plain C."""
BROADCAST = {"ADD": 13.2, "SUB": 13.2, "MUL": 8.7}
"""For inputs of different shapes, with rows of 16."""
MOVES = frozenset({"CONCATENATION", "PAD", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
ROW = {"SOFTMAX": 200.0}
"""Additional cycles for each row of the output."""


def cpu_cycles(operator: Operator, graph: Graph) -> int | None:
    """Return the estimate for the CPU; None for an operator that is not in the table."""
    code, tensors = operator.code, graph.tensors
    output = tensors[operator.outputs[0]] if operator.outputs else None
    if output is None:
        return None
    if code in PRODUCT:
        shape = tensors[operator.inputs[1]].shape
        products = math.prod(shape[1:]) if code != "DEPTHWISE_CONV_2D" else math.prod(shape[1:3])
        product, result = {
            "int8": (PRODUCT[code], OUTPUT),
            "int16": (PRODUCT_OF_INT16[code], OUTPUT_OF_INT16),
        }.get(tensors[operator.inputs[0]].dtype, (PLAIN_PRODUCT, OUTPUT))
        each = product * products + result
    elif code == "TRANSPOSE_CONV":
        weights, source = (tensors[i] for i in operator.inputs[1:3])
        products = source.elements * math.prod(weights.shape[:3])
        each = SCATTERED.get(source.dtype, 12.0) * products / max(output.elements, 1) + OUTPUT
    elif code == "BATCH_MATMUL":
        source = tensors[operator.inputs[0]]
        depth = source.shape[-2 if operator.options.get("adj_x") else -1]
        each = MATMUL.get(source.dtype, 6.0) * depth + MATMUL_OUTPUT
    elif code in TAP:
        options, (tap, result) = operator.options, TAP[code]
        each = tap * int(options["filter_height"]) * int(options["filter_width"]) + result
    elif code in ELEMENT:
        each = _element_cycles(operator, graph, output)
    else:
        return None
    return CALL + round(each * output.elements)


def _element_cycles(operator: Operator, graph: Graph, output: Tensor) -> float:
    """Return the estimate for each element of the output."""
    code, inputs = operator.code, [graph.tensors[i] for i in operator.inputs if i != ABSENT]
    each = ELEMENT[code]
    if code in BROADCAST and inputs[0].shape != inputs[-1].shape:
        each = BROADCAST[code]
    if code not in MOVES and {inputs[0].dtype, output.dtype} != {"int8"}:
        each = max(each, PLAIN_ELEMENT)
    if code == "MEAN":
        each *= inputs[0].elements / max(output.elements, 1)
    return each + ROW.get(code, 0.0) / (output.shape[-1] if output.shape else 1)


def npu_cycles(tables: Mapping[str, Sequence[Row]], count: int, whole: int) -> list[int]:
    """Return Vela's estimate for each of the original's operators, 0 where it has none.

    Vela's figures for single operators ignore that weights arrive while another operator runs; they
    are scaled so that together they are `whole`, its figure for all of them.
    """
    cycles = [0.0] * count
    for row in tables.get("perf", ()):
        source = int(row.get("source_id") or 0) - 1
        if 0 <= source < count:
            cycles[source] += float(row.get("op_cycles") or 0)
    scale = whole / sum(cycles) if any(cycles) else 1.0
    return [round(scale * cycle) for cycle in cycles]
