"""Estimate an operator's cycles on the CPU, to choose between kernels, and between CPU and NPU.

The figures are instructions for each product, tap or element, counted on QEMU's mps3-an547 (a
Cortex-M55 with Helium): one operator a network, 32 x 32 x 16 elements (16 x 16 x 16 for the plain
kernels of operators that have micro-kernels), 3 x 3 and 1 x 1 convolutions, 2 x 2 and 3 x 3 pools.
The estimate assumes one cycle per instruction, the same clock for both processors, and memory
without wait states, which favours the CPU: an operator that stays on the NPU by a small margin
might be slower there.

A kernel declares its estimate where it is registered, `@operator(..., cycles=per_tap(9, 4))`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ethosgen.values.network import ABSENT, Operator, Tensor

Cycles = Callable[[Operator, Sequence[Tensor]], float]
"""Returns the cycles for each element of an operator's output, given all tensors of its graph."""


@dataclass(frozen=True)
class TwoForms:
    """The cycles of C that has a form for Helium and another for processors without it."""

    helium: Cycles
    in_c: Cycles

    def __call__(self, op: Operator, tensors: Sequence[Tensor]) -> float:
        """Return the cycles with Helium."""
        return self.helium(op, tensors)


CALL = 40
"""Cycles of a CPU operator outside its loops."""
OUTPUT = 8.0
"""Cycles for each output of a layer, in addition to its products."""
OUTPUT_OF_INT16 = 25.0
PLAIN_PRODUCT = 7.0
"""For floats, whose loops are plain C: two loads, a product, an addition and loop overhead."""
PLAIN_ELEMENT = 24.0
"""The minimum for other types than int8, for operators that compute: one rescaling in plain C."""


def per_product(
    int8: float,
    int16: float,
    dims: slice = slice(1, None),
    output: float | None = None,
    int8_output: float = OUTPUT,
) -> Cycles:
    """Estimate a layer by its products; `dims` of its weights are those of one output.

    `output` replaces the cycles for each output of integers, `int8_output` those of int8.
    """

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        products = math.prod(tensors[op.inputs[1]].shape[dims])
        product, each = {
            "int8": (int8, output or int8_output),
            "int16": (int16, output or OUTPUT_OF_INT16),
        }.get(tensors[op.inputs[0]].dtype, (PLAIN_PRODUCT, OUTPUT))
        return product * products + each

    return cycles


def per_scattered_product(
    by_dtype: Mapping[str, float], other: float, check: Mapping[str, float]
) -> Cycles:
    """Estimate a TRANSPOSE_CONV: each tap of each output is checked, at the cost of `check`."""

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        weights, source = (tensors[i] for i in op.inputs[1:3])
        products = source.elements * math.prod(weights.shape[:3])
        elements = max(tensors[op.outputs[0]].elements, 1)
        checks = check.get(source.dtype, 0.0) * math.prod(weights.shape[1:3])
        return by_dtype.get(source.dtype, other) * products / elements + OUTPUT + checks

    return cycles


def per_depth(by_dtype: Mapping[str, float], other: float, output: float) -> Cycles:
    """Estimate a BATCH_MATMUL by the depth of its first factor."""

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        source = tensors[op.inputs[0]]
        depth = source.shape[-2 if op.options.get("adj_x") else -1]
        return by_dtype.get(source.dtype, other) * depth + output

    return cycles


def per_tap(tap: float, output: float) -> Cycles:
    """Estimate a pool by the elements under its window."""

    def cycles(op: Operator, _tensors: Sequence[Tensor]) -> float:
        window = int(op.options["filter_height"]) * int(op.options["filter_width"])
        return tap * window + output

    return cycles


def per_element(
    int8: float, *, broadcast: float | None = None, row: float = 0.0, moves: bool = False
) -> Cycles:
    """Estimate an operator by the elements of its output.

    `broadcast` applies to inputs of different shapes, with rows of 16. `row` is added for each row
    of the output. An operator that only `moves` elements costs the same in every type.
    """

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        inputs = [tensors[i] for i in op.inputs if i != ABSENT]
        output = tensors[op.outputs[0]]
        differ = broadcast is not None and inputs[0].shape != inputs[-1].shape
        each = broadcast if broadcast is not None and differ else int8
        if not moves and {inputs[0].dtype, output.dtype} != {"int8"}:
            each = max(each, PLAIN_ELEMENT)
        return each + row / (output.shape[-1] if output.shape else 1)

    return cycles


def per_byte(byte: float, element: float) -> Cycles:
    """Estimate an operator that copies rows by the bytes and the elements of its output."""

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        output = tensors[op.outputs[0]]
        return element + byte * output.bytes / max(output.elements, 1)

    return cycles


def from_float(each: float, other: Cycles) -> Cycles:
    """Estimate a conversion of floats by the elements; `other` is for other types."""

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        return each if tensors[op.inputs[0]].dtype == "float32" else other(op, tensors)

    return cycles


def per_input_element(int8: float) -> Cycles:
    """Estimate a reduction by the elements of its input."""
    by_element = per_element(int8)

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        source, output = tensors[op.inputs[0]], tensors[op.outputs[0]]
        return by_element(op, tensors) * source.elements / max(output.elements, 1)

    return cycles


def total(cycles: Cycles, op: Operator, tensors: Sequence[Tensor]) -> int:
    """Return the cycles of one run of an operator."""
    return CALL + round(cycles(op, tensors) * tensors[op.outputs[0]].elements)
