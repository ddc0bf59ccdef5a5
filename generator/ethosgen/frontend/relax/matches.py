"""Whether operators that a pattern matched are one composite: what a pattern cannot express.

A constant that is added to a layer is a bias only if it has one value for each output channel, and
a minimum or maximum is a clamp only if its bound is one number.
"""

from typing import Any

from tvm import relax
from tvm.ir import Constant as RelaxConstant

from ethosgen.frontend.relax.normal import operator_name

_EXTREMES = ("relax.minimum", "relax.maximum")


def is_composite(operator: str, layers: tuple[str, ...], context: Any) -> bool:
    """Return whether a match around a main operator computes what a composite of it means."""
    values = dict(context.matched_bindings.items())
    bounds = sum(_has_several_bounds(value) for value in values.values())
    if bounds > (operator in _EXTREMES):
        return False
    if operator not in layers:
        return True
    layer = next(value for value in values.values() if operator_name(value) == operator)
    sums = [value for value in values.values() if operator_name(value) == "relax.add"]
    return all(_is_bias(value, layer, values) for value in sums)


def is_float_composite(operator: str, layers: tuple[str, ...], context: Any) -> bool:
    """Return whether a match on floats is a composite: nothing else reads a value within it."""
    values = context.matched_bindings
    last = context.value_to_bound_var.get(context.matched_expr)
    read_elsewhere = any(
        user not in values
        for variable in values
        if variable != last
        for user in context.var_usages.get(variable, ())
    )
    return not read_elsewhere and is_composite(operator, layers, context)


def _has_several_bounds(value: Any) -> bool:
    """Return whether a value is an extreme of a value and a constant of several elements."""
    if operator_name(value) not in _EXTREMES:
        return False
    constants = [a for a in value.args if isinstance(a, RelaxConstant)]
    return any(constant.value.numpy().size != 1 for constant in constants)


def _is_bias(total: Any, layer: Any, values: dict[Any, Any]) -> bool:
    """Return whether a sum adds a constant by output channel, or one number, to a layer."""
    first, second = total.args
    is_second = values.get(first) is not None and values[first].same_as(layer)
    addend, summed = (second, first) if is_second else (first, second)
    sizes, result = _shape(addend), _shape(summed)
    if len(sizes) > len(result):
        return False
    sizes = [1] * (len(result) - len(sizes)) + sizes
    axis = _channel_axis(layer, len(result))
    return all(size == 1 for place, size in enumerate(sizes) if place != axis)


def _channel_axis(layer: Any, rank: int) -> int:
    """Return the axis of a layer's output channels."""
    layout = str(getattr(layer.attrs, "out_layout", "") or getattr(layer.attrs, "data_layout", ""))
    return layout.index("C") if layout else rank - 1


def _shape(expression: Any) -> list[Any]:
    kind = expression.ty
    known = isinstance(kind, relax.TensorType) and kind.shape is not None
    return list(kind.shape.values) if known else []
