"""What operators cost, in cycles, on the NPU and on the CPU: estimates, for choosing between them.

The NPU's are Vela's own, operator by operator (the table perf of Regor's database). The CPU's are
a table of cycles for each product, tap or element on a Cortex-M55 with Helium. Its figures for
weighted layers are what TFLite Micro with CMSIS-NN takes on mps3-an547 (kws 0.68, ad 0.55, vww 0.87
instructions a product, counted on QEMU); the others are counts of the loops' instructions. One
instruction counts as one cycle, both processors run at one clock, and memory never waits, which
favours the CPU: an operator that stays on the NPU by a little might be slower there.
"""

import math
from collections.abc import Mapping, Sequence

from ethosgen.model import Graph, Operator
from ethosgen.offload.vela import Row

INVOKE = 300
"""Cycles that one more command stream costs: 213 instructions of the driver, counted on QEMU, and
the rest for the NPU's reset, its first fetch and the interrupt, which is a guess."""
CALL = 40
"""Cycles of a CPU operator beside its loops."""

PRODUCT = {"CONV_2D": 0.8, "DEPTHWISE_CONV_2D": 1.5, "FULLY_CONNECTED": 0.8}
"""Cycles for each product; each output takes OUTPUT more."""
OUTPUT_OF_INT16 = 25.0
PRODUCT_OF_INT16 = {"CONV_2D": 0.4, "DEPTHWISE_CONV_2D": 2.0, "FULLY_CONNECTED": 0.4}
"""The same for int16: our own kernels, counted on QEMU."""
PLAIN_PRODUCT = 7.0
"""For reals, whose loops are plain C: two loads, a product, an addition and the loop's own."""
OUTPUT = 5.0
TAP = {"AVERAGE_POOL_2D": 1.5, "MAX_POOL_2D": 1.0}
"""Cycles for each element under the window; each output takes OUTPUT more."""
ELEMENT = {
    "ADD": 12.0, "SUB": 12.0, "MUL": 9.0, "MINIMUM": 2.0, "MAXIMUM": 2.0, "RELU": 4.0, "RELU6": 4.0,
    "LOGISTIC": 4.0, "TANH": 4.0, "HARD_SWISH": 4.0, "LEAKY_RELU": 4.0, "QUANTIZE": 6.0,
    "SOFTMAX": 8.0, "CONCATENATION": 0.5, "PAD": 1.0, "RESHAPE": 0.0, "SQUEEZE": 0.0,
    "EXPAND_DIMS": 0.0, "MEAN": 20.0,
}  # fmt: skip
"""Cycles for each element of the output."""
ROW = {"SOFTMAX": 200.0}
"""Cycles for each row of the output, besides."""


def cpu_cycles(operator: Operator, graph: Graph) -> int | None:
    """Return the estimate for the CPU; None for an operator that the table does not have."""
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
    elif code in TAP:
        options = operator.options
        each = TAP[code] * int(options["filter_height"]) * int(options["filter_width"]) + OUTPUT
    elif code in ELEMENT:
        each = ELEMENT[code] + ROW.get(code, 0.0) / (output.shape[-1] if output.shape else 1)
    else:
        return None
    return CALL + round(each * output.elements)


def npu_cycles(tables: Mapping[str, Sequence[Row]], count: int, whole: int) -> list[int]:
    """Return Vela's estimate for each of the original's operators, 0 where it has none.

    Vela's figures for operators do not know that one's weights arrive while another works; they
    are scaled so that together they are `whole`, its figure for all of them.
    """
    cycles = [0.0] * count
    for row in tables.get("perf", ()):
        source = int(row.get("source_id") or 0) - 1
        if 0 <= source < count:
            cycles[source] += float(row.get("op_cycles") or 0)
    scale = whole / sum(cycles) if any(cycles) else 1.0
    return [round(scale * cycle) for cycle in cycles]
