"""Operations with their cycles: together what the PMU counts, each with its layer."""

from pathlib import Path

import pytest

from ethosgen.backend import backend_of
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.listing import list_operations
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend import read
from ethosgen.values.plan import IoStyle
from tests.support.small_models import image_net
from tests.support.tosa_networks import TosaBuilder


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("io", IoStyle)
def test_operations_add_up_and_name_their_layers(tmp_path: Path, npu: str, io: IoStyle) -> None:
    network, accelerator = read(image_net(tmp_path / "n.tflite")), find_accelerator(npu)
    plan = offload(network, accelerator, io)
    (partition,) = plan.partitions
    operations = backend_of(accelerator).operations(plan, partition)
    program = load(stream_of(partition).commands, accelerator)
    assert sum(operation.cycles for operation in operations) == program.activity.cycles > 0
    assert len(operations) == len(program.steps)
    assert all(operation.cycles >= 0 for operation in operations)
    tensors = network.graph.tensors
    layers_of_network = {(op.code, tensors[op.outputs[0]].name) for op in network.graph.operators}
    layers = [operation.layer for operation in operations]
    assert {
        (operation.operator, operation.layer) for operation in operations if operation.layer
    } <= layers_of_network
    assert all(
        bool(operation.layer) != operation.name.startswith("DMA") for operation in operations
    )
    assert list(dict.fromkeys(filter(None, layers))) == [
        network.graph.tensors[op.outputs[0]].name
        for op in network.graph.operators
        if op.code != "RESHAPE"
    ]


def test_offsets_are_those_of_the_commands(tmp_path: Path) -> None:
    accelerator = find_accelerator("ethos-u55-128")
    plan = offload(read(image_net(tmp_path / "n.tflite")), accelerator, IoStyle.ARENA)
    commands = stream_of(plan.partitions[0]).commands
    steps = load(commands, accelerator).steps
    operations = list_operations(commands, accelerator)
    assert [offset for offset, _ in operations] == [step.offset for step in steps]


@pytest.mark.parametrize("ignore", [(), ("MAX_POOL2D",)])
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
def test_tosas_operators_are_layers_whole_and_cut(npu: str, ignore: tuple[str, ...]) -> None:
    net = TosaBuilder("layers", seed=1)
    wide = net.conv2d(net.input((1, 8, 8, 4)), 8, (3, 3), pad=(1, 1, 1, 1))
    narrow = net.conv2d(net.rescale(wide, "int8", 0.01), 4, (1, 1))
    window = {"kernel": (2, 2), "stride": (2, 2), "pad": (0, 0, 0, 0), "nan_mode": "PROPAGATE"}
    small = net.rescale(narrow, "int8", 0.02)
    pooled = net.op("MAX_POOL2D", [small], (1, 4, 4, 4), "int8", **window)
    network = net.network(pooled)
    accelerator = find_accelerator(npu)
    plan = offload(network, accelerator, IoStyle.CALLER, ignore=ignore)
    (partition,) = plan.partitions
    operations = backend_of(accelerator).operations(plan, partition)
    makers = {network.graph.tensors[op.outputs[0]].name: op.code for op in network.graph.operators}
    codes = [makers[operation.layer] for operation in operations if operation.layer]
    assert codes == ["TOSA_CONV2D", "TOSA_CONV2D"] + ([] if ignore else ["TOSA_MAX_POOL2D"])
