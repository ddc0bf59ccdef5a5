"""Results that no source defines for U85: the model faults there, and only there."""

from collections.abc import Mapping

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.values.errors import NpuFault
from ethosgen.values.outcome import Arrays
from tests.support.networks import NetworkBuilder

LOWEST = -(1 << 31)


def _run(net: NetworkBuilder, values: Mapping[int, list[int]]) -> Arrays:
    network = decode_network(net.build(), "undefined")
    plan = offload(network, find_accelerator("ethos-u85-128"))
    assert not plan.cpu_operators
    tensors = network.graph.tensors
    sample = {
        tensors[i].name: np.array(v, tensors[i].dtype).reshape(tensors[i].shape)
        for i, v in values.items()
    }
    return PartitionRunner(plan)(plan.partitions[0], sample)


def _divided(x: list[int], y: list[int]) -> list[int]:
    net = NetworkBuilder("division")
    x_input, other = (net.input((len(x),), "int32", None, 0) for _ in range(2))
    net.apply("DIV", x_input, other)
    (quotients,) = _run(net, {x_input: x, other: y}).values()
    return [int(value) for value in quotients]


def test_a_division_rounds_towards_zero() -> None:
    assert _divided([7, -7, LOWEST, LOWEST], [2, 2, 1, -2]) == [3, -3, LOWEST, 1 << 30]


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [(5, 0, "a division by 0"), (LOWEST, -1, r"a quotient of 2\*\*31")],
)
def test_a_division_without_a_result_is_a_fault(x: int, y: int, why: str) -> None:
    with pytest.raises(NpuFault, match=f"NPU_OP_ELEMENTWISE.*{why} is not modelled"):
        _divided([x, 1], [y, 1])


@pytest.mark.parametrize(("code", "mode"), [("REDUCE_MAX", "MAX"), ("REDUCE_MIN", "MIN")])
def test_a_window_of_only_padding_is_a_fault(code: str, mode: str) -> None:
    """Vela makes such windows where it drops an axis (erratum reduce-dropped-axis)."""
    net = NetworkBuilder("window")
    x = net.input((7, 3), "int8")
    net.apply(code, x, [1], keep_dims=False)
    with pytest.raises(NpuFault, match=f"pooling {mode} of only padding is not modelled"):
        _run(net, {x: list(range(21))})


def _copied(values: list[int]) -> list[int]:
    net = NetworkBuilder("copy")
    x = net.input((len(values),), "int64", None, 0)
    net.apply("PAD", x, [[1, 0]])
    (copies,) = _run(net, {x: values}).values()
    return [int(value) for value in copies]


def test_64_bit_values_pass_through_accumulators_of_48_bits() -> None:
    assert _copied([(1 << 47) - 1, -(1 << 47)]) == [0, (1 << 47) - 1, -(1 << 47)]
    with pytest.raises(NpuFault, match="a result of more than 48 bits is not modelled"):
        _copied([1, 1 << 47])
