"""Functions by table, with scales that make ties and overflows: the errata know what differs.

Each operator runs alone, with all 256 inputs.
"""

import numpy as np
import pytest

from ethosgen import aot
from ethosgen.backend import backend_of, find_accelerator
from ethosgen.backend.protocol import DivisionTask
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.errata import errata_of
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer
from tests.support.networks import NetworkBuilder, Spec

SCALES = [2.0**power for power in (-6, -1, 1)] + [0.003, 0.14, 1.7]
UNITS = [2.0**power for power in (-7, 0, 2)] + [1e-7, 0.02, 1.1]
SHAPE = (1, 16, 16, 1)


def _functions(code: str) -> Network:
    """Return a network of one function side by side, with every scale and several zero points."""
    net, outputs = NetworkBuilder("functions", 1), list[int]()
    for number, scale in enumerate(SCALES):
        for unit in UNITS:
            for point in (-128, 0, 100):
                x = net.input(SHAPE, "int8", scale, (-128, 5, 127)[number % 3])
                outputs += net.operator(code, [x], [Spec(SHAPE, "int8", unit, point)])
    return parse_network(net.build(*outputs), "functions")


@pytest.mark.slow
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("code", ["ELU", "EXP", "LOG", "GELU"])
def test_what_differs_is_an_erratum_and_nothing_else(code: str, npu: str) -> None:
    network, accelerator = _functions(code), find_accelerator(npu)
    values = np.arange(-128, 128, dtype=np.int8).reshape(SHAPE)
    sample = {tensor.name: values for tensor in network.inputs}
    (golden,) = golden_answer(network, [sample]).outputs
    task = DivisionTask(network, accelerator, IoStyle.ARENA, aot.ProcessorSide())
    plan = backend_of(accelerator).compile(task, {})
    assert not plan.cpu_operators
    (outputs,) = simulate_samples(plan, [sample], Watch())
    graph = network.graph
    named = [(op.index, graph.output_name(op)) for op in graph.operators]
    differing = {i for i, name in named if not np.array_equal(outputs[name], golden[name])}
    assert differing == set(errata_of(task))
    assert differing or code == "LOG"
