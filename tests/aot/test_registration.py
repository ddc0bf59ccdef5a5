"""An operator for the CPU, added as CONTRIBUTING says: a function, its registration, a test."""

import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

import numpy as np
import pytest

from ethosgen import aot
from ethosgen.aot import operators
from ethosgen.aot.cost import CALL, per_element
from ethosgen.aot.operators import operator
from ethosgen.aot.registry import (
    FAMILIES,
    _by_code,
    deciding_dtype,
    estimate_cycles,
    goes_in_place,
    registry,
)
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import int32, pointwise
from ethosgen.aot.tir.quantization import clamp, limits
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InternalError
from ethosgen.values.network import Network, Operator, Tensor
from tests.support.aot_harness import cpu_plan
from tests.support.networks import NetworkBuilder, Spec

TWICE = "Twice"


@operator(TWICE, dtypes=("int8",), ulp=1, cycles=per_element(3.0), in_place=True)
def twice(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """2 x, saturated."""
    source, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    return pointwise(
        [source], target, lambda _, a: clamp(int32(a) + int32(a), *limits(target.dtype))
    )


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Add a family of operators with TWICE, and remove it again."""
    module = ModuleType(f"{operators.__name__}.toy")
    module.__dict__["twice"] = twice
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("ethosgen.aot.registry.FAMILIES", (*FAMILIES, "toy"))
    _forget()
    yield module
    _forget()


def _forget() -> None:
    registry.cache_clear()
    _by_code.cache_clear()


def _network() -> Network:
    net = NetworkBuilder("toy", 1)
    x = net.input((2, 300), "int8", 0.5, 0)
    (y,) = net.operator("CUSTOM", [x], [Spec((2, 300), "int8", 1.0, 0)], custom_code=TWICE)
    return parse_network(net.build(y), "toy")


@pytest.mark.usefixtures("family")
def test_a_registered_operator_runs_and_is_known_everywhere() -> None:
    network = _network()
    (op,), graph = network.graph.operators, network.graph
    values = np.random.default_rng(1).integers(-128, 128, (2, 300)).astype(np.int8)
    plan = cpu_plan(network)
    outputs = aot.make_evaluator(plan)({network.inputs[0].name: values}, lambda *_: {})
    expected = np.clip(2 * values.astype(int), -128, 127)
    assert np.array_equal(outputs[network.outputs[0].name], expected)
    assert "toy_twice" in "".join(aot.compile_program(plan, "toy").sources.values())
    assert aot.can_run(op, graph) and aot.cpu_operators()[TWICE] == {"int8": 1}
    assert not aot.is_exact(network), "it declares a tolerance"
    assert deciding_dtype(op, graph.tensors) == "int8"
    assert goes_in_place(op)
    assert aot.cpu_cycles(op, graph) == CALL + 3 * 600


def test_a_second_estimate_for_an_operator_is_refused(family: ModuleType) -> None:
    @operator(TWICE, dtypes=("int16",), cycles=per_element(4.0))
    def other(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
        return twice(op, tensors)

    family.__dict__["other"] = other
    _forget()
    with pytest.raises(InternalError, match="Twice of int16 declares a second estimate"):
        estimate_cycles(_network().graph.operators[0], _network().graph.tensors)
