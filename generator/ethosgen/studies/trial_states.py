"""Random operators that keep a state between inferences, to try an accelerator with.

A trial's samples are a sequence: each continues with the state that the one before left.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ethosgen.studies.trial_builder import Build, TrialBuilder
from ethosgen.values.network import ABSENT, Quantization

_SIZES = (1, 2, 3, 4, 5, 8, 12)
_GATES = 4
_INT8_STD, _STATE_STD = 73, 8000
"""The usual magnitudes of random int8, and of the int16 state of an SVDF."""
_TIME_LIMIT = 900
"""With larger weights of time the sum of an SVDF with a large state exceeds 32 bits."""


def _size(maker: TrialBuilder) -> int:
    return int(maker.one_of(_SIZES))


def _svdf(maker: TrialBuilder, code: str, before: int | None) -> int:
    batch, depth = int(maker.one_of((1, 1, 2))), _size(maker)
    units, memory, rank = _size(maker), _size(maker), int(maker.one_of((1, 1, 2)))
    source = before if before is not None else maker.input((batch, depth))
    batch, depth = maker.shape(source)
    filters, sizes = units * rank, (batch, units * rank * memory)
    shapes = ((filters, depth), (filters, memory), (units,))
    if maker.is_real:
        values = (maker.random.normal(0, 0.5, shape).astype(np.float32) for shape in shapes)
        weights = [maker.constant(value, None) for value in values]
        state, target = None, None
    else:
        state, target, weights = _svdf_integers(maker, source, shapes)
    kind = "float32" if maker.is_real else "int16"
    kept = maker.tensor(sizes, state, kind, is_variable=True)
    output = maker.tensor((batch, units), target)
    return maker.operator(
        code,
        (source, *weights, kept),
        output,
        rank=rank,
        fused_activation_function=maker.one_of(("NONE", "RELU")),
    )


def _svdf_integers(
    maker: TrialBuilder, source: int, shapes: tuple[tuple[int, ...], ...]
) -> tuple[Quantization | None, Quantization | None, list[int]]:
    """Return the quantizations of state and output, and the constants."""
    feature_shape, time_shape, units = shapes
    kinds = ((feature_shape, 127, np.int8), (time_shape, _TIME_LIMIT, np.int16))
    feature, time = (maker.random.integers(-m, m + 1, shape).astype(k) for shape, m, k in kinds)
    into, rate = maker.scale() / 4, maker.scale() / 64
    factor = maker.scale_of(source) * into
    state = factor * math.sqrt(feature_shape[1]) * _INT8_STD**2 / _STATE_STD * maker.factor
    wide = _STATE_STD * _TIME_LIMIT / 2 * math.sqrt(time_shape[1])
    target = state * rate * wide / 60 * maker.factor
    if maker.trial.style == "ties":
        state = factor * 2.0 ** round(math.log2(max(state / factor, 1.0)))
        target = state * rate * 2.0 ** round(math.log2(max(target / (state * rate), 1.0)))
    bias = maker.random.integers(-500, 500, units).astype(np.int32)
    constants = [
        maker.constant(feature, maker.quantized(into, 0)),
        maker.constant(time, maker.quantized(rate, 0)),
        maker.constant(bias, maker.quantized(state * rate, 0)),
    ]
    return maker.quantized(state, 0), maker.quantized(target, maker.point()), constants


def _lstm(maker: TrialBuilder, code: str, before: int | None) -> int:
    if before is None:
        before = maker.input((int(maker.one_of((1, 1, 2))), _size(maker), _size(maker)))
    if len(maker.shape(before)) != 3:
        raise ValueError("an LSTM follows nothing")
    batch, steps, features = maker.shape(before)
    units = _size(maker)
    inputs = [_gate_weights(maker, (units, features)) for _ in range(_GATES)]
    recurrent = [_gate_weights(maker, (units, units)) for _ in range(_GATES)]
    biases = [_gate_bias(maker, before, weights) for weights in inputs]
    real, dtype = maker.is_real, maker.trial.dtype
    hidden = maker.quantized(1 / (128 if dtype == "int8" else 32768), 3 if dtype == "int8" else 0)
    kept = (
        maker.tensor((batch, units), hidden, is_variable=True),
        maker.tensor(
            (batch, units),
            maker.quantized(2.0**-11, 0),
            dtype if real else "int16",
            is_variable=True,
        ),
    )
    output = maker.tensor((batch, steps, units), hidden)
    absent = [ABSENT] * 3
    ends = (before, *inputs, *recurrent, *absent, *biases, ABSENT, ABSENT, *kept, *absent, ABSENT)
    inner = [] if real else [_inner(maker, 2.0**-12, "int16") for _ in range(_GATES)]
    inner += [] if real else [_inner(maker, maker.scale_of(output), dtype)]
    options: dict[str, Any] = {"fused_activation_function": "TANH", "time_major": False}
    return maker.operator(code, ends, output, tuple(inner), **options)


def _inner(maker: TrialBuilder, scale: float, dtype: str) -> int:
    return maker.tensor((0,), maker.quantized(scale, 0), dtype)


def _gate_weights(maker: TrialBuilder, shape: tuple[int, int]) -> int:
    if maker.is_real:
        values = maker.random.normal(0, 1 / math.sqrt(shape[1]), shape)
        return maker.constant(values.astype(np.float32), None)
    scale = maker.random.uniform(0.5, 3.0) / (60 * math.sqrt(shape[1]))
    values = maker.random.integers(-127, 128, shape).astype(np.int8)
    return maker.constant(values, maker.quantized(scale, 0))


def _gate_bias(maker: TrialBuilder, source: int, weights: int) -> int:
    units = maker.shape(weights)[0]
    if maker.is_real:
        return maker.constant(maker.random.normal(0, 0.3, units).astype(np.float32), None)
    kind = np.int64 if maker.trial.dtype == "int16" else np.int32
    values = maker.random.integers(-3000, 3000, units).astype(kind)
    scale = maker.scale_of(source) * maker.scale_of(weights)
    return maker.constant(values, maker.quantized(scale, 0))


BUILD: Mapping[str, Build] = {
    "SVDF": _svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
}
"""The builders by the operator's code."""
