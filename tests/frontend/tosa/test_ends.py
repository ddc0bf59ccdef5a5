"""Inputs and outputs of types that numpy lacks, and outputs that are constants."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ethosgen.frontend.tosa.reader import parse_network
from ethosgen.frontend.tosa.writer import write_network
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.samples.spans import input_spans
from ethosgen.values.errors import InputError
from ethosgen.values.network import Graph, Network
from ethosgen.values.outcome import compare
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests.support.needs import needs_tosa
from tests.support.tosa_networks import TosaBuilder
from tests.support.trials import plan_for

SHAPE = (1, 4, 4, 3)


def _wide_output(net: TosaBuilder) -> int:
    return net.conv2d(net.input(SHAPE, "int16"), 4, (2, 2))


def _wide_input(net: TosaBuilder) -> int:
    return net.rescale(net.input(SHAPE, "int64", -(1 << 47), (1 << 47) - 1), "int16", 2.0**-40)


def _wide_copy(net: TosaBuilder) -> int:
    x = net.input(SHAPE, "int64", -(1 << 47), (1 << 47) - 1)
    return net.op("IDENTITY", [x], SHAPE, "int64")


def _narrow_copy(net: TosaBuilder) -> int:
    net.inputs.append(net.tensor(SHAPE, "int8", is_packed=True))
    net.spans[net.inputs[-1]] = (-7, 7)
    y = net.op("IDENTITY", net.inputs[-1:], SHAPE, "int8")
    net.tensors[y] = net.tensors[net.inputs[-1]].__class__(
        y, f"t{y}", SHAPE, "int8", is_packed=True
    )
    return y


CASES = [_wide_output, _wide_input, _wide_copy, _narrow_copy]


@needs_tosa
@pytest.mark.parametrize("npu", [None, "ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("case", CASES)
def test_ends_of_int48_and_int4_are_exact(
    case: Callable[[TosaBuilder], int], npu: str | None
) -> None:
    net = TosaBuilder("ends", 1)
    network = net.network(case(net))
    samples = [net.sample() for _ in range(3)]
    outputs = simulate_samples(plan_for(network, npu), samples, Watch())
    comparison = compare("", list(outputs), reference_outputs(network, samples))
    assert comparison.elements and not comparison.mismatches


@pytest.mark.parametrize(("case", "most"), [(_wide_copy, 1 << 47), (_narrow_copy, 8)])
def test_samples_stay_within_the_type(case: Callable[[TosaBuilder], int], most: int) -> None:
    net = TosaBuilder("ends", 1)
    (span,) = input_spans(net.network(case(net)))
    assert -most <= span.low < 0 < span.high == most - 1


@pytest.mark.parametrize(("dtype", "wide", "bits"), [("int8", "int32", 30), ("int16", "int64", 46)])
def test_a_bias_leaves_room_for_the_products(dtype: str, wide: str, bits: int) -> None:
    net = TosaBuilder("layer", 1)
    y = net.conv2d(net.input(SHAPE, dtype), 4, (2, 2))
    (op,) = net.operators
    net.inputs.append(net.tensor((4,), wide))
    net.operators = [replace(op, inputs=(*op.inputs[:2], net.inputs[-1], *op.inputs[3:]))]
    _, span = input_spans(net.network(y))
    assert (span.low == -(1 << bits)).all() and (span.high == 1 << bits).all()


@needs_tosa
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("npu", [None, "ethos-u85-256"])
def test_a_constant_is_an_output(npu: str | None, is_packed: bool) -> None:
    """As the only tensor of a file, and beside operators that read it."""
    net = TosaBuilder("constants", 1)
    alone = net.constant(np.arange(-6, 6).reshape(3, 4), "int8", is_packed=is_packed)
    shared = net.constant(np.arange(12).reshape(3, 4), "int16")
    y = net.op("BITWISE_AND", [net.input((3, 4), "int16"), shared], (3, 4), "int16")
    for outputs in ([alone], [alone, shared, y, alone]):
        inputs = net.inputs if y in outputs else ()
        graph = Graph(
            "main",
            tuple(net.tensors),
            tuple(net.operators) if y in outputs else (),
            tuple(inputs),
            tuple(outputs),
        )
        network = parse_network(write_network(Network("constants", (graph,))), "constants.tosa")
        samples = [net.sample() if inputs else {}]
        (result,) = simulate_samples(plan_for(network, npu), samples, Watch())
        assert result["t0"].tolist() == np.arange(-6, 6).reshape(3, 4).tolist()
        if y in outputs:
            assert result["t1"].tolist() == np.arange(12).reshape(3, 4).tolist()
            assert compare("", [result], reference_outputs(network, samples)).mismatches == 0


def test_a_shape_is_no_output() -> None:
    net = TosaBuilder("shape", 1)
    shape = net.constant([3, 4], "int64")
    net.op("RESHAPE", [net.input((12,)), shape], (3, 4), "int8")
    with pytest.raises(InputError, match="is a shape, which no network can have"):
        net.network(shape)
