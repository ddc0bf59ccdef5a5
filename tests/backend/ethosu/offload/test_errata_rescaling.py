"""A QUANTIZE or a constant is kept exactly where Vela changes quantization otherwise."""

from collections.abc import Callable

import numpy as np
import pytest

from ethosgen.aot import table_of
from ethosgen.backend.ethosu.offload import CompileTarget, find_errata
from ethosgen.frontend.tflite.reader import parse_network
from tests.support.errata_networks import NPU
from tests.support.errata_trials import compiled, differs
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]

SHAPE = (1, 4, 4, 8)


def kept_and_right(name: str, network_of: Build, is_one: bool, npu: str = NPU) -> None:
    """Check that the erratum keeps an operator if Vela's result differs, and that this mends it."""
    net = NetworkBuilder(name, seed=2)
    network = parse_network(net.build(network_of(net)), name)
    kept = find_errata(network, CompileTarget(npu, table_of=table_of))
    assert {why.erratum for why in kept.values()} == ({name} if is_one else set())
    plan = compiled(name, network, npu=npu)
    assert not plan.cpu_operators
    assert differs(network, plan) == is_one
    if is_one:
        assert not differs(network, compiled(name, network, kept, npu))


def _product(net: NetworkBuilder, dtype: str, activation: str = "NONE") -> int:
    x = net.input((4, 8), dtype, 0.05, 128 if dtype == "uint8" else 0)
    return net.fully_connected(x, 8, activation, scale=0.05, zero_point=0)


def _sum(net: NetworkBuilder, other: float) -> int:
    x, y = (net.input(SHAPE, "int8", scale, 0) for scale in (0.05, other))
    return net.add(x, y, scale=0.06, zero_point=0)


def _larger(net: NetworkBuilder, dtype: str) -> int:
    x, y = (net.input(SHAPE, dtype, 0.05, 0) for _ in range(2))
    return net.maximum(x, y)


def _shares(net: NetworkBuilder) -> int:
    x = net.input(SHAPE, "uint8", 0.05, 128)
    return net.unary("SOFTMAX", x, {"beta": 1.0}, scale=1 / 256, zero_point=0)


def _pooled(net: NetworkBuilder) -> int:
    return net.max_pool(net.input(SHAPE, "uint8", 0.05, 0), (2, 2))


def _flattened(net: NetworkBuilder) -> int:
    return net.reshape(_product(net, "int8"), (32,))


@pytest.mark.slow
def test_a_quantize_after_a_prelu_is_kept_whatever_its_scale() -> None:
    def build(net: NetworkBuilder) -> int:
        x = net.input((1, 4, 4, 5), "int8", 0.323, -65)
        slopes = net.constant(np.array([[[21, 67, 90, 70, -96]]], np.int8), "int8", 0.0129, 127)
        y = net.apply("PRELU", x, slopes, scale=0.839, zero_point=0)
        return net.quantize(y, "uint8", 0.375, 255)

    kept_and_right("rescale-into-producer", build, True, "ethos-u85-256")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "to", "is_one"),
    [
        (lambda net: _product(net, "uint8"), ("int8", -128), True),
        (lambda net: _product(net, "uint8"), ("int8", -100), True),
        (lambda net: _product(net, "uint8"), ("uint8", 10), True),
        (lambda net: _product(net, "uint8"), ("int8", 0), False),
        (lambda net: _product(net, "uint8", "RELU"), ("int8", -128), False),
        (lambda net: _larger(net, "uint8"), ("int8", -128), True),
        (lambda net: _larger(net, "uint8"), ("uint8", 10), False),
        (_shares, ("int8", -128), True),
        (_pooled, ("int8", -128), False),
        (lambda net: net.input(SHAPE, "uint8", 0.05, 0), ("int8", -128), False),
        (lambda net: _product(net, "int8"), ("uint8", 128), True),
        (lambda net: _product(net, "int8"), ("int8", 5), True),
        (lambda net: _product(net, "int8"), ("uint8", 0), False),
        (lambda net: _product(net, "int8"), ("int16", 0), False),
        (lambda net: _product(net, "int16"), ("int8", 5), False),
        (lambda net: _product(net, "int8", "RELU"), ("int16", 0), False),
        (lambda net: _larger(net, "int8"), ("uint8", 128), True),
        (lambda net: _larger(net, "int8"), ("int8", 5), False),
        (lambda net: _sum(net, 0.03), ("uint8", 128), True),
        (lambda net: _sum(net, 0.05), ("uint8", 128), False),
        (_flattened, ("uint8", 128), True),
    ],
)  # fmt: skip
def test_a_quantize_is_kept_where_the_operator_before_saturates_otherwise(
    before: Build, to: tuple[str, int], is_one: bool
) -> None:
    def build(net: NetworkBuilder) -> int:
        x = before(net)
        scale = net.tensors[x].scale
        assert isinstance(scale, float)
        return net.quantize(x, to[0], scale, to[1])

    kept_and_right("rescale-into-producer", build, is_one)


