"""ADD, SUB and MUL of int8, also with one broadcast input."""

from collections.abc import Sequence

from ethosgen.aot.arithmetic.binary import ends, product_multiplier, sum_multipliers
from ethosgen.aot.libraries.framework.elementwise import LEAST_ROW, rows_of_two
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import OutputRange
from ethosgen.aot.libraries.helium import cost
from ethosgen.aot.libraries.helium.shapes import Add, Mul, ScaledInput
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import merge_dimensions
from ethosgen.aot.tir.quantization import (
    Multiplier,
    activation_range,
    scale_of,
    zero_point_of,
)
from ethosgen.values.network import Operator, Tensor

ADDITION = frozenset({"ethosgen_add.c"})


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
    name = "mul" if op.code == "MUL" else "add"
    single = "_one" if shapes[1][-1] == 1 else ""
    form = "sub" if signs[1] < 0 and not single else name
    function, files = f"ethosgen_{form}{single}_s8", frozenset({f"ethosgen_{name}.c"})
    three, constant = (first, second, target), ("shape", struct)
    return rows_of_two(function, three, (*shapes, full), constant, files)


def _is_turned(
    op: Operator, inputs: tuple[Tensor, Tensor], shapes: Sequence[tuple[int, ...]]
) -> bool:
    """Return whether the second input takes the first's place: it is longer, or has more scale."""
    first, second = (shape[-1] for shape in shapes)
    if 1 in (first, second):
        return first == 1 and op.code != "SUB"
    return op.code != "MUL" and scale_of(inputs[0]) < scale_of(inputs[1])


def sum_of(
    op: Operator, tensors: tuple[Tensor, Tensor, Tensor], signs: tuple[int, int]
) -> Add | None:
    """Return the struct of a sum, None if the kernels do not cover its scales."""
    first, second, target = tensors
    left, right, result = sum_multipliers(first, second, target)
    if max(left.shift, right.shift, result.shift) > 0:
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
