"""Elementwise operators: ADD, SUB and MUL of int8 and int16, LOGISTIC and TANH of int16.

An input of int8 may be broadcast.
"""

from collections.abc import Callable, Sequence

from ethosgen.aot.arithmetic.binary import ends, product_multiplier, sum_multipliers
from ethosgen.aot.cost import Cycles
from ethosgen.aot.libraries.framework.elementwise import LEAST_ROW, rows_of_two
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import OutputRange
from ethosgen.aot.libraries.framework.recurrent import MOST_FACTOR, curve_lines
from ethosgen.aot.libraries.helium import cost
from ethosgen.aot.libraries.helium.scales import COMMON, LIMIT
from ethosgen.aot.libraries.helium.shapes import (
    Add,
    AddS16,
    HeliumCurveS16,
    Mul,
    MulS16,
    ScaledInput,
)
from ethosgen.aot.operators.activation import argument_scale
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, address, merge_dimensions
from ethosgen.aot.tir.quantization import (
    Multiplier,
    activation_range,
    scale_of,
    zero_point_of,
)
from ethosgen.aot.tir.structs import Struct
from ethosgen.values.network import Operator, Tensor

ADDITION = LIMIT | {"ethosgen_add.c"}
MULTIPLICATION = frozenset({"ethosgen_mul.c"})
ADD = frozenset({"ethosgen_add_s16.c", "ethosgen_eight.h"})
MUL = frozenset({"ethosgen_mul_s16.c", "ethosgen_eight.h"})
CURVE = frozenset({"ethosgen_curve_s16.c", "ethosgen_curve.h"})
HALF = 1 << 14
"""An input's factor of 1/2, after the shift by 15 bits."""
Three = tuple[Tensor, Tensor, Tensor]


