"""Operators that compute each element alone: sums, products, activations, comparisons."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ethosgen.frontend.relax.draft import Constant, Order, Scale, Value
from ethosgen.frontend.relax.site import NoIntegerForm, Site, translates
from ethosgen.values.errors import UnsupportedError

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
    first, second, order = aligned(site)
    activation, is_fused = site.activation() if code in _FUSES else ("NONE", False)
    options = {"fused_activation_function": activation} if code in _FUSES else {}
    inputs = [first, second]
    natural = None
    if site.is_quantized and code in _ONE_SCALE:
        assert site.scale is not None
        natural = site.scale
        inputs = [site.draft.rescaled(one, natural, site.dtype) for one in inputs]
    return site.emit(code, [one.tensor for one in inputs], order, options, natural, is_fused)


def aligned(site: Site) -> tuple[Value, Value, Order]:
    """Return both operands with the result's rank, their axes in a common order."""
    rank = len(site.shape)
    values = [
        site.usable(operand) if isinstance(operand, Value) else None
        for operand in site.operands[:2]
    ]
    known = [value for value in values if value is not None]
    if not known:
        raise UnsupportedError("both operands are constant")
    orders = [value.order for value in known if len(value.shape) == rank]
    order = next((one for one in orders if one != tuple(range(rank))), tuple(range(rank)))
    made = []
    for value, operand in zip(values, site.operands, strict=False):
        if value is None:
            assert isinstance(operand, Constant)
            made.append(site.held(operand, site.shape, order))
        else:
            made.append(site.draft.ordered(_of_rank(site, value, rank), order))
    return made[0], made[1], order


def _of_rank(site: Site, value: Value, rank: int) -> Value:
    if len(value.shape) == rank:
        return value
    value = site.draft.plain(value)
    shape = (1,) * (rank - len(value.shape)) + value.shape
    made = site.draft.reshaped(value.tensor, shape, value)
    return replace(made, is_real=value.is_real)


def unary(
    site: Site,
    code: str,
    options: dict[str, Any] | None = None,
    natural: Scale | None = None,
) -> Value:
    """Add an operator of one operand."""
    source = site.value(0)
    return site.emit(code, (source.tensor,), source.order, options, natural)


def _natural(site: Site, int8: Scale, int16: Scale) -> Scale | None:
    """Return the output quantization that TFLite fixes."""
    if not site.is_quantized:
        return None
    return int8 if site.dtype == "int8" else int16


@translates("sigmoid")
def sigmoid(site: Site) -> Value:
    """Translate to LOGISTIC, whose output is in 1/256."""
    natural = _natural(site, Scale((1 / 256,), (-128,)), Scale((1 / 32768,), (0,)))
    return unary(site, "LOGISTIC", natural=natural)


@translates("tanh")
def tanh(site: Site) -> Value:
    """Translate to TANH, whose output is in 1/128."""
    natural = _natural(site, Scale((1 / 128,), (0,)), Scale((1 / 32768,), (0,)))
    return unary(site, "TANH", natural=natural)


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
    natural = _natural(site, Scale((1 / 256,), (-128,)), Scale((1 / 32768,), (0,)))
    if is_log:
        natural = _natural(site, Scale((16 / 256,), (127,)), Scale((1 / 2048,), (0,)))
        return site.emit("LOG_SOFTMAX", (source.tensor,), source.order, None, natural)
    return site.emit("SOFTMAX", (source.tensor,), source.order, {"beta": 1.0}, natural)


@translates("nn.relu")
def relu(site: Site) -> Value:
    """Translate to RELU, which rescales too."""
    return unary(site, "RELU")


@translates("clip")
def clip(site: Site) -> Value:
    """Translate to MAXIMUM and MINIMUM with constants, after a QUANTIZE if scales differ."""
    low, high = (scalar(site.call.args[i]) for i in (1, 2))
    bounded = replace(site, clamp=(low, high))
    return bounded.finished(site.value(0))


def scalar(expression: Any) -> float:
    """Return the number of a constant argument."""
    value = getattr(expression, "value", expression)
    numpy = getattr(value, "numpy", None)
    return float(numpy()) if numpy else float(value)


@translates("nn.leakyrelu")
def leaky_relu(site: Site) -> Value:
    """Translate to LEAKY_RELU."""
    return unary(site, "LEAKY_RELU", {"alpha": float(site.attributes.alpha)})


def _simple(code: str, options: dict[str, Any] | None = None) -> Callable[[Site], Value]:
    def translate(site: Site) -> Value:
        return unary(site, code, options)

    return translate


for _name, _code, _options in (
    ("exp", "EXP", None),
    ("log", "LOG", None),
    ("sqrt", "SQRT", None),
    ("rsqrt", "RSQRT", None),
    ("abs", "ABS", None),
    ("negative", "NEG", None),
    ("square", "SQUARE", None),
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


@translates("nn.silu")
def silu(site: Site) -> Value:
    """Translate to LOGISTIC and MUL."""
    source = site.value(0)
    natural = _natural(site, Scale((1 / 256,), (-128,)), Scale((1 / 32768,), (0,)))
    gate = site.draft.add_operator(
        "LOGISTIC", (source.tensor,), source.physical, site.dtype, natural
    )
    options = {"fused_activation_function": "NONE"}
    return site.emit("MUL", (source.tensor, gate.tensor), source.order, options)


@translates("astype")
def cast(site: Site) -> Value:
    """Translate to CAST."""
    source = site.value(0)
    if source.dtype == site.dtype:
        return source
    options = {"in_data_type": source.dtype, "out_data_type": site.dtype}
    return site.emit("CAST", (source.tensor,), source.order, options)
