"""What Vela compiles to something else for U85 stays on the CPU there."""

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import CompileTarget, find_errata, offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.oracle.litert import litert_outputs
from ethosgen.values.errors import NpuFault
from ethosgen.values.network import Network
from tests.support.networks import NetworkBuilder, Spec

NPU = "ethos-u85-256"
EVERY = 256
"""The number of 8-bit values; each is compared with each."""


def _compared(scale: float, other: float) -> Network:
    net = NetworkBuilder("comparison")
    x = net.input((EVERY, 1), "int8", scale, 0)
    y = net.input((1, EVERY), "int8", other, 0)
    net.apply("LESS", x, y)
    return decode_network(net.build(), "comparison")


def _errata(network: Network, npu: str = NPU, oracle: str = "tflm") -> set[str]:
    return {why.erratum for why in find_errata(network, CompileTarget(npu), oracle).values()}


def _differs(network: Network) -> bool:
    """Return whether the NPU's outputs differ from LiteRT's for some of all pairs of values."""
    values = np.arange(-128, 128).astype(np.int8)
    x, y = network.inputs
    sample = {x.name: values.reshape(x.shape), y.name: values.reshape(y.shape)}
    plan = offload(network, find_accelerator(NPU))
    assert not plan.cpu_operators
    (computed,) = PartitionRunner(plan)(plan.partitions[0], sample).values()
    (wanted,) = litert_outputs(network, [sample])[0].values()
    return not np.array_equal(computed, wanted)


@pytest.mark.parametrize(
    ("scale", "other", "is_one"),
    [(0.25, 0.25, False), (0.25, 0.5, False), (0.003, 0.0031, False), (0.00129, 0.00111, True)],
)
def test_a_comparison_stays_where_rounding_changes_it(
    scale: float, other: float, is_one: bool
) -> None:
    network = _compared(scale, other)
    assert _errata(network) == ({"comparison-rounding"} if is_one else set())
    assert _differs(network) is is_one


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_a_division_of_quantized_values_stays(dtype: str) -> None:
    net = NetworkBuilder("division")
    scale = None if dtype == "int32" else 0.05
    x, y = (net.input((4,), dtype, scale, 0) for _ in range(2))
    net.apply("DIV", x, y)
    network = decode_network(net.build(), "division")
    assert _errata(network) == (set() if dtype == "int32" else {"div-stored"})
    assert _errata(network, "ethos-u55-128") == set()


@pytest.mark.parametrize("scale", [None, 0.1, 1.0])
@pytest.mark.parametrize("other", [None, 0.1, 1.0])
@pytest.mark.parametrize("quotient", [None, 0.1, 1.0])
def test_a_division_in_int32_stays_if_vela_scales_only_its_operands(
    scale: float | None, other: float | None, quotient: float | None
) -> None:
    """TFLite divides the stored values; so does the NPU, unless only an operand has a scale."""
    net = NetworkBuilder("division")
    x, y = (net.input((4,), "int32", value, 0) for value in (scale, other))
    net.operator("DIV", [x, y], [Spec((4,), "int32", quotient, 0)])
    network = decode_network(net.build(), "division")
    values = np.array([7, -8, 100, -(2**31)], np.int32), np.array([2, 3, -7, 5], np.int32)
    sample = dict(zip((tensor.name for tensor in network.inputs), values, strict=True))
    plan = offload(network, find_accelerator(NPU))
    if quotient is None and 0.1 in (scale, other):
        assert _errata(network) == {"div-scales"}
        with pytest.raises(NpuFault, match="DIV with scaled operands"):
            PartitionRunner(plan)(plan.partitions[0], sample)
        return
    assert _errata(network) == set()
    (computed,) = PartitionRunner(plan)(plan.partitions[0], sample).values()
    (wanted,) = litert_outputs(network, [sample])[0].values()
    assert np.array_equal(computed, wanted)


@pytest.mark.parametrize(
    ("scale", "other", "is_one"),
    [(1 / 256, 1 / 256, False), (1 / 300, 1 / 300, True), (1 / 256, 1 / 128, True)],
)
def test_an_order_of_16_bits_stays_where_scales_change_it(
    scale: float, other: float, is_one: bool
) -> None:
    """LiteRT compares the stored values."""
    net = NetworkBuilder("order")
    x, y = net.input((4,), "int16", scale, 0), net.input((4,), "int16", other, 0)
    net.apply("LESS", x, y)
    assert _errata(decode_network(net.build(), "order")) == ({"order-int16"} if is_one else set())


@pytest.mark.parametrize(
    ("scale", "other", "is_one"),
    [
        (0.1, 0.1, False),
        (None, None, False),
        (0.1, 0.2, True),
        (None, 0.1, True),
        (1.0, None, True),
    ],
)
def test_a_comparison_in_int32_stays_if_its_operands_have_different_scales(
    scale: float | None, other: float | None, is_one: bool
) -> None:
    """TFLite compares the stored values; a missing scale is not 1 to Vela."""
    net = NetworkBuilder("order")
    x, y = (
        net.input((4,), "int32", scale, 0),
        net.constant(np.arange(4, dtype=np.int32), scale=other),
    )
    net.apply("EQUAL", x, y)
    expected = {"comparison-int32"} if is_one else set()
    assert _errata(decode_network(net.build(), "order")) == expected


