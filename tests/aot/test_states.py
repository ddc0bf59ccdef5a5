"""States that no tensor of the file holds: in a network, and in subgraphs that it may not run."""

from pathlib import Path

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.aot.graph.states import add_states
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan
from tests.support.control_networks import subgraph
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder, Spec
from tests.support.signal_networks import plain, spectral_subtraction

CHANNELS = Spec((6,), "uint32")


def _branching() -> bytes:
    """Two operators of one subgraph keep what they know while the other one runs."""
    net = NetworkBuilder("branching", seed=2)
    condition, x = net.input((1,), "bool", None), plain(net, (6,), "uint32")
    numbers = []
    for name, clamping in (("then", True), ("else", False)):
        inner, (source,) = subgraph(name, [CHANNELS])
        first, _ = spectral_subtraction(inner, source, clamping)
        numbers.append(net.subgraph(inner, spectral_subtraction(inner, first, clamping)[1]))
    options = dict(zip(("then_subgraph_index", "else_subgraph_index"), numbers, strict=True))
    results = net.operator("IF", [condition, x], [CHANNELS], options)
    return net.build(*results, *spectral_subtraction(net, x, True))


@needs_gcc
def test_each_operator_of_each_subgraph_has_its_own(tmp_path: Path) -> None:
    network = parse_network(_branching(), "branching")
    samples = random_samples(network, 8, seed=1)
    golden = golden_outputs(network, samples)
    plan = cpu_plan(network)
    program = compile_program(plan, "net")
    assert program.state_bytes >= 5 * CHANNELS.shape[0] * 4
    assert len({variable.name for variable in program.variables}) == 5
    generated = GeneratedC(program, tmp_path)
    for _ in range(2):
        generated.check(samples, golden)
        generated.reset()
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(evaluate(sample, lambda *_: {}), wanted)


def test_a_state_is_a_further_input() -> None:
    net = NetworkBuilder("plain", seed=2)
    x = net.relu(net.input((1, 4)))
    graph = parse_network(net.build(x), "plain").graph
    assert add_states(graph) == graph
    net = NetworkBuilder("one", seed=2)
    results = spectral_subtraction(net, plain(net, (6,), "uint32"), True)
    (operator,) = add_states(parse_network(net.build(*results), "one").graph).operators
    assert len(operator.inputs) == 2
