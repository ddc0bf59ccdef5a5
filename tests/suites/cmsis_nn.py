"""CMSIS-NN's unit tests, run against ethosgen: networks of one layer, made of the tests' headers.

    CMSIS_NN_PATH=TREE python -m tests.suites.cmsis_nn [--on cpu ethos-u55-128 ...]

The tests call functions with multipliers, shifts and bounds. Here a layer gets scales with the same
multipliers, and bounds that no activation of TFLite has become MAXIMUM and MINIMUM after it.
"""

import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from ethosgen.frontend.tflite.identifier import FORMAT
from ethosgen.values.source import Source
from tests.suites.cmsis_nn_data import Array, TestData, scales_for, tests_in
from tests.suites.cmsis_nn_lstm import lstm_of_integers
from tests.suites.cmsis_nn_windows import image, padding, sides, window_options
from tests.suites.golden_tests import DIFFERENT, GoldenResult, GoldenTest, run_test
from tests.suites.running import GoldenSuite, commit_of, run_main
from tests.support.networks import NetworkBuilder, Spec

VARIABLE = "CMSIS_NN_PATH"
INEXACT = "no scales of float32 have all the multipliers of the test"

Build = Callable[[TestData], GoldenTest]
_BUILDERS: dict[str, Build] = {
    "lstm_unidirectional_s8": lstm_of_integers,
    "lstm_unidirectional_s16": lstm_of_integers,
}


def tree() -> Path:
    """Return the checkout of CMSIS-NN."""
    return Path(os.environ[VARIABLE])


def _builds(*kinds: str) -> Callable[[Build], Build]:
    def declare(build: Build) -> Build:
        _BUILDERS.update(dict.fromkeys(kinds, build))
        return build

    return declare


# ---- what layers share ---------------------------------------------------------------------------


def _test(
    data: TestData,
    net: NetworkBuilder,
    output: int,
    inputs: Sequence[Array],
    wrong: int = 0,
) -> GoldenTest:
    """Return the test of a network; `wrong` counts the multipliers that its scales do not have."""
    golden = data.array("output_ref", "output")
    note = f"{INEXACT}: {wrong} are others" if wrong else ""
    source = Source(FORMAT, f"{data.name}.tflite", net.build(_clamped(data, net, output)))
    return GoldenTest(data.kind, data.name, source, [(inputs, [golden])], note=note)


def _clamped(data: TestData, net: NetworkBuilder, x: int) -> int:
    """Add the bounds that the type does not have already."""
    spec = net.tensors[x]
    whole = np.iinfo(spec.dtype)
    low = data.number("OUT_ACTIVATION_MIN", "ACTIVATION_MIN", default=whole.min)
    high = data.number("OUT_ACTIVATION_MAX", "ACTIVATION_MAX", default=whole.max)
    for code, bound, end in (("MAXIMUM", low, whole.min), ("MINIMUM", high, whole.max)):
        if bound != end:
            limit = net.constant(np.array([bound], spec.dtype), None, spec.scale, spec.zero_point)
            x = net.operator(code, [x, limit], [net.like(x)])[0]
    return x


def _biases(data: TestData, channels: int) -> Array | None:
    held = next(
        (data.arrays[n] for n in ("biases", "bias", "input_bias") if n in data.arrays), None
    )
    return held if held is not None and len(held) == channels else None


def _weights(data: TestData, shape: Sequence[int]) -> tuple[Array, bool]:
    """Return the weights, and whether the test stores them in 4 bits: the first in the low ones."""
    held = data.array("weights", "input_weights")
    count = math.prod(shape)
    if len(held) == count:
        return held.reshape(shape), False
    low = (held.astype(np.int8) << 4).astype(np.int8) >> 4
    high = held.astype(np.int8) >> 4
    return np.stack([low, high], -1).reshape(-1)[:count].reshape(shape), True