def test_a_quantize_of_another_scale_is_none() -> None:
    net = NetworkBuilder("other", seed=2)
    net.quantize(_product(net, "uint8"), "int8", 0.1, -128)
    network = parse_network(net.build(), "other")
    assert not find_errata(network, CompileTarget(NPU, table_of=table_of))


def _constant(net: NetworkBuilder, dtype: str, point: int, shape: tuple[int, ...] = SHAPE) -> int:
    info = np.iinfo(dtype)
    values = np.linspace(info.min, info.max, 128).astype(dtype).reshape(shape)
    return net.constant(values, None, 0.05, point)


def _joined(net: NetworkBuilder, point: int) -> int:
    return net.concat([_constant(net, "int8", point)])


def _packed(net: NetworkBuilder, point: int) -> int:
    x = _constant(net, "int8", point, (4, 4, 8))
    return net.apply("PACK", x, axis=0, values_count=1)


def _whole(net: NetworkBuilder, point: int) -> int:
    x = _constant(net, "int8", point)
    return net.apply("STRIDED_SLICE", x, (0,) * 4, SHAPE, (1,) * 4)


def _quantized(dtype: str, point: int, to: tuple[str, float, int]) -> Build:
    def build(net: NetworkBuilder) -> int:
        return net.quantize(_constant(net, dtype, point), *to)

    return build


def _reshaped(point: int) -> Build:
    def build(net: NetworkBuilder) -> int:
        x = net.reshape(_constant(net, "int8", point, (16, 8)), SHAPE)
        return net.quantize(x, "int8", 0.05, 5)

    return build


def _quantized_twice(net: NetworkBuilder) -> int:
    return net.quantize(_quantized("int8", 0, ("int8", 0.1, 5))(net), "int8", 0.1, 5)


def _multiplied(point: int) -> Build:
    def build(net: NetworkBuilder) -> int:
        x, y = (_constant(net, "int8", point) for _ in range(2))
        return net.apply("MUL", x, y, scale=0.4, zero_point=3)

    return build


def _sliced(net: NetworkBuilder) -> int:
    return net.apply("SLICE", _constant(net, "int8", 5), (0,) * 4, SHAPE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build_output", "is_one"),
    [
        (_quantized("int8", 5, ("int8", 0.05, 5)), True),
        (_quantized("int8", 0, ("int8", 0.05, 0)), False),
        (_quantized("int8", 5, ("int8", 0.1, 0)), True),
        (_quantized("int8", 0, ("int8", 0.1, 5)), False),
        (_quantized("int8", 5, ("int8", 5e4, 0)), False),
        (_quantized("int8", 5, ("uint8", 0.05, 5)), False),
        (_quantized("int8", 100, ("int16", 0.05, 0)), False),
        (_quantized("int16", 0, ("int8", 0.05, 0)), True),
        (_quantized("uint8", 128, ("int8", 0.05, 0)), False),
        (_quantized("uint8", 0, ("int8", 0.05, -128)), True),
        (_reshaped(5), True),
        (_reshaped(0), False),
        (_quantized_twice, True),
        (lambda net: _joined(net, 5), True),
        (lambda net: _joined(net, 0), False),
        (lambda net: _packed(net, 5), True),
        (lambda net: _whole(net, 5), True),
        (_sliced, False),
        (_multiplied(5), True),
        (_multiplied(0), False),
    ],
)
def test_an_operator_on_constants_is_kept_where_vela_computes_it_otherwise(
    build_output: Build, is_one: bool
) -> None:
    def build(net: NetworkBuilder) -> int:
        y = build_output(net)
        spec = net.tensors[y]
        x = net.input(SHAPE, spec.dtype, 0.05, 0)
        assert isinstance(spec.scale, float)
        point = 128 if spec.dtype == "uint8" else 0
        return net.add(x, y, scale=2 * spec.scale, zero_point=point)

    kept_and_right("computed-constant", build, is_one)
