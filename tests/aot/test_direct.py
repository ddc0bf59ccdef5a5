"""Plans of one partition: found, run, and refused what does not fit."""

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.aot.host.direct import find_direct
from ethosgen.aot.host.graph import HostGraph
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InputError
from ethosgen.values.plan import Plan
from tests.support.networks import NetworkBuilder


def make_plan(ignore: tuple[str, ...] = ()) -> Plan:
    net = NetworkBuilder("direct", 3)
    x = net.conv2d(net.input((1, 6, 6, 4)), 8, (3, 3))
    network = parse_network(net.build(net.max_pool(x, (2, 2), (2, 2))), "direct")
    return offload(network, find_accelerator("ethos-u55-128"), ignore=ignore)


def test_one_partition_gives_what_its_schedule_gives() -> None:
    plan = make_plan()
    assert find_direct(plan) is not None
    evaluate = make_evaluator(plan)
    for sample in random_samples(plan.network, 3, 1):
        direct = evaluate(sample, PartitionRunner(plan))
        by_steps = HostGraph(plan).run(sample, PartitionRunner(plan))
        assert direct.keys() == by_steps.keys()
        for name, value in by_steps.items():
            assert direct[name].dtype == value.dtype and np.array_equal(direct[name], value)


def test_more_than_a_partition_needs_a_schedule() -> None:
    assert find_direct(make_plan(("MAX_POOL_2D",))) is None


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (None, "input 'x' is missing; found: none"),
        (
            np.zeros((1, 6, 6, 4), np.uint8),
            "input 'x' is uint8 [1, 6, 6, 4], but the network expects",
        ),
        (
            np.zeros((1, 6, 6, 3), np.int8),
            "input 'x' is int8 [1, 6, 6, 3], but the network expects",
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused(array: np.ndarray | None, message: str) -> None:
    plan = make_plan()
    (tensor,) = plan.network.inputs
    with pytest.raises(InputError) as caught:
        make_evaluator(plan)({} if array is None else {tensor.name: array}, PartitionRunner(plan))
    assert message.replace("'x'", f"'{tensor.name}'") in str(caught.value)