def _layer(
    data: TestData,
    code: str,
    shape: Sequence[int],
    weights_shape: Sequence[int],
    out_shape: Sequence[int],
    axis: int,
    options: dict[str, object],
) -> GoldenTest:
    """Return the test of a layer with weights."""
    net = NetworkBuilder(data.name)
    array = data.array("input", "input_tensor")
    weights, is_packed = _weights(data, weights_shape)
    multipliers = data.multipliers
    in_scale, scales, out_scale, wrong = scales_for(multipliers)
    x = net.input(shape, str(array.dtype), in_scale, -data.number("INPUT_OFFSET", default=0))
    points = (-data.number("FILTER_OFFSET", default=0),) * len(scales)
    packed = Spec(
        tuple(weights_shape), "int8", tuple(scales), points, axis, "weights", weights.tobytes(),
        is_packed=is_packed,
    )  # fmt: skip
    if f"const int32_t *const {data.name}_bias = NULL" in data.text:
        options = {**options, "quantized_bias_type": "int32"}
    operands = [x, net.tensor(packed)]
    if code == "TRANSPOSE_CONV":
        operands = [net.integers(out_shape), operands[1], x]
    bias = _biases(data, weights_shape[axis])
    if bias is not None:
        bias_scales = tuple(float(np.float32(in_scale * scale)) for scale in scales)
        operands.append(net.constant(bias, None, bias_scales, (0,) * len(scales)))
    point = data.number("OUTPUT_OFFSET", default=0)
    spec = Spec(tuple(out_shape), str(array.dtype), out_scale, point)
    (y,) = net.operator(code, operands, [spec], options)
    return _test(data, net, y, [array], wrong)


# ---- layers --------------------------------------------------------------------------------------


