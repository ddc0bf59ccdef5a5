"""Takes the function of a composite apart: its main operator, and the operators around it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import Constant as RelaxConstant

from ethosgen.frontend.relax.normal import bindings_of, operator_name
from ethosgen.frontend.relax.patterns import FLOAT, PREFIX, WHOLES
from ethosgen.frontend.relax.site import Clamp, scalar


@dataclass(frozen=True)
class CompositeIsland:
    """The parts of a composite: `arranging` are the bindings before the main operator.

    `name` is the result's before it is quantized, `kind` the composite's if its main operator is
    several; `anchor` is the last of them, `numbers` are its constants. A composite on floats has no
    `quantize`.
    """

    name: str
    anchor: Any
    quantize: Any
    arranging: tuple[Any, ...]
    operands: tuple[Any, ...]
    bias: Any = None
    clamp: Clamp | None = None
    kind: str = ""
    numbers: tuple[float, ...] = ()


def take_apart(function: Any) -> CompositeIsland:
    """Return the parts of a composite that `patterns` matched."""
    bindings = list(bindings_of(function))
    kind = str(function.attrs["Composite"]).removeprefix(PREFIX)
    main = kind.removesuffix(FLOAT)
    values = {binding.var: binding.value for binding in bindings}
    top: Any = bindings[-1].var
    while isinstance(values[top], relax.Var):
        top = values[top]
    last = None if main != kind else values[top]
    if last is not None:
        top = last.args[0]
    name = top.name if isinstance(top, relax.Var) else "value"
    expression, clamp, bias = values[top], None, None
    if main in WHOLES:
        first = next(b for b in bindings if operator_name(b.value) == "relax.dequantize")
        numbers = _numbers(values.values())
        return CompositeIsland(
            name, expression, last, (first,), (first.var,), kind=main, numbers=numbers
        )
    while True:
        name_of = operator_name(expression).removeprefix("relax.").removeprefix("nn.")
        bounds = _bounds(expression)
        if name_of == main and (bounds is None or not _is_inner(expression, values, main)):
            break
        if bounds is not None:
            clamp = _joined(bounds, clamp)
            expression = values[_variable(expression)]
        else:  # the bias
            first, second = expression.args
            is_second = _is_held(second, values)
            bias = second if is_second else first
            expression = values[first if is_second else second]
    arranging = [b for b in bindings if b.var in _needed(expression, bias, values)]
    operands = tuple(expression.args)
    return CompositeIsland(name, expression, last, tuple(arranging), operands, bias, clamp)


def _numbers(calls: Iterable[Any]) -> tuple[float, ...]:
    """Return the scalars in operators, without those of the quantization."""
    return tuple(
        scalar(argument)
        for call in calls
        if operator_name(call) not in ("relax.dequantize", "relax.quantize")
        for argument in getattr(call, "args", ())
        if isinstance(argument, RelaxConstant)
    )


def _needed(anchor: Any, bias: Any, values: Any) -> set[Any]:
    """Return the variables on which the main operator and the bias depend."""
    needed: set[Any] = set()
    waiting = [*anchor.args, *([bias] if bias is not None else [])]
    while waiting:
        expression = waiting.pop()
        if isinstance(expression, relax.Tuple):
            waiting += list(expression.fields)
        elif (
            isinstance(expression, relax.Var) and expression in values and expression not in needed
        ):
            needed.add(expression)
            value = values[expression]
            waiting += list(value.args) if isinstance(value, relax.Call) else [value]
    return needed


def _is_inner(expression: Any, values: Any, main: str) -> bool:
    """Return whether a clamp comes before another operator of the same name."""
    inner = values.get(_variable(expression))
    return operator_name(inner).removeprefix("relax.").removeprefix("nn.") == main


def _is_held(expression: Any, values: Any) -> bool:
    """Return whether an expression consists of constants alone."""
    if isinstance(expression, RelaxConstant):
        return True
    if not isinstance(expression, relax.Var) or expression not in values:
        return False
    value = values[expression]
    return isinstance(value, relax.Call) and _is_held(value.args[0], values)


def _variable(expression: Any) -> Any:
    return next(argument for argument in expression.args if isinstance(argument, relax.Var))


def _bounds(expression: Any) -> Clamp | None:
    """Return the bounds of a clamp, None for another operator."""
    name = operator_name(expression)
    if name == "relax.nn.relu":
        return 0.0, np.inf
    if name == "relax.clip":
        return scalar(expression.args[1]), scalar(expression.args[2])
    if name in ("relax.minimum", "relax.maximum"):
        constant = next((a for a in expression.args if isinstance(a, RelaxConstant)), None)
        if constant is None or constant.value.numpy().size != 1:
            return None
        bound = float(constant.value.numpy().reshape(()))
        return (-np.inf, bound) if name == "relax.minimum" else (bound, np.inf)
    return None


def _joined(inner: Clamp, outer: Clamp | None) -> Clamp:
    """Return the clamp that has the effect of `inner`, then `outer`."""
    if outer is None:
        return inner
    low, high = (min(max(bound, outer[0]), outer[1]) for bound in inner)
    return low, high
