"""The composites, as patterns: groups of Relax operators that become one operator of ours.

A quantized network in Relax is dequantize → float operators → quantize. Each pattern covers one
such island with its optional members. `PATTERNS` lists them in order of priority; the name of a
composite is that of its main operator.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm.relax.dpl import is_const, is_op, is_tuple, wildcard

from ethosgen.frontend.relax.matches import is_composite, is_float_composite

PREFIX = "ethosu."
"""The prefix of composites' names, as those of TVM's own partitioner for Ethos-U did."""

Pattern = Any
"""A pattern of TVM's (dpl.DFPattern), which has no types."""


def dequantized(inner: Pattern | None = None) -> Pattern:
    """Match a dequantized value, or constant."""
    return is_op("relax.dequantize")(wildcard() if inner is None else inner, is_const(), is_const())


def quantized(value: Pattern) -> Pattern:
    """Match the quantization of a value."""
    return is_op("relax.quantize")(value, is_const(), is_const())


def clamped(value: Pattern) -> Pattern:
    """Match a value with an optional clamp; one pattern object would match one constant only."""
    return (
        is_op("relax.nn.relu")(value)
        | is_op("relax.clip")(value, wildcard(), wildcard())
        | is_op("relax.minimum")(is_op("relax.maximum")(value, is_const()), is_const())
        | is_op("relax.maximum")(is_op("relax.minimum")(value, is_const()), is_const())
        | is_op("relax.maximum")(value, is_const())
        | is_op("relax.minimum")(value, is_const())
        | value
    )


def _constant() -> Pattern:
    """Match a constant, quantized or not, also reshaped for a broadcast or transposed."""
    held = dequantized(is_const()) | is_const()
    return (
        is_op("relax.reshape")(held, wildcard())
        | is_op("relax.expand_dims")(held)
        | is_op("relax.permute_dims")(held)
        | held
    )


def with_bias(value: Pattern) -> Pattern:
    """Match a value with an optional constant addend."""
    return is_op("relax.add")(value, _constant()) | is_op("relax.add")(_constant(), value) | value


def _padded(value: Pattern) -> Pattern:
    """Match a value that may be padded."""
    return is_op("relax.nn.pad")(value) | value


def _layer(name: str) -> Pattern:
    """Match pad?, a layer with constant weights, bias?, clamp?, quantize."""
    return quantized(clamped(with_bias(is_op(name)(_padded(dequantized()), _constant()))))


def _moved() -> Pattern:
    """Match a dequantized value, also with its axes permuted."""
    value = dequantized()
    return is_op("relax.permute_dims")(value) | value


def _fully_connected() -> Pattern:
    """Match a layer on a matrix that may be transposed."""
    return quantized(clamped(with_bias(is_op("relax.matmul")(_moved(), _constant()))))


def _product() -> Pattern:
    """Match a product of two activations."""
    return quantized(clamped(is_op("relax.matmul")(_moved(), _moved())))


def _hard_swish() -> Pattern:
    """Match x * clip(x + 3, 0, 6) / 6, as importers write it."""
    value = wildcard()
    shifted = is_op("relax.add")(dequantized(value), is_const())
    inner = is_op("relax.clip")(shifted, wildcard(), wildcard())
    inner = is_op("relax.divide")(inner, is_const()) | is_op("relax.multiply")(inner, is_const())
    return quantized(is_op("relax.multiply")(dequantized(value), inner))


def _prelu() -> Pattern:
    """Match a PReLU with constant slopes."""
    return quantized(is_op("relax.nn.prelu")(dequantized(), _constant()))


def _choice() -> Pattern:
    """Match a choice between two values."""
    either = dequantized() | _constant()
    return quantized(is_op("relax.where")(wildcard(), either, dequantized() | _constant()))


def _binary(name: str) -> Pattern:
    either = dequantized() | _constant()
    both = is_op(name)(dequantized(), either) | is_op(name)(_constant(), dequantized())
    return quantized(clamped(both))


def _anything(count: int) -> list[Pattern]:
    """Return separate wildcards: one used twice would match only equal arguments."""
    return [wildcard() for _ in range(count)]


def _unary(name: str, extra: int = 0) -> Callable[[], Pattern]:
    def pattern() -> Pattern:
        return quantized(clamped(is_op(name)(dequantized(), *_anything(extra))))

    return pattern


def _concat(count: int) -> Pattern:
    parts = [dequantized() | _constant() for _ in range(count)]
    return quantized(clamped(is_op("relax.concat")(is_tuple(parts))))


def _move(name: str, extra: int) -> Pattern:
    return quantized(is_op(name)(dequantized(), *_anything(extra)))


def _rescaling() -> Pattern:
    return quantized(dequantized())