@packed("ADD", "SUB", cycles=cost.SUMS)
@packed("MUL", cycles=cost.PRODUCTS)
def addition(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute 4 or 8 elements at a time."""
    first, second, target = ends(op, tensors)
    *shapes, full = merge_dimensions([first.shape, second.shape, target.shape])
    is_turned = _is_turned(op, (first, second), shapes)
    if is_turned:
        first, second, shapes = second, first, shapes[::-1]
    signs = (1, 1) if op.code != "SUB" else (-1, 1) if is_turned else (1, -1)
    struct = (
        _product(op, first, second, target)
        if op.code == "MUL"
        else sum_of(op, (first, second, target), signs)
    )
    repeats = shapes[0] != full or shapes[1] != full
    if struct is None or shapes[0][-1] == 1 or (repeats and full[-1] < LEAST_ROW):
        return None
    name, files = ("mul", MULTIPLICATION) if op.code == "MUL" else ("add", ADDITION)
    single = "_one" if shapes[1][-1] == 1 else ""
    form = "sub" if signs[1] < 0 and not single else name
    function = f"ethosgen_{form}{single}_s8"
    three, constant = (first, second, target), ("shape", struct)
    return rows_of_two(function, three, (*shapes, full), constant, files)


def _is_turned(
    op: Operator, inputs: tuple[Tensor, Tensor], shapes: Sequence[tuple[int, ...]]
) -> bool:
    """Return whether the inputs swap places: the second is longer or has a larger scale."""
    first, second = (shape[-1] for shape in shapes)
    if 1 in (first, second):
        return first == 1 and op.code != "SUB"
    return op.code != "MUL" and scale_of(inputs[0]) < scale_of(inputs[1])


def sum_of(op: Operator, tensors: Three, signs: tuple[int, int]) -> Add | None:
    """Return the struct of a sum, None if the kernels do not cover its scales."""
    first, second, target = tensors
    left, right, result = sum_multipliers(first, second, target)
    if max(left.shift, right.shift) > 0 or not COMMON[0] <= result.shift <= COMMON[1]:
        return None
    return Add(
        first=_scaled(first, left),
        second=_scaled(second, right),
        first_sign=signs[0],
        second_sign=signs[1],
        mantissa=result.mantissa,
        shift=result.shift,
        output=_output(op, target),
    )


def _scaled(tensor: Tensor, by: Multiplier) -> ScaledInput:
    return ScaledInput(zero_point=zero_point_of(tensor), mantissa=by.mantissa, shift=by.shift)


def _output(op: Operator, target: Tensor) -> OutputRange:
    low, high = activation_range(op, target)
    return OutputRange(zero_point=zero_point_of(target), low=low, high=high)


def _product(op: Operator, first: Tensor, second: Tensor, target: Tensor) -> Mul | None:
    """Return the struct of a product, None if the kernels do not cover its scales."""
    multiplier = product_multiplier(op, first, second, target)
    if multiplier.shift > 0:
        return None
    return Mul(
        first_zero_point=zero_point_of(first),
        second_zero_point=zero_point_of(second),
        mantissa=multiplier.mantissa,
        shift=multiplier.shift,
        output=_output(op, target),
    )


def _by_row(element: float, row: float) -> Cycles:
    """Estimate by elements, and by rows if an input is broadcast."""

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        three = ends(op, tensors)
        full = merge_dimensions([tensor.shape for tensor in three])[-1]
        return element + row / max(full[-1], 1)

    return cycles


@packed("ADD", "SUB", dtype="int16", cycles=_by_row(4.0, 50.0), for_helium=True)
def sums(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute 8 elements at a time."""
    first, second, target = ends(op, tensors)
    left, right, result = sum_multipliers(first, second, target)
    signs = (1, 1 if op.code == "ADD" else -1)
    if scale_of(first) < scale_of(second):
        first, second, right, signs = second, first, left, signs[::-1]
    if result.shift >= 0:
        return None
    is_equal = scale_of(first) == scale_of(second)
    if right.shift >= 0 and not is_equal:
        return None
    low, high = activation_range(op, target)
    add = AddS16(
        first_factor=signs[0] * HALF,
        second_sign=signs[1],
        second_mantissa=right.mantissa,
        second_shift=right.shift,
        mantissa=result.mantissa,
        shift=result.shift,
        low=low,
        high=high,
    )
    function = "ethosgen_add_equal_s16" if is_equal else "ethosgen_add_s16"
    return _rows_s16(function, ADD, (first, second, target), add)


@packed("MUL", dtype="int16", cycles=_by_row(2.5, 50.0), for_helium=True)
def products(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute 8 elements at a time."""
    first, second, target = ends(op, tensors)
    multiplier = product_multiplier(op, first, second, target)
    if multiplier.shift >= 0:
        return None
    low, high = activation_range(op, target)
    mul = MulS16(mantissa=multiplier.mantissa, shift=multiplier.shift, low=low, high=high)
    return _rows_s16("ethosgen_mul_s16", MUL, (first, second, target), mul)


def _rows_s16(function: str, files: frozenset[str], three: Three, struct: Struct) -> Kernel | None:
    """Call a micro-kernel for each row of the output; None for rows that it does not cover."""
    *shapes, full = merge_dimensions([tensor.shape for tensor in three])
    repeats = any(shape != full for shape in shapes)
    rows_differ = any(shape[-1] != full[-1] for shape in shapes)
    if any(map(zero_point_of, three)) or rows_differ or (repeats and full[-1] < LEAST_ROW):
        return None
    return rows_of_two(function, three, (*shapes, full), ("shape", struct), files)


def _each(cycles: float) -> Callable[[Operator, Sequence[Tensor]], float]:
    return lambda _op, _tensors: cycles


@packed("LOGISTIC", "TANH", dtype="int16", cycles=_each(6.0), for_helium=True)
def curves(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute 4 elements at a time."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    factor, shift = argument_scale(op.code, scale_of(source))
    if not 0 < factor <= MOST_FACTOR or target.dtype != "int16" or source.shape != target.shape:
        return None
    nest = Nest()
    x, y = nest.read("input", source, (source.elements,)), nest.write("output", target)
    curve = HeliumCurveS16(factor=factor, shift=shift, is_tanh=int(op.code == "TANH"))
    tables = nest.tables({"lines": curve_lines(), "shape": curve})
    places = address(y, *(0,) * len(target.shape)), address(x, 0)
    nest.call("ethosgen_curve_s16", *places, source.elements, *tables)
    return nest.kernel(CURVE)