@pytest.mark.parametrize("code", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
@pytest.mark.parametrize("bias", ["int32", "int64", None])
def test_a_layer_with_int16_stays_if_its_bias_has_32_bits(code: str, bias: str | None) -> None:
    net = NetworkBuilder("layer")
    x = net.input((1, 1, 1, 4), "int16", 1e-3, 0)
    shape = (4, 4) if code == "FULLY_CONNECTED" else (4 if code == "CONV_2D" else 1, 1, 1, 4)
    weights = net.constant(net.random.integers(-127, 128, shape).astype(np.int8), scale=6e-3)
    more = [net.constant(np.arange(4).astype(bias), scale=6e-6)] if bias else []
    net.operator(code, [x, weights, *more], [Spec((1, 1, 1, 4), "int16", 2e-3, 0)])
    network = decode_network(net.build(), "layer")
    assert _errata(network) == ({"bias-32-bits"} if bias == "int32" else set())
    assert not _errata(network, "ethos-u55-128")


def test_a_transposed_convolution_has_its_bias_last() -> None:
    net = NetworkBuilder("upsampled")
    size = net.constant(np.array([1, 2, 2, 4], np.int32))
    weights = net.constant(np.ones((4, 2, 2, 4), np.int8), scale=6e-3)
    inputs = [size, weights, net.input((1, 1, 1, 4), "int16", 1e-3, 0)]
    options = {"padding": "VALID", "stride_w": 2, "stride_h": 2, "scale": 2e-3}
    net.apply("TRANSPOSE_CONV", *inputs, **options)
    net.apply("TRANSPOSE_CONV", *inputs, range(4), **options)
    network = decode_network(net.build(), "upsampled")
    assert [*find_errata(network, CompileTarget(NPU))] == [1]


@pytest.mark.parametrize(("activation", "is_one"), [("RELU", True), ("RELU6", False)])
def test_a_quotient_of_int32_stays_if_relu_clips_it(activation: str, is_one: bool) -> None:
    net = NetworkBuilder("quotient")
    x, y = (net.input((4,), "int32", None) for _ in range(2))
    net.apply("DIV", x, y, fused_activation_function=activation)
    network = decode_network(net.build(), "quotient")
    assert _errata(network) == ({"div-relu"} if is_one else set())


@pytest.mark.parametrize(
    ("kernel", "strides", "padding", "moves"),
    [
        ((1, 1), (3, 1), "SAME", True),
        ((1, 1), (1, 3), "SAME", True),
        ((3, 3), (2, 5), "SAME", True),
        ((1, 1), (2, 2), "SAME", False),
        ((3, 3), (4, 4), "SAME", False),
        ((1, 1), (3, 3), "VALID", False),
    ],
)
def test_windows_that_are_apart_move(
    kernel: tuple[int, int], strides: tuple[int, int], padding: str, moves: bool
) -> None:
    net = NetworkBuilder("apart")
    x, shape = net.input((1, 2, 2, 4), "int8", 0.05, 0), (1, 2 * strides[0], 2 * strides[1], 4)
    weights = net.constant(np.ones((4, *kernel, 4), np.int8), scale=6e-3)
    options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
    net.apply("TRANSPOSE_CONV", net.integers(shape), weights, x, **options)
    network = decode_network(net.build(), "apart")
    assert _errata(network) == ({"transpose-conv-gap"} if moves else set())
    assert not _errata(network, "ethos-u55-128")


@pytest.mark.parametrize(
    ("size", "kernel", "strides", "padding", "stays"),
    [
        ((9, 9), (3, 3), (4, 4), "SAME", True),
        ((9, 9), (3, 3), (1, 4), "SAME", True),
        ((9, 9), (3, 1), (2, 8), "SAME", True),  # only rows have padding, only columns a stride
        ((9, 9), (3, 3), (3, 3), "SAME", False),
        ((9, 9), (3, 3), (4, 4), "VALID", False),
        ((16, 16), (2, 2), (4, 4), "SAME", False),  # no padding
        ((4, 9), (5, 1), (8, 2), "SAME", False),  # a single row, for which the stride is 1
    ],
)
def test_a_padded_maximum_stays_if_its_stride_is_long(
    size: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    padding: str,
    stays: bool,
) -> None:
    net = NetworkBuilder("maximum")
    net.max_pool(net.input((1, *size, 4), "int8", 0.05, 0), kernel, strides, padding=padding)
    network = decode_network(net.build(), "maximum")
    assert _errata(network) == ({"max-pool-padding"} if stays else set())
    assert not _errata(network, "ethos-u55-128")
    plan = offload(network, find_accelerator(NPU))
    values = np.random.default_rng(1).integers(-128, 128, network.inputs[0].shape).astype(np.int8)
    sample = {network.inputs[0].name: values}
    if stays:
        with pytest.raises(NpuFault, match=r"pooling MAX .* is not modelled"):
            PartitionRunner(plan)(plan.partitions[0], sample)
        return
    (computed,) = PartitionRunner(plan)(plan.partitions[0], sample).values()
    (wanted,) = litert_outputs(network, [sample])[0].values()
    assert np.array_equal(computed, wanted)
