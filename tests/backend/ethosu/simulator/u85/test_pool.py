"""Averages on U85, with the OFM_SCALE that each Vela sets."""

from dataclasses import replace

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa_u85 import U85
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.decode import decode
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import NpuFault
from ethosgen.values.outcome import Arrays
from tests.support.assembling import encode
from tests.support.networks import NetworkBuilder
from tests.support.npu_networks import Simulation


def run(scale: int, shift: int) -> tuple[Arrays, Arrays]:
    """Run a padded average of 3x3 with this OFM_SCALE; return its outputs and TFLM's."""
    net = NetworkBuilder("average", seed=5)
    x = net.input((1, 6, 5, 20), "int8", 0.05)
    network = parse_network(net.build(net.average_pool(x, (3, 3), (1, 1), padding="SAME")), "net")
    plan = offload(network, find_accelerator("ethos-u85-256"))
    (partition,) = plan.partitions
    stream = stream_of(partition)
    (place,) = [i for i in decode(stream.commands, U85) if i.command.name == "NPU_SET_OFM_SCALE"]
    fields = {**place.fields, "scale": scale, "shift": shift}
    commands = bytearray(stream.commands)
    commands[place.offset : place.offset + 8] = encode("NPU_SET_OFM_SCALE", fields, U85)
    changed = replace(partition, payload=replace(stream, commands=bytes(commands)))
    (sample,) = random_samples(network, 1, 0)
    outputs, _ = Simulation(replace(plan, partitions=(changed,))).run(sample)
    return outputs, golden_outputs(network, [sample])[0]


@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (1 << 30, 30), (1908874355, 34)])
def test_an_average_ignores_a_scale_of_one_and_of_one_over_the_kernel(
    scale: int, shift: int
) -> None:
    # Vela 5 sets 1; Vela 4.5 sets (2**34 + 2**4) / 9 and a shift of 34, for padded windows too.
    outputs, golden = run(scale, shift)
    for name, values in golden.items():
        assert (outputs[name] == values).all()


def test_another_scale_of_an_average_is_a_fault() -> None:
    with pytest.raises(NpuFault, match="an average that is also scaled is not modelled"):
        run(3, 1)