LAYERS = (
    "relax.nn.conv1d",
    "relax.nn.conv2d",
    "relax.nn.conv1d_transpose",
    "relax.nn.conv2d_transpose",
)
BINARIES = (
    "relax.add",
    "relax.subtract",
    "relax.multiply",
    "relax.divide",
    "relax.minimum",
    "relax.maximum",
    "relax.power",
)
"""Their second operand may be a constant."""
UNARIES = dict.fromkeys(
    """
    nn.avg_pool1d nn.avg_pool2d nn.max_pool1d nn.max_pool2d nn.adaptive_avg_pool1d
    nn.adaptive_avg_pool2d mean sum max min nn.softmax nn.log_softmax sigmoid tanh nn.leakyrelu
    nn.gelu nn.gelu_tanh exp log sqrt rsqrt abs negative square sin cos erf nn.silu nn.relu
    """.split(),
    0,
) | {"clip": 2, "image.resize2d": 1, "nn.pad": 0}
"""Operators of one value, and how many further arguments each has."""
MOVES = (
    *(("reshape", 1), ("permute_dims", 0), ("squeeze", 0), ("expand_dims", 0), ("flatten", 0)),
    *(("nn.batch_flatten", 0), ("strided_slice", 3), ("strided_slice", 4)),
)
"""Operators that move the elements of one value, likewise."""
CONCAT = "relax.concat"
RESCALING = PREFIX + "quantize"
"""The composite of a dequantize and a quantize alone."""


@dataclass(frozen=True)
class Composite:
    """One entry of the table."""

    operator: str
    pattern: Callable[[], Pattern]

    @property
    def name(self) -> str:
        """The name of the composite."""
        return PREFIX + self.operator.removeprefix("relax.").removeprefix("nn.")

    def holds(self, context: Any) -> bool:
        """Return whether a match is this composite (TVM's PatternCheckContext)."""
        return is_composite(self.operator, (*LAYERS, "relax.matmul"), context)


WHOLES = {"hard_swish": "relax.divide"}
"""Composites of several main operators, and one by which a module that has them is known."""

PATTERNS: Sequence[Composite] = (
    Composite("hard_swish", _hard_swish),
    *(Composite(name, partial(_layer, name)) for name in LAYERS),
    Composite("relax.matmul", _fully_connected),
    Composite("relax.matmul", _product),
    *(Composite(name, partial(_binary, name)) for name in BINARIES),
    *(
        Composite(f"relax.{name}", _unary(f"relax.{name}", extra))
        for name, extra in UNARIES.items()
    ),
    Composite("relax.where", _choice),
    Composite("relax.nn.prelu", _prelu),
    Composite(CONCAT, partial(_concat, 2)),
    *(Composite(f"relax.{name}", partial(_move, f"relax.{name}", extra)) for name, extra in MOVES),
    Composite("relax.quantize", _rescaling),
)
"""That of concat is for two parts; `fusion_patterns` adds the others."""


FLOAT = "_f32"
"""The suffix of composites of float operators, which become one or more operators on floats."""


@dataclass(frozen=True)
class FloatComposite(Composite):
    """An entry for an operator on floats, for accelerators and libraries that compute them."""

    @property
    def name(self) -> str:
        """The name of the composite."""
        return super().name + FLOAT

    def holds(self, context: Any) -> bool:
        """Return whether a match is this composite."""
        return is_float_composite(self.operator, (*LAYERS, "relax.matmul"), context)


def _float_layer(name: str) -> Pattern:
    """Match pad?, a layer with constant weights, bias?, clamp?."""
    return clamped(with_bias(is_op(name)(_padded(wildcard()), _constant())))


def _float_unary(name: str) -> Pattern:
    return is_op(name)(wildcard())


def _float_binary(name: str) -> Pattern:
    return is_op(name)(wildcard(), wildcard())


FLOAT_PATTERNS: Sequence[FloatComposite] = (
    *(
        FloatComposite(name, partial(_float_layer, name))
        for name in ("relax.nn.conv1d", "relax.nn.conv2d", "relax.matmul")
    ),
    *(
        FloatComposite(f"relax.{name}", partial(_float_unary, f"relax.{name}"))
        for name in ("nn.max_pool2d", "nn.avg_pool2d", "nn.adaptive_avg_pool2d", "mean")
    ),
    *(FloatComposite(name, partial(_float_binary, name)) for name in BINARIES[:6]),
)
"""Operators on floats, after all of PATTERNS: layers with bias and clamp, and single operators."""


def fusion_patterns(
    operators: set[str], parts: Iterable[int] = (), table: Sequence[Composite] = PATTERNS
) -> list[tuple[Any, ...]]:
    """Return name, pattern and check of the composites whose main operator is one of those given.

    `parts` are the numbers of parts of all concatenations: each has a pattern of its own.
    """
    patterns: list[tuple[Any, ...]] = []
    for composite in table:
        if composite.operator == CONCAT:
            variants = [_concat(count) for count in sorted(set(parts))]
        elif WHOLES.get(composite.operator, composite.operator) in operators:
            variants = [composite.pattern()]
        else:
            continue
        patterns += [(composite.name, pattern, {}, composite.holds) for pattern in variants]
    return patterns
