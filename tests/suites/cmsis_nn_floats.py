"""CMSIS-NN's unit tests in float32, run against ethosgen: networks of one layer, as the integers'.

    CMSIS_NN_PATH=TREE python -m tests.suites.cmsis_nn_floats --on cpu

The outputs are PyTorch's, and each test says how far they may be. Bounds become MAXIMUM and MINIMUM
after the layer, and padding that TFLite does not have becomes PAD before it.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ethosgen.frontend.tflite.identifier import FORMAT
from ethosgen.values.source import Source
from tests.suites.cmsis_nn import VARIABLE, tree
from tests.suites.cmsis_nn_data import Array, TestData
from tests.suites.cmsis_nn_lstm import GATES, add_lstm, gate_shape, sequence_shape, state_shape
from tests.suites.cmsis_nn_windows import image, padding, sides, window_options
from tests.suites.golden_tests import GoldenResult, GoldenTest, run_test
from tests.suites.running import GoldenSuite, commit_of, run_main
from tests.support.networks import NetworkBuilder, Spec

FLOAT = "float32"
_MACRO = re.compile(r"^RUN_\w+_CASE\(\w+, (\w+), (?:\w+, )?([\d.e+-]+)f\)", re.MULTILINE)
_WITHIN = re.compile(r"WITHIN\(([\d.e+-]+)f, (\w+_f32)_output_ref(?:_(?!data\b)(\w+)|_data)?\[")


@dataclass(frozen=True)
class FloatTest:
    """The data of a test, how far outputs may be, and the part of the data that it uses."""

    data: TestData
    tolerance: float
    part: str = ""

    @property
    def name(self) -> str:
        """The data's name and the part's."""
        return "_".join(filter(None, (self.data.name, self.part)))


Layer = Callable[[FloatTest, NetworkBuilder], tuple[int, Sequence[Array]]]
"""Adds a layer, or several; returns its output and the arrays of the network's inputs."""
_LAYERS: dict[str, Layer] = {}


def _adds(*kinds: str) -> Callable[[Layer], Layer]:
    def declare(layer: Layer) -> Layer:
        _LAYERS.update({f"{kind}_f32": layer for kind in kinds})
        return layer

    return declare


def _constant(net: NetworkBuilder, array: Array, shape: Sequence[int]) -> int:
    return net.constant(array.reshape(shape))


def _bounded(data: TestData, net: NetworkBuilder, x: int) -> int:
    """Add the bounds of a layer's outputs."""
    for code, end in (("MAXIMUM", "MIN"), ("MINIMUM", "MAX")):
        names = [f"{stem}ACTIVATION_{end}" for stem in ("OUT_", "OUTPUT_", "")]
        held = next((name for name in names if name in data.facts), None)
        if held:
            limit = net.constant(np.array([data.real(held)], np.float32))
            (x,) = net.operator(code, [x, limit], [net.like(x)])
    return x


def _input(net: NetworkBuilder, shape: Sequence[int]) -> int:
    return net.input(shape, FLOAT, None, 0)


# ---- layers with windows -------------------------------------------------------------------------


def _windowed(
    data: TestData, net: NetworkBuilder, x: int, taps: Sequence[int], edge: float
) -> tuple[int, dict[str, object]]:
    """Return the input and the options of a window, with `edge` around it if TFLite pads less."""
    sizes = net.tensors[x].shape[1:3]
    try:
        return x, window_options(data, sizes, taps)
    except ValueError:
        pads = _pads(data, sizes, taps)
    shape = net.tensors[x].shape
    out = [size + sum(pair) for size, pair in zip(shape, pads, strict=True)]
    value = net.constant(np.array([edge], np.float32))
    (x,) = net.operator("PADV2", [x, net.integers(pads), value], [net.like(x, out)])
    (down, right), (rows, columns) = sides(data, "STRIDE"), sides(data, "DILATION", 1)
    return x, {
        "padding": "VALID",
        "stride_h": down,
        "stride_w": right,
        "dilation_h_factor": rows,
        "dilation_w_factor": columns,
    }


def _pads(data: TestData, sizes: Sequence[int], taps: Sequence[int]) -> list[tuple[int, int]]:
    """Return what is before and after each axis: what the test says, and what is missing behind."""
    facts = zip(
        sizes, taps, sides(data, "DILATION", 1), sides(data, "STRIDE"), sides(data, "OUTPUT"),
        sides(data, "PADDING"), strict=True,
    )  # fmt: skip
    pads = [(p, max((o - 1) * s + (k - 1) * d + 1 - n - p, 0)) for n, k, d, s, o, p in facts]
    return [(0, 0), *pads, (0, 0)]


