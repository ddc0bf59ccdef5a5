"""Partitions on the NPU model in process: faults name operator and tensor, bools are 0 and 1."""

from dataclasses import replace

import numpy as np
import pytest

from ethosgen.backend.ethosu.simulator.decode import decode
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import NpuFault
from ethosgen.values.plan import Plan
from tests.support.networks import NetworkBuilder
from tests.support.trials import plan_for


def misled(plan: Plan, knows_sources: bool) -> Plan:
    """Return a plan whose last result goes far beyond the NPU's memories."""
    (partition,) = plan.partitions
    stream = stream_of(partition)
    *_, last = (
        command
        for command in decode(stream.commands)
        if command.command.name == "NPU_SET_OFM_BASE0"
    )
    commands = bytearray(stream.commands)
    commands[last.offset + 4 : last.offset + 8] = (0x7FFF0000).to_bytes(4, "little")
    sources = stream.sources if knows_sources else {}
    payload = replace(stream, commands=bytes(commands), sources=sources)
    return replace(plan, partitions=(replace(partition, payload=payload),))


@pytest.mark.parametrize("knows_sources", [True, False])
def test_a_fault_names_the_operator_and_the_tensor(knows_sources: bool) -> None:
    net = NetworkBuilder("two")
    x = net.input((1, 8, 8, 4))
    y = net.conv2d(net.conv2d(x, 4), 8)
    network = parse_network(net.build(y), "two")
    plan = misled(plan_for(network, "ethos-u55-128"), knows_sources)
    name = network.graph.tensors[network.graph.outputs[0]].name
    where = (
        "for operator 1, CONV_2D" if knows_sources else f"in partition '{plan.partitions[0].name}'"
    )
    told = rf"write outside the .*, next to '.*; {where}, which makes '{name}'"
    runner = PartitionRunner(plan)
    with pytest.raises(NpuFault, match=rf"\(NPU_OP_CONV\): the output in region 1: {told}"):
        runner.check_accesses()
    zeros = {t.name: np.zeros(t.shape, t.dtype) for t in network.inputs}
    with pytest.raises(NpuFault, match=rf"\(NPU_OP_CONV\): {told}"):
        runner(plan.partitions[0], zeros)


def test_a_bool_that_leaves_the_npu_is_0_or_1() -> None:
    """Vela's true is -1, which NumPy and LLVM's code take for true, and a firmware hands out."""
    net = NetworkBuilder("less")
    x = net.input((1, 4, 4, 4))
    network = parse_network(net.build(net.conv2d(x, 4)), "less")
    plan = plan_for(network, "ethos-u85-256")
    (output,) = plan.residual.outputs
    tensors = [replace(t, dtype="bool") if t.index == output else t for t in plan.residual.tensors]
    misread = replace(plan, residual=replace(plan.residual, tensors=tuple(tensors)))
    samples = {t.name: np.full(t.shape, 127, t.dtype) for t in network.inputs}
    leaves = f"the bool '{tensors[output].name}' leaves the NPU as -[0-9]+ for true"
    with pytest.raises(NpuFault, match=leaves):
        PartitionRunner(misread)(misread.partitions[0], samples)
