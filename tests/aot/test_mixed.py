"""Networks that change sides: CPU and NPU in turns, on one memory, equal to TFLite Micro."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ethosgen.backend.ethosu.offload import offload
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.plan import IoStyle, Plan
from tests.support.aot_harness import ACCELERATOR
from tests.support.arena_npu import check_program
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], tuple[int, ...]]


def _plan(build: Build, io: IoStyle, keep: tuple[str, ...]) -> Plan:
    net = NetworkBuilder("mixed", seed=11)
    network = parse_network(net.build(*build(net)), "mixed")
    return offload(network, ACCELERATOR, io, ignore=keep)


def _skip_over_the_cpu(net: NetworkBuilder) -> tuple[int, ...]:
    """The first layer's output, which only the NPU touches, lives on while the CPU works."""
    x = net.conv2d(net.input((1, 8, 8, 8)), 8)
    kept = net.conv2d(x, 8, (3, 3))
    y = net.conv2d(x, 8, (3, 3))
    for _ in range(2):
        y = net.average_pool(y, (3, 3), (1, 1), padding="SAME")
    return (net.add(kept, net.conv2d(y, 8, (1, 1))),)


def _three_parts(net: NetworkBuilder) -> tuple[int, ...]:
    x = net.conv2d(net.input((1, 8, 8, 4)), 8)
    x = net.conv2d(net.average_pool(x, (2, 2)), 8)
    x = net.conv2d(net.average_pool(x, (2, 2)), 12)
    return (x,)


def _cpu_npu_cpu(net: NetworkBuilder) -> tuple[int, ...]:
    x = net.average_pool(net.input((1, 8, 8, 4)), (2, 2))
    return (net.average_pool(net.conv2d(x, 8), (2, 2)),)


def _npu_cpu_npu(net: NetworkBuilder) -> tuple[int, ...]:
    x = net.average_pool(net.conv2d(net.input((1, 8, 8, 4)), 8), (2, 2))
    return (net.conv2d(x, 4),)


def _many_ends(net: NetworkBuilder) -> tuple[int, ...]:
    left, right = net.input((1, 4, 4, 8)), net.input((1, 4, 4, 8), scale=0.02)
    third = net.input((1, 2, 2, 8))
    pooled = net.average_pool(left, (2, 2))
    total = net.conv2d(net.add(left, right), 4)
    return net.average_pool(total, (2, 2)), pooled, net.average_pool(third, (2, 2))


MIXED: dict[str, tuple[Build, int]] = {
    "a tensor of the NPU's lives on": (_skip_over_the_cpu, 2),
    "three partitions": (_three_parts, 3),
    "CPU, NPU, CPU": (_cpu_npu_cpu, 1),
    "NPU, CPU, NPU": (_npu_cpu_npu, 2),
    "many inputs and outputs": (_many_ends, 1),
}


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("name", MIXED)
def test_mixed(name: str, io: IoStyle, tmp_path: Path) -> None:
    build, partitions = MIXED[name]
    plan = _plan(build, io, ("AVERAGE_POOL_2D",))
    assert plan.cpu_operators and len(plan.partitions) == partitions
    check_program(plan, tmp_path)


def _ends(net: NetworkBuilder) -> tuple[int, ...]:
    """An input that is an output, beside a layer of the NPU's and one of the CPU's."""
    x = net.input((1, 4, 4, 8))
    y = net.average_pool(net.conv2d(x, 8), (2, 2))
    return y, x


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
def test_an_input_may_be_an_output(io: IoStyle, tmp_path: Path) -> None:
    plan = _plan(_ends, io, ("AVERAGE_POOL_2D",))
    assert plan.partitions
    check_program(plan, tmp_path)


@needs_gcc
@pytest.mark.parametrize("keep", [(), ("RELU",)])
@pytest.mark.parametrize("io", IoStyle)
def test_one_operator(keep: tuple[str, ...], io: IoStyle, tmp_path: Path) -> None:
    plan = _plan(lambda net: (net.relu(net.input((1, 40))),), io, keep)
    assert len(plan.partitions) == (0 if keep else 1)
    check_program(plan, tmp_path)


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
def test_nothing_to_offload(io: IoStyle, tmp_path: Path) -> None:
    """An NPU that gets no work: no scratch, no read-only blob, no stream."""
    keep = ("CONV_2D", "AVERAGE_POOL_2D", "ADD")
    plan = _plan(_skip_over_the_cpu, io, keep)
    assert not plan.partitions and plan.npu_operators == 0
    check_program(plan, tmp_path)
