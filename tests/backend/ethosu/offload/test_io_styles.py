"""Both styles of input and output give TFLite Micro's answer on the NPU model.

The rewritten command streams of the caller's style are what is tried here: several inputs and
outputs, tiles, DMA, broadcasts, repeated names, two cores.
"""

from collections.abc import Callable

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.outcome import Arrays, compare
from ethosgen.values.plan import IoStyle, Plan
from tests.support.networks import NetworkBuilder


def sums(net: NetworkBuilder) -> tuple[int, ...]:
    a, b, c = (net.input((1, 8, 8, 4), scale=scale) for scale in (0.05, 0.07, 0.02))
    total = net.add(a, b)
    return net.add(total, c), total


def residual_block(net: NetworkBuilder) -> tuple[int, ...]:
    a, b = net.input((1, 8, 8, 8)), net.input((1, 8, 8, 8), scale=0.07, zero_point=-4)
    total = net.add(net.conv2d(a, 8), b)
    pooled = net.max_pool(total, (2, 2))
    return net.add(net.conv2d(pooled, 8), pooled), total, b


def concatenation(net: NetworkBuilder) -> tuple[int, ...]:
    a, b = net.input((1, 8, 8, 4)), net.input((1, 8, 8, 12))
    both = net.concat([a, b])
    return net.conv2d(both, 8, stride=(2, 2)), net.average_pool(b, (2, 2)), both


def odd_sizes(net: NetworkBuilder) -> tuple[int, ...]:
    a, b = net.input((1, 33, 29, 5)), net.input((1, 33, 29, 5))
    total = net.add(net.depthwise(a), b)
    padded = net.pad(total, [(0, 0), (1, 2), (2, 1), (0, 0)])
    return net.max_pool(padded, (3, 3), (2, 2)), total


def copies(net: NetworkBuilder) -> tuple[int, ...]:
    a, b = net.input((1, 8, 8, 4)), net.input((1, 256))
    return net.reshape(a, (1, 256)), net.relu(b)


def tables(net: NetworkBuilder) -> tuple[int, ...]:
    a, b = net.input((1, 64)), net.input((1, 64))
    left, right = net.fully_connected(a, 32), net.fully_connected(b, 32)
    product = net.mul(left, right)
    return product, net.softmax(product), net.tanh(right)


def broadcast(net: NetworkBuilder) -> tuple[int, ...]:
    a, b = net.input((1, 8, 8, 4)), net.input((1, 1, 1, 4))
    total = net.add(a, b)
    return total, net.mul(total, b)


def one_name(net: NetworkBuilder) -> tuple[int, ...]:
    a, b = net.input((1, 8, 8, 4), name="x"), net.input((1, 8, 8, 4), scale=0.2, name="x")
    return net.sub(a, b, name="x"), net.sub(b, a, name="")


def product(net: NetworkBuilder) -> tuple[int, ...]:
    x, y = net.input((5, 7)), net.input((3, 7), scale=0.03)
    return (net.apply("BATCH_MATMUL", x, y, adj_y=True, scale=0.5, zero_point=1),)


LAYOUTS = [
    sums, residual_block, concatenation, odd_sizes, copies, tables, broadcast, one_name, product
]  # fmt: skip


def run(plan: Plan, sample: Arrays) -> Arrays:
    """Run a plan without CPU operators; outputs by name."""
    runner = PartitionRunner(plan)
    values = dict(sample)
    tensors = plan.residual.tensors
    for partition in plan.partitions:
        inputs = {tensors[i].name: values[tensors[i].name] for i in partition.inputs}
        values |= runner(partition, inputs)
    return {tensor.name: values[tensor.name] for tensor in plan.network.outputs}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_styles_are_exact(layout: Callable[[NetworkBuilder], tuple[int, ...]]) -> None:
    net = NetworkBuilder(layout.__name__, seed=2)
    outputs = layout(net)
    network = parse_network(net.build(*outputs), net.name)
    samples = random_samples(network, 2, seed=0)
    golden = golden_outputs(network, samples)
    for name in ("ethos-u55-128", "ethos-u65-512"):
        for io in IoStyle:
            plan = offload(network, find_accelerator(name), io)
            assert plan.cpu_operators == ()
            got = [run(plan, sample) for sample in samples]
            assert compare("tflm", got, golden).mismatches == 0, (name, io)


def test_a_buffer_is_as_large_as_what_the_npu_copies_of_it() -> None:
    net = NetworkBuilder("product", seed=2)
    network = parse_network(net.build(*product(net)), "product")
    plan = offload(network, find_accelerator("ethos-u55-128"), IoStyle.CALLER)
    tensors = plan.residual.tensors
    sizes = {
        tensors[i].name: (tensors[i].bytes, plan.buffer_bytes(tensors[i]))
        for i in plan.residual.inputs
    }
    wanted = {tensor.name: tensor.bytes for tensor in network.inputs}
    assert {name: size for name, (size, _) in sizes.items()} == wanted
    assert all(buffer in (size, -(-size // 16) * 16) for size, buffer in sizes.values())
    assert any(buffer > size for size, buffer in sizes.values())
    assert [plan.buffer_bytes(tensors[i]) for i in plan.residual.outputs] == [15]
    in_arena = offload(network, find_accelerator("ethos-u55-128"))
    assert not in_arena.reach