@_builds(
    "convolve_s8", "convolve_s4", "convolve_s16", "convolve_1_x_n_s8", "convolve_1x1_s8_fast",
    "convolve_1x1_s4_fast", "grouped_convolve_s8",
)  # fmt: skip
def _convolution(data: TestData) -> GoldenTest:
    batch, height, width, depth = image(data)
    channels, taps = data.number("OUT_CH"), sides(data, "FILTER")
    groups = data.number("GROUPS", default=1)
    if data.kind.startswith("grouped"):
        count = len(data.array("weights", "input_weights"))
        groups = depth * channels * math.prod(taps) // count
    return _layer(
        data,
        "CONV_2D",
        (batch, height, width, depth),
        (channels, *taps, depth // groups),
        (batch, *sides(data, "OUTPUT"), channels),
        0,
        window_options(data, (height, width), taps),
    )


@_builds(
    "depthwise_conv_s8", "depthwise_conv_s8_opt", "depthwise_conv_s4", "depthwise_conv_s4_opt",
    "depthwise_conv_3x3_s8", "depthwise_conv_s16", "depthwise_conv_fast_s16",
)  # fmt: skip
def _depthwise(data: TestData) -> GoldenTest:
    batch, height, width, depth = image(data)
    channels, taps = data.number("OUT_CH"), sides(data, "FILTER")
    options = window_options(data, (height, width), taps)
    return _layer(
        data,
        "DEPTHWISE_CONV_2D",
        (batch, height, width, depth),
        (1, *taps, channels),
        (batch, *sides(data, "OUTPUT"), channels),
        3,
        {**options, "depth_multiplier": channels // depth},
    )


@_builds("fully_connected_s8", "fully_connected_s16", "fully_connected_s4")
def _fully_connected(data: TestData) -> GoldenTest:
    units, depth = data.number("OUT_CH"), data.number("ACCUMULATION_DEPTH")
    batch = data.number("INPUT_BATCHES", "BATCH_SIZE")
    shapes = ((batch, depth), (units, depth), (batch, units))
    return _layer(data, "FULLY_CONNECTED", *shapes, 0, {})


@_builds("transpose_conv_s8", "reverse_transpose_conv_s8")
def _transposed(data: TestData) -> GoldenTest:
    batch, height, width, depth = image(data)
    channels, taps, out = data.number("OUT_CH"), sides(data, "FILTER"), sides(data, "OUTPUT")
    down, right = sides(data, "STRIDE")
    is_same = out == (height * down, width * right)
    return _layer(
        data,
        "TRANSPOSE_CONV",
        (batch, height, width, depth),
        (channels, *taps, depth),
        (batch, *out, channels),
        0,
        {"padding": "SAME" if is_same else "VALID", "stride_h": down, "stride_w": right},
    )


@_builds("avgpool_s8", "avgpool_s16", "max_pool_s8", "max_pool_s16")
def _pool(data: TestData) -> GoldenTest:
    batch, height, width, depth = image(data)
    (down, right), taps = sides(data, "STRIDE"), sides(data, "FILTER")
    array = data.array("input", "input_tensor")
    net = NetworkBuilder(data.name)
    x = net.input((batch, height, width, depth), str(array.dtype), 1.0, 0)
    code = "AVERAGE_POOL_2D" if data.kind.startswith("avg") else "MAX_POOL_2D"
    options = {
        "padding": padding(data, (height, width), taps),
        "stride_h": down,
        "stride_w": right,
        "filter_height": taps[0],
        "filter_width": taps[1],
    }
    shape = (batch, *sides(data, "OUTPUT"), depth)
    (y,) = net.operator(code, [x], [net.like(x, shape)], options)
    return _test(data, net, y, [array])


@_builds("elementwise_add_s8", "elementwise_add_s16")
def _add(data: TestData) -> GoldenTest:
    """Give scales to ADD: TFLite shifts operands to the left, and divides by twice the larger."""
    first, second = (data.factor(f"INPUT{n}_MULT", f"INPUT{n}_SHIFT") for n in (1, 2))
    whole = math.ldexp(data.factor("OUTPUT_MULT", "OUTPUT_SHIFT"), data.number("LEFT_SHIFT"))
    larger, (unit,), out_scale, wrong = scales_for([whole])
    scales = (first * larger, second * larger)
    return _elementwise(data, "ADD", scales, out_scale / unit, wrong)


@_builds("elementwise_mul_s8", "elementwise_mul_s16")
def _mul(data: TestData) -> GoldenTest:
    first, (second,), out_scale, wrong = scales_for(data.multipliers)
    return _elementwise(data, "MUL", (first, second), out_scale, wrong)


def _elementwise(
    data: TestData, code: str, scales: Sequence[float], out_scale: float, wrong: int
) -> GoldenTest:
    net = NetworkBuilder(data.name)
    arrays = [data.array(f"input{n}") for n in (1, 2)]
    operands = [
        net.input((1, len(array)), str(array.dtype), scale, -data.number(f"INPUT{n}_OFFSET"))
        for n, (array, scale) in enumerate(zip(arrays, scales, strict=True), 1)
    ]
    spec = net.like(operands[0], scale=out_scale, zero_point=data.number("OUTPUT_OFFSET"))
    (y,) = net.operator(code, operands, [spec])
    return _test(data, net, y, arrays, wrong)


@_builds("maximum_minimum_s8")
def _extreme(data: TestData) -> GoldenTest:
    net = NetworkBuilder(data.name)
    arrays = [data.array(f"input_tensor_{n}") for n in (1, 2)]
    shapes = [
        tuple(data.number(f"{axis}_{n}") for axis in ("BATCH", "HEIGHT", "WIDTH", "CHANNEL"))
        for n in (1, 2)
    ]
    operands = [net.input(shape, "int8", 1.0, 0) for shape in shapes]
    code = data.name.partition("_")[0].upper()
    spec = net.like(operands[0], np.broadcast_shapes(*shapes))
    (y,) = net.operator(code, operands, [spec])
    return _test(data, net, y, arrays)


@_builds("pad_s8")
def _pad(data: TestData) -> GoldenTest:
    net = NetworkBuilder(data.name)
    shape = [data.number(f"INPUT_{axis}") for axis in "NHWC"]
    pads = [[data.number(f"{end}_PAD_{axis}") for end in ("PRE", "POST")] for axis in "NHWC"]
    value = data.number("PAD_VALUE")
    x = net.input(shape, "int8", 1.0, value)
    out = [size + sum(pair) for size, pair in zip(shape, pads, strict=True)]
    (y,) = net.operator("PAD", [x, net.integers(pads)], [net.like(x, out)])
    return _test(data, net, y, [data.array("input", "input_tensor")])


@_builds("softmax_s8", "softmax_s16", "softmax_s8_s16")
def _softmax(data: TestData) -> GoldenTest:
    """Give a scale to SOFTMAX: int8 has 26 bits of fraction, int16 a table of 513 over 10."""
    net = NetworkBuilder(data.name)
    array, golden = data.array("input"), data.array("output_ref", "output")
    factor = data.factor("INPUT_MULT", "INPUT_LEFT_SHIFT")
    is_byte = array.dtype == np.int8
    scale = math.ldexp(factor, -26) if is_byte else factor * (10.0 / 65535.0)
    shape = data.number("NUM_ROWS"), data.number("ROW_SIZE")
    x = net.input(shape, str(array.dtype), float(np.float32(scale)), 0)
    ends = {"int8": (1 / 256, -128), "int16": (1 / 32768, 0)}
    if is_byte and golden.dtype == np.int16:
        ends["int16"] = (1 / 65536, -32768)
    out_scale, point = ends[str(golden.dtype)]
    spec = Spec(shape, str(golden.dtype), out_scale, point)
    (y,) = net.operator("SOFTMAX", [x], [spec], {"beta": 1.0})
    return _test(data, net, y, [array])


@_builds("batch_matmul_s8", "batch_matmul_s16")
def _batch_matmul(data: TestData) -> GoldenTest:
    net = NetworkBuilder(data.name)
    arrays = [data.array(f"{side}_input_tensor") for side in ("lhs", "rhs")]
    first, (second,), out_scale, wrong = scales_for(data.multipliers)
    dtype = str(arrays[0].dtype)
    operands = [
        net.input(_matrices(data, side), dtype, scale, -data.number(f"{side}_OFFSET", default=0))
        for side, scale in (("LHS", first), ("RHS", second))
    ]
    point = data.number("OUTPUT_OFFSET", default=0)
    spec = Spec(_matrices(data, "OUTPUT"), dtype, out_scale, point)
    flags = {name: bool(data.number(name.upper())) for name in ("adj_x", "adj_y")}
    (y,) = net.operator("BATCH_MATMUL", operands, [spec], flags)
    return _test(data, net, y, arrays, wrong)


def _matrices(data: TestData, side: str) -> tuple[int, ...]:
    return tuple(data.number(f"{side}_{axis}") for axis in ("BATCH", "HEIGHT", "ROWS", "COLS"))


@_builds("transpose_s8")
def _transpose(data: TestData) -> GoldenTest:
    net = NetworkBuilder(data.name)
    rank = data.number("PERM_SIZE")
    x = net.input(data.numbers("IN_DIM")[:rank], "int8", 1.0, 0)
    order = net.integers(data.numbers("PERM")[:rank])
    (y,) = net.operator("TRANSPOSE", [x, order], [net.like(x, data.numbers("OUT_DIM")[:rank])])
    return _test(data, net, y, [data.array("input_tensor", "input")])


@_builds("svdf_state_s16_s8", "svdf_s8")
def _svdf(data: TestData) -> GoldenTest:
    """Return the test of a sequence; the suite compares only what the last input leads to."""
    net = NetworkBuilder(data.name)
    batch, size, rank = (data.number(n) for n in ("INPUT_BATCHES", "INPUT_SIZE", "RANK"))
    filters, memory = data.number("FEATURE_BATCHES"), data.number("TIME_BATCHES")
    features, times = data.array("weights_feature"), data.array("weights_time")
    dtype = str(times.dtype)
    in_scale, (feature_scale,), state_scale, wrong = scales_for(
        [data.factor("MULTIPLIER_IN", "SHIFT_1")]
    )
    ratio, (time_scale,), out_scale, others = scales_for([data.factor("MULTIPLIER_OUT", "SHIFT_2")])
    out_scale *= state_scale / ratio
    point = data.number("INPUT_OFFSET")  # here the zero point itself
    operands = [
        net.input((batch, size), "int8", in_scale, point),
        net.constant(features.reshape(filters, size), None, feature_scale),
        net.constant(times.reshape(filters, memory), None, time_scale),
        net.constant(data.array("biases"), "int32", state_scale * time_scale)
        if "biases" in data.arrays
        else -1,
        net.variable(Spec((batch, filters * memory), dtype, state_scale, 0)),
    ]
    spec = Spec((batch, filters // rank), "int8", out_scale, data.number("OUTPUT_OFFSET"))
    (y,) = net.operator("SVDF", operands, [spec], {"rank": rank})
    test = _test(data, net, y, [], wrong + others)
    steps = data.array("input_sequence").reshape(-1, batch, size)
    ((_, golden),) = test.samples
    return replace(test, samples=[([step], None) for step in steps[:-1]] + [([steps[-1]], golden)])


# ---- the suite -----------------------------------------------------------------------------------


@cache
def _data() -> dict[str, TestData]:
    return {f"{data.kind}/{data.name}": data for data in tests_in(tree())}


@cache
def _made(name: str) -> GoldenTest:
    data = _data()[name]
    return _BUILDERS[data.kind](data)


def names() -> list[str]:
    """Return the names of the tests that are one layer, each with the function's in front."""
    return [name for name, data in _data().items() if data.kind in _BUILDERS]


def run_named(name: str, on: str) -> GoldenResult:
    """Run one test in this process."""
    return run_test(_made(name), on)


def cause(result: GoldenResult) -> str:
    """Explain a difference."""
    if result.end == DIFFERENT and result.like_oracle and result.note:
        return f"{INEXACT}; TensorFlow Lite Micro's outputs are ours"
    if result.end == DIFFERENT and result.on_npu and result.like_oracle is False:
        return "the NPU's commands differ; the check, off here, leaves the layer to the CPU"
    return ""


SUITE = GoldenSuite(
    "cmsis_nn",
    "CMSIS-NN, unit tests",
    "Networks of one layer with the tests' weights, multipliers, inputs and golden outputs, which "
    "must be equal.",
    lambda: commit_of(tree()),
    names,
    run_named,
    cause,
    variable=VARIABLE,
)

if __name__ == "__main__":
    sys.exit(run_main(SUITE))
