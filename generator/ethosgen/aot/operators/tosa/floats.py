"""TOSA's float operators that compute one element from the elements at its index, or along an axis.

NaN propagates, or is ignored if an operator's nan_mode says so.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.operators.tosa.moves import reduced
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, call, int32, is_number, pointwise, real
from ethosgen.aot.tir.quantization import clamp, limits
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

FLOATS = ("float32",)
_BEYOND = 2.0**31
"""Floats from here on exceed int32."""

_EXACT: dict[str, Callable[[Any], Any]] = {
    "TOSA_ABS": lambda x: call("fabsf", x),
    "TOSA_CEIL": lambda x: call("ceilf", x),
    "TOSA_FLOOR": lambda x: call("floorf", x),
    "TOSA_NEGATE": lambda x: x * real(-1.0),
    "TOSA_RECIPROCAL": lambda x: tirx.div(real(1.0), x),
}

_ROUNDED: dict[str, Callable[[Any], Any]] = {
    "TOSA_COS": lambda x: call("cosf", x),
    "TOSA_ERF": lambda x: call("erff", x),
    "TOSA_EXP": lambda x: call("expf", x),
    "TOSA_LOG": lambda x: call("logf", x),
    "TOSA_RSQRT": lambda x: tirx.div(real(1.0), call("sqrtf", x)),
    "TOSA_SIGMOID": lambda x: tirx.div(real(1.0), call("expf", x * real(-1.0)) + real(1.0)),
    "TOSA_SIN": lambda x: call("sinf", x),
    "TOSA_TANH": lambda x: call("tanhf", x),
}


@operator(*_EXACT, dtypes=FLOATS)
@operator(*_ROUNDED, dtypes=FLOATS, ulp=LIBRARY_ULP)
def function(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Apply a function to each element."""
    apply = (_EXACT | _ROUNDED)[op.code]
    return pointwise([tensors[op.inputs[0]]], tensors[op.outputs[0]], lambda _, a: apply(a))


@operator("TOSA_MUL", dtypes=FLOATS)
@operator("TOSA_POW", dtypes=FLOATS, ulp=LIBRARY_ULP)
def product(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply, or raise the first input to the power of the second."""
    sources = [tensors[i] for i in op.inputs[:2]]

    def formula(_: Nest, a: Any, b: Any) -> Any:
        return a * b if op.code == "TOSA_MUL" else call("powf", a, b)

    return pointwise(sources, tensors[op.outputs[0]], formula)


# ---- extrema -------------------------------------------------------------------------------------


def extremum(op: Operator, a: Any, b: Any) -> Any:
    """Return the larger or smaller of two bound floats, by the operator's nan_mode."""
    is_least = op.code in ("TOSA_MINIMUM", "TOSA_REDUCE_MIN")
    if op.options["nan_mode"] == "IGNORE":
        is_second = b < a if is_least else b > a
        return tirx.Select(is_number(a), tirx.Select(is_second, b, a), b)
    is_first = a < b if is_least else a > b
    return tirx.Select(is_number(a), tirx.Select(is_first, a, b), a)


@operator("TOSA_MAXIMUM", "TOSA_MINIMUM", dtypes=FLOATS)
def greater(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Return the larger or smaller element."""
    sources = [tensors[i] for i in op.inputs]
    return pointwise(sources, tensors[op.outputs[0]], lambda _, a, b: extremum(op, a, b))


@operator("TOSA_REDUCE_MAX", "TOSA_REDUCE_MIN", dtypes=FLOATS)
def reduce_extremum(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the largest or smallest element along an axis."""
    return reduced(op, tensors, least(op), lambda _, best, x: extremum(op, best, x))


def least(op: Operator) -> float:
    """Return the initial number of an extremum, which every other number replaces."""
    if op.options["nan_mode"] == "IGNORE":
        return np.nan
    return np.inf if op.code == "TOSA_REDUCE_MIN" else -np.inf


@operator("TOSA_REDUCE_PRODUCT", dtypes=FLOATS, ulp=LIBRARY_ULP)
def reduce_product(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply along an axis."""
    return reduced(op, tensors, 1.0, lambda _, total, x: total * x)


@operator("TOSA_ARGMAX", dtypes=FLOATS)
def argmax(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the index of the first largest element along an axis; the first NaN is the largest.

    If NaN is ignored and there are only NaN, the index is 0.
    """
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    axis = int(op.options["axis"])
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    with nest.loops(target.shape) as index:
        held = nest.local("held", real(-np.inf))
        place = nest.local("place", int32(0))
        with nest.loop("k", source.shape[axis]) as k:
            best = nest.let("best", held[0])
            element = nest.let("element", x[(*index[:axis], k, *index[axis:])])
            is_new = element > best
            if op.options["nan_mode"] == "PROPAGATE":
                is_first_nan = int32(is_number(element)) < int32(is_number(best))
                is_new = tirx.any(is_new, is_first_nan)
            with nest.when(is_new):
                nest.store(held, (0,), element)
                nest.store(place, (0,), int32(k))
        nest.store(y, index or (0,), place[0])
    return nest.kernel()


# ---- CLAMP, CAST ---------------------------------------------------------------------------------


@operator("TOSA_CLAMP", dtypes=FLOATS)
def clamp_floats(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Limit to the bounds."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    dtype = np.dtype("float16" if source.is_half else "float32")
    low, high = (
        real(float(np.frombuffer(bytes(op.options[name])[: dtype.itemsize], dtype)[0]))
        for name in ("min_val", "max_val")
    )

    def formula(nest: Nest, a: Any) -> Any:
        raised = nest.let("raised", tirx.max(low, a))
        bounded = nest.let("bounded", tirx.min(high, raised))
        if op.options["nan_mode"] == "IGNORE":
            return tirx.Select(is_number(a), bounded, low)
        return bounded

    return pointwise([source], target, formula)


@operator("TOSA_CAST", dtypes=FLOATS)
def cast(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convert to another type of floats, or to integers, rounded to nearest and saturated."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if target.dtype == "float32":
        return pointwise([source], target, lambda _, a: a)
    low, high = (int32(bound) for bound in limits("int32"))

    def formula(nest: Nest, a: Any) -> Any:
        whole = nest.let("whole", call("rintf", a))
        fits = tirx.all(whole < real(_BEYOND), whole >= real(-_BEYOND))
        number = nest.let("number", int32(tirx.Select(fits, whole, real(0.0))))
        above = tirx.Select(whole >= real(_BEYOND), high, number)
        wide = nest.let("wide", tirx.Select(whole < real(-_BEYOND), low, above))
        return wide if target.dtype == "int32" else clamp(wide, *limits(target.dtype))

    return pointwise([source], target, formula)
