"""From sums to elements: float64 must give the same as 64-bit integers."""

import dataclasses

import numpy as np
import pytest

from ethosgen.backend.ethosu.isa import (
    AccFormat,
    ActivationClipRange,
    ActivationFormat,
    ActivationFunction,
    OfmScaleMode,
    RoundMode,
)
from ethosgen.backend.ethosu.simulator.operation import Activation, FeatureMap, Output, Scale
from ethosgen.backend.ethosu.simulator.ops.context import Context, Shram, WeightCache
from ethosgen.backend.ethosu.simulator.ops.quantize import Factors, exact, integers
from ethosgen.backend.ethosu.simulator.scaling import Ints
from tests.support.npu_bench import Bench

CHANNELS = 40
REACH = 1 << 20


def output(dtype: str, zero_point: int, low: int, high: int, rounding: RoundMode) -> Output:
    fm = FeatureMap(1, (0, 0, 0, 0), (0, 0, 0), 1, 1, 1, ActivationFormat.NHWC, dtype, zero_point)
    clip = ActivationClipRange.OFM_PRECISION
    return Output(
        fm=fm,
        shape=(1, 1, CHANNELS),
        scale_mode=OfmScaleMode.PER_CHANNEL,
        scale=Scale(1, 0),
        rounding=rounding,
        activation=Activation(ActivationFunction.RELU, clip, low, high),
        block=(1, 1, 1),
        acc_format=AccFormat.I32,
    )


def make_factors(random: np.random.Generator) -> Factors:
    return Factors(
        random.integers(-(1 << 20), 1 << 20, CHANNELS),
        random.integers(1 << 30, 1 << 31, CHANNELS),
        random.integers(30, 44, CHANNELS),
    )


def make_sums(random: np.random.Generator, factors: Factors) -> Ints:
    """Draw sums, and those whose scaled values lie at halves, where rounding shows."""
    halves = random.integers(-140, 140, (300, CHANNELS)) + 0.5
    near = np.round(halves * 2.0**factors.shift / factors.scale).astype(np.int64) - factors.bias
    near += random.integers(-1, 2, near.shape)
    drawn = random.integers(-REACH, REACH + 1, (100, CHANNELS))
    return np.concatenate([drawn, np.clip(near, -REACH, REACH)])


@pytest.mark.parametrize("rounding", [RoundMode.DBL, RoundMode.NATURAL])
@pytest.mark.parametrize(
    ("dtype", "zero_point", "low", "high"),
    [("i1", -128, -128, 127), ("i1", 5, -128, 127), ("u1", 3, 10, 200), ("<i2", 0, -32768, 32767)],
)
def test_floats_and_integers_agree(
    dtype: str, zero_point: int, low: int, high: int, rounding: RoundMode
) -> None:
    random = np.random.default_rng(17)
    ofm = output(dtype, zero_point, low, high, rounding)
    bench = Bench()
    context = Context(bench.machine.accelerator, bench.machine.bus, [], Shram(0), WeightCache())
    for _ in range(10):
        factors = make_factors(random)
        sums = make_sums(random, factors)
        stage = exact(ofm, factors, np.full(CHANNELS, REACH))
        assert stage is not None
        quantize = integers(context, ofm, factors, REACH)
        assert np.array_equal(stage.finish(stage.scale(sums)), quantize(sums))


def test_what_floats_cannot_hold_is_left_to_integers() -> None:
    random = np.random.default_rng(1)
    ofm = output("i1", 0, -128, 127, RoundMode.DBL)
    factors = make_factors(random)
    assert exact(ofm, factors, np.full(CHANNELS, 1 << 20)) is not None
    assert exact(ofm, factors, np.full(CHANNELS, 1 << 23)) is None  # 2**23 * 2**30 and more
    truncating = dataclasses.replace(ofm, rounding=RoundMode.TRUNCATE)
    assert exact(truncating, factors, np.full(CHANNELS, 1 << 20)) is None
    tanh = dataclasses.replace(ofm.activation, function=ActivationFunction.TANH)
    curved = dataclasses.replace(ofm, activation=tanh)
    assert exact(curved, factors, np.full(CHANNELS, 1 << 20)) is None