def _convolved(
    test: FloatTest, net: NetworkBuilder, code: str, weights_shape: Sequence[int], more: int
) -> tuple[int, Sequence[Array]]:
    data = test.data
    array = data.array("input_data", "input")
    x, taps = _input(net, image(data)), sides(data, "FILTER")
    source, options = _windowed(data, net, x, taps, 0.0)
    if more:
        options["depth_multiplier"] = more
    channels = data.number("OUT_CH")
    operands = [source, _constant(net, data.array("weights_data"), weights_shape)]
    if not data.number("USE_NULL_BIAS", default=0):
        operands.append(net.constant(data.array("biases_data")))
    shape = (image(data)[0], *sides(data, "OUTPUT"), channels)
    (y,) = net.operator(code, operands, [net.like(x, shape)], options)
    return _bounded(data, net, y), [array]


@_adds("convolve")
def _convolution(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    data = test.data
    shape = (data.number("OUT_CH"), *sides(data, "FILTER"), data.number("IN_CH"))
    return _convolved(test, net, "CONV_2D", shape, 0)


@_adds("depthwise_conv")
def _depthwise(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    data = test.data
    shape = (1, *sides(data, "FILTER"), data.number("OUT_CH"))
    return _convolved(test, net, "DEPTHWISE_CONV_2D", shape, data.number("CH_MULT"))


@_adds("transpose_conv")
def _transposed(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    """Add a layer without padding, of whose output the test has a part."""
    data = test.data
    batch, height, width, depth = image(data)
    channels, taps, strides = data.number("OUT_CH"), sides(data, "FILTER"), sides(data, "STRIDE")
    whole = [(n - 1) * s + k for n, s, k in zip((height, width), strides, taps, strict=True)]
    x = _input(net, (batch, height, width, depth))
    weights = _constant(net, data.array("weights"), (channels, *taps, depth))
    full = (batch, *whole, channels)
    options = {"padding": "VALID", "stride_h": strides[0], "stride_w": strides[1]}
    bias = net.constant(data.array("biases"))
    operands = [net.integers(full), weights, x, bias]
    (y,) = net.operator("TRANSPOSE_CONV", operands, [net.like(x, full)], options)
    begin, size = [0, *sides(data, "PADDING"), 0], (batch, *sides(data, "OUTPUT"), channels)
    (y,) = net.operator("SLICE", [y, net.integers(begin), net.integers(size)], [net.like(x, size)])
    return _bounded(data, net, y), [data.array("input")]


@_adds("avg_pool", "max_pool")
def _pool(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    data = test.data
    batch, height, width, depth = image(data)
    taps, (down, right) = sides(data, "FILTER"), sides(data, "STRIDE")
    x = _input(net, (batch, height, width, depth))
    options = {
        "padding": padding(data, (height, width), taps),
        "stride_h": down,
        "stride_w": right,
        "filter_height": taps[0],
        "filter_width": taps[1],
    }
    code = "AVERAGE_POOL_2D" if data.kind.startswith("avg") else "MAX_POOL_2D"
    shape = (batch, *sides(data, "OUTPUT"), depth)
    (y,) = net.operator(code, [x], [net.like(x, shape)], options)
    return _bounded(data, net, y), [data.array("input_tensor")]


# ---- other layers --------------------------------------------------------------------------------


@_adds("activation")
def _activation(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    array = test.data.array("input")
    x = _input(net, array.shape)
    codes = {"sigmoid": "LOGISTIC", "hardswish": "HARD_SWISH"}
    code = codes.get(test.part, test.part.upper())
    is_leaky = code == "LEAKY_RELU"
    options = {"alpha": test.data.real("LEAKY_RELU_PARAM")} if is_leaky else {}
    return net.operator(code, [x], [net.like(x)], options)[0], [array]


@_adds("elementwise_add", "elementwise_mul")
def _elementwise(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    arrays = [test.data.array(f"input{n}") for n in (1, 2)]
    operands = [_input(net, (1, len(array))) for array in arrays]
    code = test.data.kind.split("_")[1].upper()
    (y,) = net.operator(code, operands, [net.like(operands[0])])
    return _bounded(test.data, net, y), arrays


@_adds("maximum_minimum")
def _extreme(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    axes = ("BATCH", "HEIGHT", "WIDTH", "CHANNEL")
    shapes = [tuple(test.data.number(f"{axis}_{n}") for axis in axes) for n in (1, 2)]
    operands = [_input(net, shape) for shape in shapes]
    code = test.name.partition("_")[0].upper()
    spec = net.like(operands[0], np.broadcast_shapes(*shapes))
    arrays = [test.data.array(f"input_tensor_{n}") for n in (1, 2)]
    return net.operator(code, operands, [spec])[0], arrays


@_adds("batch_norm")
def _normalized(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    """Add a product and a sum by channel."""
    x = y = _input(net, image(test.data))
    for code, name in (("MUL", "scale"), ("ADD", "bias")):
        (y,) = net.operator(code, [y, net.constant(test.data.array(name))], [net.like(x)])
    return y, [test.data.array("input")]


@_adds("concatenation")
def _concatenation(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    first = [test.data.number(f"INPUT_{axis}") for axis in "NHW"]
    names = ("LHS", "RHS")
    operands = [_input(net, (*first, test.data.number(f"{name}_C"))) for name in names]
    spec = net.like(operands[0], (*first, test.data.number("OUTPUT_C")))
    (y,) = net.operator("CONCATENATION", operands, [spec], {"axis": 3})
    return y, [test.data.array(f"{name.lower()}_input") for name in names]


@_adds("pad")
def _pad(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    data = test.data
    pads = [[data.number(f"{end}_PAD_{axis}") for end in ("PRE", "POST")] for axis in "NHWC"]
    x = _input(net, [data.number(f"INPUT_{axis}") for axis in "NHWC"])
    spec = net.like(x, [data.number(f"OUTPUT_{axis}") for axis in "NHWC"])
    value = net.constant(np.array([data.real("PAD_VALUE")], np.float32))
    return net.operator("PADV2", [x, net.integers(pads), value], [spec])[0], [
        data.array("input_tensor")
    ]


@_adds("transpose")
def _transpose(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    data = test.data
    rank = data.number("NUM_DIMS")
    x, out = (
        [data.number(f"{end}_{axis}") for axis in "NHWC"[:rank]] for end in ("INPUT", "OUTPUT")
    )
    order = net.integers([data.number(f"PERM_{n}") for n in range(rank)])
    source = _input(net, x)
    (y,) = net.operator("TRANSPOSE", [source, order], [net.like(source, out)])
    return y, [data.array("input_tensor")]


@_adds("softmax")
def _softmax(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    x = _input(net, (test.data.number("NUM_ROWS"), test.data.number("ROW_SIZE")))
    return net.operator("SOFTMAX", [x], [net.like(x)], {"beta": 1.0})[0], [test.data.array("input")]


@_adds("fully_connected")
def _fully_connected(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    data = test.data
    batch, depth = data.number("INPUT_BATCHES"), data.number("INPUT_SIZE")
    units = data.number("OUT_CH")
    x = _input(net, (batch, depth))
    operands = [x, _constant(net, data.array("weights_data"), (units, depth))]
    if data.number("HAS_BIAS"):
        operands.append(net.constant(data.array("biases_data")))
    (y,) = net.operator("FULLY_CONNECTED", operands, [net.like(x, (batch, units))])
    return _bounded(data, net, y), [data.array("input_data")]


@_adds("batch_matmul")
def _batch_matmul(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    """Add a product; the suite's function wants the second matrix by columns if TFLite does not."""
    data = test.data
    shapes = [_matrices(data, side) for side in ("LHS", "RHS")]
    flags = {name: bool(data.number(name.upper())) for name in ("adj_x", "adj_y")}
    first = data.array("lhs_transposed_tensor" if flags["adj_x"] else "lhs_input_tensor")
    second = data.array("rhs_input_tensor")
    if flags["adj_y"]:
        *batch, rows, columns = shapes[1]
        second = second.reshape(*batch, columns, rows).swapaxes(-1, -2)
    operands = [_input(net, shape) for shape in shapes]
    spec = net.like(operands[0], _matrices(data, "OUTPUT"))
    (y,) = net.operator("BATCH_MATMUL", operands, [spec], flags)
    return _bounded(data, net, y), [first, second]


def _matrices(data: TestData, side: str) -> tuple[int, ...]:
    return tuple(data.number(f"{side}_{axis}") for axis in ("BATCH", "HEIGHT", "ROWS", "COLS"))


@_adds("lstm_unidirectional")
def _lstm(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    data = test.data
    x = _input(net, sequence_shape(data, "INPUT"))
    weights = [
        _constant(net, data.array(f"{gate}_{side}_weights"), gate_shape(data, side.upper()))
        for side in ("input", "hidden")
        for gate in GATES
    ]
    biases = [net.constant(data.array(f"{gate}_bias")) for gate in GATES]
    state = Spec(state_shape(data), FLOAT)
    return add_lstm(data, net, [x, *weights], biases, (state, state)), [data.array("input")]


@_adds("ds_cnn_s_body")
def _body(test: FloatTest, net: NetworkBuilder) -> tuple[int, Sequence[Array]]:
    """Add a network: blocks of two convolutions, a mean, a layer and SOFTMAX."""
    data = test.data
    batch, height, width, depth = image(data)
    x = y = _input(net, (batch, height, width, depth))
    plain = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    active = {**plain, "fused_activation_function": "RELU"}
    for block in range(data.number("NUM_BLOCKS")):
        for code, stem, shape, more in (
            ("DEPTHWISE_CONV_2D", "dwconv", (1, 3, 3, depth), {"depth_multiplier": 1}),
            ("CONV_2D", "pwconv", (depth, 1, 1, depth), {}),
        ):
            weights, biases = (
                data.array(f"{stem}{block}_{part}_data") for part in ("weights", "biases")
            )
            operands = [y, _constant(net, weights, shape), net.constant(biases)]
            (y,) = net.operator(code, operands, [net.like(x)], {**active, **more})
    window = {**plain, "padding": "VALID", "filter_height": height, "filter_width": width}
    (y,) = net.operator("AVERAGE_POOL_2D", [y], [net.like(x, (batch, 1, 1, depth))], window)
    units = data.number("NUM_CLASSES")
    fc = _constant(net, data.array("fc_weights_data"), (units, depth))
    operands = [y, fc, net.constant(data.array("fc_biases_data"))]
    (y,) = net.operator("FULLY_CONNECTED", operands, [net.like(x, (batch, units))])
    return net.operator("SOFTMAX", [y], [net.like(y)], {"beta": 1.0})[0], [data.array("input_data")]


# ---- the suite -----------------------------------------------------------------------------------


def float_tests() -> Iterator[FloatTest]:
    """Yield the tests of the checkout that have data."""
    cases = tree() / "Tests" / "UnitTest" / "TestCases"
    for folder in sorted(cases.glob("test_arm_*_f32")):
        text = "".join(file.read_text() for file in folder.glob("*.c"))
        tolerances = {(name, ""): float(far) for name, far in _MACRO.findall(text)}
        for far, name, part in _WITHIN.findall(text):
            tolerances.setdefault((name, part), float(far))
        kind = folder.name.removeprefix("test_arm_")
        for (name, part), far in sorted(tolerances.items()):
            yield FloatTest(TestData(cases / "TestData" / name, kind), far, part)


@cache
def _tests() -> dict[str, FloatTest]:
    return {f"{test.data.kind}/{test.name}": test for test in float_tests()}


def names() -> list[str]:
    """Return the names of the tests that TFLite's operators express."""
    return [name for name, test in _tests().items() if test.data.kind in _LAYERS]


def golden_test(test: FloatTest) -> GoldenTest:
    """Return the network of a test, its inputs and its golden outputs."""
    net = NetworkBuilder(test.name)
    y, arrays = _LAYERS[test.data.kind](test, net)
    golden = test.data.array(*(f"{stem}_{test.part}".rstrip("_") for stem in _GOLDEN))
    source = Source(FORMAT, f"{test.name}.tflite", net.build(y))
    return GoldenTest(test.data.kind, test.name, source, [(arrays, [golden])], atol=test.tolerance)


_GOLDEN = ("output_ref", "output_ref_data", "output")


def run_named(name: str, on: str) -> GoldenResult:
    """Run one test in this process."""
    return run_test(golden_test(_tests()[name]), on)


SUITE = GoldenSuite(
    "cmsis_nn_floats",
    "CMSIS-NN, unit tests in float32",
    "Networks of one layer, and one of 11 layers, with the tests' weights and inputs. The golden "
    "outputs are PyTorch's, with each test's own tolerance. Not run: SVDF with bounds on its "
    "state, which TFLite does not have, packed weights, a RESHAPE without data, and float16.",
    lambda: commit_of(tree()),
    names,
    run_named,
    variable=VARIABLE,
)

if __name__ == "__main__":
    sys.exit(run_main(SUITE))
