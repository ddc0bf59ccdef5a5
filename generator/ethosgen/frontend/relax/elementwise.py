"""Operators that compute each element alone: sums, products, activations, comparisons."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import DraftConstant, Order, Value
from ethosgen.frontend.relax.site import (
    NoIntegerForm,
    Site,
    quantize,
    requantized,
    scalar,
    translates,
)
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Quantization

_BINARY = {
    "relax.add": "ADD",
    "relax.subtract": "SUB",
    "relax.multiply": "MUL",
    "relax.divide": "DIV",
    "relax.minimum": "MINIMUM",
    "relax.maximum": "MAXIMUM",
    "relax.power": "POW",
    "relax.floor_divide": "FLOOR_DIV",
    "relax.floor_mod": "FLOOR_MOD",
}
_COMPARISONS = {
    "relax.equal": "EQUAL",
    "relax.not_equal": "NOT_EQUAL",
    "relax.less": "LESS",
    "relax.less_equal": "LESS_EQUAL",
    "relax.greater": "GREATER",
    "relax.greater_equal": "GREATER_EQUAL",
    "relax.logical_and": "LOGICAL_AND",
    "relax.logical_or": "LOGICAL_OR",
}
SHARES = {"int8": Quantization((1 / 256,), (-128,)), "int16": Quantization((1 / 32768,), (0,))}
SIGNED_SHARES = {"int8": Quantization((1 / 128,), (0,)), "int16": Quantization((1 / 32768,), (0,))}
"""The output quantization that TFLite fixes for values from 0 or -1 to 1."""

_FUSES = frozenset({"ADD", "SUB", "MUL", "DIV"})
_ONE_SCALE = frozenset({"MINIMUM", "MAXIMUM"})
_NO_INTEGER_FORM = frozenset({"POW", "DIV", "FLOOR_DIV", "FLOOR_MOD"})


@translates(*(name.removeprefix("relax.") for name in (*_BINARY, *_COMPARISONS)))
def binary(site: Site) -> Value:
    """Translate an operator of two operands, one of which may be constant or broadcast."""
    name = site.call.op.name
    code = _BINARY.get(name) or _COMPARISONS[name]
    if site.is_quantized and code in _NO_INTEGER_FORM:
        raise NoIntegerForm(f"{code} has no integer form")
    scale = site.scale if code in _ONE_SCALE else None
    first, second, order = aligned(site, scale=scale)
    activation, is_fused = site.activation() if code in _FUSES else ("NONE", False)
    options = {"fused_activation_function": activation} if code in _FUSES else {}
    inputs = [first, second]
    natural = None
    if site.scale is not None and code in _ONE_SCALE:
        natural = site.scale
        inputs = [site.draft.rescaled(value, natural, site.dtype) for value in inputs]
    return site.emit(code, [value.tensor for value in inputs], order, options, natural, is_fused)


def aligned(
    site: Site, first: int = 0, scale: Quantization | None = None
) -> tuple[Value, Value, Order]:
    """Return two operands with the result's rank, their axes in a common order.

    Constants get `scale`, or without it one of their own.
    """
    rank = len(site.shape)
    operands = site.operands[first : first + 2]
    values = [site.usable(operand) if isinstance(operand, Value) else None for operand in operands]
    known = [value for value in values if value is not None]
    if not known:
        raise UnsupportedError("both operands are constant")
    orders = [value.order for value in known if len(value.shape) == rank]
    order = next(
        (candidate for candidate in orders if candidate != tuple(range(rank))), tuple(range(rank))
    )
    operands_aligned = []
    for value, operand in zip(values, operands, strict=True):
        if value is None:
            assert isinstance(operand, DraftConstant)
            held = requantized(operand, scale, site.dtype)
            operands_aligned.append(site.held(held, site.shape, order))
        else:
            operands_aligned.append(site.draft.ordered(_of_rank(site, value, rank), order))
    return operands_aligned[0], operands_aligned[1], order


def _of_rank(site: Site, value: Value, rank: int) -> Value:
    if len(value.shape) == rank:
        return value
    value = site.draft.plain(value)
    shape = (1,) * (rank - len(value.shape)) + value.shape
    reshaped = site.draft.reshaped(value.tensor, shape, value)
    return replace(reshaped, is_real=value.is_real)


def unary(
    site: Site,
    code: str,
    options: dict[str, Any] | None = None,
    natural: Quantization | None = None,
) -> Value:
    """Add an operator of one operand."""
    source = site.value(0)
    return site.emit(code, (source.tensor,), source.order, options, natural)


@translates("sigmoid")
def sigmoid(site: Site) -> Value:
    """Translate to LOGISTIC, whose output is in 1/256."""
    return site.emit_function("LOGISTIC", site.value(0), SHARES)


@translates("tanh")
def tanh(site: Site) -> Value:
    """Translate to TANH, whose output is in 1/128."""
    return site.emit_function("TANH", site.value(0), SIGNED_SHARES)


@translates("nn.softmax", "nn.log_softmax")
def softmax(site: Site) -> Value:
    """Translate to SOFTMAX over the last axis of the tensor."""
    is_log = "log" in site.call.op.name
    source = site.value(0)
    rank = len(source.shape)
    axis = int(site.attributes.axis) % rank
    if source.order[axis] != rank - 1:
        others = [i for i in range(rank) if i != axis]
        order = [0] * rank
        for place, logical in enumerate((*others, axis)):
            order[logical] = place
        source = site.draft.ordered(source, tuple(order))
    if not is_log:
        return site.emit_function("SOFTMAX", source, SHARES, {"beta": 1.0})
    natural = Quantization((16 / 256,), (127,))
    if site.scale is not None and (site.dtype != "int8" or site.scale.scale[0] < natural.scale[0]):
        raise NoIntegerForm("LOG_SOFTMAX has steps of 1/16 in int8, coarser than its result's")
    fixed = natural if site.is_quantized else None
    return site.emit("LOG_SOFTMAX", (source.tensor,), source.order, None, fixed)


@translates("nn.relu")
def relu(site: Site) -> Value:
    """Translate to RELU, which also rescales."""
    return unary(site, "RELU")


@translates("clip")
def clip(site: Site) -> Value:
    """Translate to MAXIMUM and MINIMUM with constants, after a QUANTIZE if scales differ."""
    low, high = (scalar(site.call.args[i]) for i in (1, 2))
    bounded = replace(site, clamp=(low, high))
    return bounded.finished(site.value(0))


@translates("nn.leakyrelu")
def leaky_relu(site: Site) -> Value:
    """Translate to LEAKY_RELU."""
    return unary(site, "LEAKY_RELU", {"alpha": float(site.attributes.alpha)})


INTEGER_FORMS = {
    "ABS": ("int8", "int16"),
    "EXP": ("int8", "int16"),
    "GELU": ("int8",),
    "LOG": ("int8",),
}
"""The types that the operators of one value below have besides floats."""


def _simple(code: str, options: dict[str, Any] | None = None) -> Callable[[Site], Value]:
    def translate(site: Site) -> Value:
        if site.is_quantized and site.dtype not in INTEGER_FORMS.get(code, ()):
            raise NoIntegerForm(f"{code} has no form in {site.dtype}")
        return unary(site, code, options)

    return translate


for _name, _code, _options in (
    ("exp", "EXP", None),
    ("log", "LOG", None),
    ("sqrt", "SQRT", None),
    ("rsqrt", "RSQRT", None),
    ("abs", "ABS", None),
    ("sin", "SIN", None),
    ("cos", "COS", None),
    ("floor", "FLOOR", None),
    ("ceil", "CEIL", None),
    ("round", "ROUND", None),
    ("logical_not", "LOGICAL_NOT", None),
    ("nn.gelu", "GELU", {"approximate": False}),
    ("nn.gelu_tanh", "GELU", {"approximate": True}),
):
    translates(_name)(_simple(_code, _options))


@translates("negative")
def negative(site: Site) -> Value:
    """Translate to NEG; integers, whose zero point may be any, are subtracted from 0."""
    source = site.value(0)
    if not site.is_quantized:
        return unary(site, "NEG")
    assert source.scale is not None
    zero = quantize(np.zeros([1] * len(source.shape), np.float32), source.scale, site.dtype)
    held = site.draft.add_constant(zero, source.scale)
    options = {"fused_activation_function": "NONE"}
    return site.emit("SUB", (held, source.tensor), source.order, options)


@translates("square")
def square(site: Site) -> Value:
    """Translate to MUL."""
    source = site.value(0)
    options = {"fused_activation_function": "NONE"}
    return site.emit("MUL", (source.tensor, source.tensor), source.order, options)


@translates("hard_swish")
def hard_swish(site: Site) -> Value:
    """Translate x * clip(x + 3, 0, 6) / 6 to HARD_SWISH."""
    if not np.allclose(sorted(site.numbers), (0, 3, 6, 6)) and not np.allclose(
        sorted(site.numbers), (0, 1 / 6, 3, 6)
    ):
        raise NoIntegerForm("it has other constants than HARD_SWISH")
    if site.dtype != "int8":
        raise NoIntegerForm(f"HARD_SWISH has no form in {site.dtype}")
    return unary(site, "HARD_SWISH")


@translates("nn.silu")
def silu(site: Site) -> Value:
    """Translate to LOGISTIC and MUL."""
    source = site.value(0)
    gate = site.draft.add_operator(
        *("LOGISTIC", (source.tensor,), source.physical, site.dtype),
        SHARES[site.dtype] if site.is_quantized else None,
    )
    options = {"fused_activation_function": "NONE"}
    return site.emit("MUL", (source.tensor, gate.tensor), source.order, options)


@translates("nn.prelu")
def prelu(site: Site) -> Value:
    """Translate to PRELU with constant slopes."""
    if site.is_quantized and site.dtype != "int8":
        raise NoIntegerForm(f"PRELU has no form in {site.dtype}")
    source, slopes = site.value(0), site.operands[1]
    if not isinstance(slopes, DraftConstant):
        raise UnsupportedError("its slopes are not constant")
    shape = [1] * len(source.shape)
    axis = int(site.attributes.axis) % len(shape)
    if slopes.array.size > 1:
        shape[axis] = slopes.array.size
    held = replace(slopes, array=slopes.array.reshape(shape))
    if held.scale is not None and not held.scale.is_per_tensor:
        held = DraftConstant(slopes.real().reshape(shape))
    alpha = site.held(held, source.shape, source.order)
    return site.emit("PRELU", (source.tensor, alpha.tensor), source.order)


@translates("astype")
def cast(site: Site) -> Value:
    """Translate to CAST."""
    source = site.value(0)
    if source.dtype == site.dtype:
        return source
    options = {"in_data_type": source.dtype, "out_data_type": site.dtype}
    return site.emit("CAST", (source.tensor,), source.order, options)
