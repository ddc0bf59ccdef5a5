"""Bool tensors around the NPU: U85 computes in bool, where true is -1."""

from collections.abc import Callable

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.offload.bools import beside_bools, hidden_ends
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.oracle.litert import litert_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from tests.support.networks import NetworkBuilder, Spec

SHAPE = (1, 4, 4, 3)
LESS, NOT, LAST = range(3)

Build = Callable[[NetworkBuilder], tuple[int, ...]]


def _flags(net: NetworkBuilder, code: str, *inputs: int) -> int:
    return net.operator(code, inputs, [Spec(SHAPE, "bool")])[0]


def _compared(net: NetworkBuilder, dtype: str = "int8") -> int:
    scale = 0.05 if dtype == "int8" else None
    x, y = (net.input(SHAPE, dtype, scale, 0) for _ in range(2))
    return _flags(net, "LESS", x, y)


def _negated(net: NetworkBuilder) -> tuple[int, ...]:
    return (_flags(net, "LOGICAL_NOT", _compared(net)),)


def _negated_and_returned(net: NetworkBuilder) -> tuple[int, ...]:
    flags = _compared(net)
    return flags, _flags(net, "LOGICAL_NOT", flags)


def _negated_on_the_cpu(net: NetworkBuilder) -> tuple[int, ...]:
    flags = _compared(net, "float32")
    x, y = net.input(SHAPE, "int8", 0.05, 0), net.input(SHAPE, "int8", 0.05, 0)
    chosen = net.apply("SELECT_V2", _flags(net, "LOGICAL_NOT", flags), x, y)
    return (net.add(chosen, x),)


def _read_by_both(net: NetworkBuilder) -> tuple[int, ...]:
    flags = net.input(SHAPE, "bool", None, 0)
    real = net.apply("CAST", flags, dtype="float32")
    return _flags(net, "LOGICAL_NOT", flags), real


def _network(build: Build) -> Network:
    net = NetworkBuilder("bools")
    return decode_network(net.build(*build(net)), "bools")


def _left(plan: Plan) -> list[str]:
    return [cpu.code for cpu in plan.cpu_operators]


@pytest.mark.parametrize(
    ("build", "left"),
    [
        (_negated, []),
        (_negated_and_returned, ["LESS", "LOGICAL_NOT"]),
        (_negated_on_the_cpu, ["LESS", "LOGICAL_NOT", "SELECT_V2"]),
        (_read_by_both, ["LOGICAL_NOT", "CAST"]),
    ],
)
def test_bools_between_npu_and_cpu_stay_true(build: Build, left: list[str]) -> None:
    network = _network(build)
    plan = offload(network, find_accelerator("ethos-u85-128"))
    assert sorted(_left(plan)) == sorted(left)
    samples = random_samples(network, 3, 1)
    golden = litert_outputs(network, samples)
    evaluate, runner = make_evaluator(plan), PartitionRunner(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        for name, value in evaluate(sample, runner).items():
            assert value.dtype == wanted[name].dtype
            assert np.array_equal(value, wanted[name]), name


def test_an_input_that_only_velas_leftovers_read_is_not_converted() -> None:
    """Vela rejects the CAST; a partition that made -1 of its true gave 255 on the CPU."""
    net = NetworkBuilder("cast")
    flags = net.input(SHAPE, "bool", None, 0)
    cast = net.apply("CAST", flags, dtype="int16")
    plan = offload(decode_network(net.build(cast), "cast"), find_accelerator("ethos-u85-128"))
    assert _left(plan) == ["CAST"] and not plan.partitions


def test_without_bools_on_the_npu_the_networks_ends_stay() -> None:
    graph = _network(_negated).graph
    assert beside_bools(graph, (), computes=False) == {
        NOT: f"the NPU does not compute in bool (tensor '{graph.output_tensors()[0].name}')"
    }


def test_what_shares_a_bool_with_the_cpu_stays() -> None:
    graph = _network(_negated).graph
    assert beside_bools(graph, (), computes=True) == {}
    assert beside_bools(graph, {LESS}, computes=True) == {
        NOT: f"the CPU also uses '{graph.tensors[2].name}', where Vela's true is -1"
    }


def test_an_end_that_only_the_cpu_uses_is_hidden_from_vela() -> None:
    graph = _network(_negated).graph
    assert hidden_ends(graph, {LESS}) == frozenset()
    assert hidden_ends(graph, {LESS, NOT}) == {*graph.outputs}
