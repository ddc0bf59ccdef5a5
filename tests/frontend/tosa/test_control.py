"""TOSA's control flow: COND_IF and WHILE_LOOP run graphs of their own."""

from dataclasses import replace

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.frontend.tosa.reader import parse_network
from ethosgen.frontend.tosa.writer import write_network
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.values.errors import InputError
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.outcome import Arrays, compare
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.execution import simulate_samples
from tests.support.needs import needs_tosa
from tests.support.tosa_networks import TosaBuilder

SHAPE = (1, 4, 4, 3)


def graph_of(net: TosaBuilder, *outputs: int) -> Graph:
    return Graph(net.name, tuple(net.tensors), tuple(net.operators), tuple(net.inputs), outputs)


def chosen(
    net: TosaBuilder, code: str, inputs: list[int], outputs: list[int], **graphs: int
) -> None:
    place = len(net.operators)
    net.operators.append(Operator(place, code, tuple(inputs), tuple(outputs), options=graphs))


def branches() -> Network:
    """Return a layer, then one of two layers, by an input, then an addition."""
    net = TosaBuilder("main", 1)
    truth = net.input((), "bool")
    x = net.rescale(net.conv2d(net.input(SHAPE), 3, (1, 1)), "int8", 0.01)
    y = net.tensor(SHAPE, "int32")
    chosen(net, "IF", [truth, x], [y], then_subgraph_index=1, else_subgraph_index=2)
    last = net.op("ABS", [y], SHAPE, "int32")
    inner = []
    for name in ("first", "second"):
        part = TosaBuilder(name, len(name))
        inner.append(graph_of(part, part.conv2d(part.input(SHAPE), 3, (1, 1))))
    return Network("branches", (graph_of(net, last), *inner))


def loop() -> Network:
    """Return a loop that doubles a tensor as often as an input says."""
    net = TosaBuilder("main", 1)
    count, x = net.input((1,), "int32", 1, 5), net.input((2, 3), "int32", -99, 99)
    outputs = [net.tensor((1,), "int32"), net.tensor((2, 3), "int32")]
    chosen(net, "WHILE", [count, x], outputs, cond_subgraph_index=1, body_subgraph_index=2)
    test, body = TosaBuilder("test"), TosaBuilder("body")
    left = test.input((1,), "int32")
    test.input((2, 3), "int32")
    more = test.op("GREATER", [left, test.constant([0], "int32")], (1,), "bool")
    rest, y = body.input((1,), "int32"), body.input((2, 3), "int32")
    fewer = body.op("SUB", [rest, body.constant([1], "int32")], (1,), "int32")
    double = body.op("ADD", [y, y], (2, 3), "int32")
    graphs = graph_of(net, *outputs), graph_of(test, more), graph_of(body, fewer, double)
    return Network("loop", graphs)


def read(network: Network) -> Network:
    return parse_network(write_network(network), network.name)


def samples_of(network: Network) -> list[Arrays]:
    random = np.random.default_rng(0)
    bounds = {"int8": (-128, 127), "int32": (1, 5), "bool": (0, 1)}
    return [
        {
            t.name: random.integers(*bounds[t.dtype], t.shape, endpoint=True).astype(t.dtype)
            for t in network.inputs
        }
        for _ in range(6)
    ]


@needs_tosa
@pytest.mark.parametrize("make", [branches, loop])
def test_the_cpu_computes_what_the_reference_model_computes(make: object) -> None:
    network = read(make())  # type: ignore[operator]
    samples = samples_of(network)
    run = make_evaluator(plan_cpu_only(network, IoStyle.ARENA))
    comparison = compare(
        "", [run(sample, None) for sample in samples], reference_outputs(network, samples)
    )
    assert comparison.elements
    assert not comparison.mismatches, comparison.first and comparison.first.text()


@needs_tosa
def test_layers_around_a_branch_run_on_the_npu() -> None:
    network = read(branches())
    samples = samples_of(network)
    plan = offload(network, find_accelerator("ethos-u55-128"))
    assert [cpu.code for cpu in plan.cpu_operators] == ["IF"] and len(plan.partitions) == 2
    outputs = simulate_samples(plan, samples, Watch())
    assert not compare("", list(outputs), reference_outputs(network, samples)).mismatches


def refused(network: Network) -> str:
    with pytest.raises(InputError) as caught:
        read(network)
    return str(caught.value)


def test_a_graph_that_does_not_fit_is_refused() -> None:
    network = branches()
    main, first, second = network.graphs
    tensors = (replace(first.tensors[0], shape=(1, 4, 4, 5)), *first.tensors[1:])
    assert "is not valid TOSA" in refused(
        network.edited(main, replace(first, tensors=tensors), second)
    )
    assert "does not fit the graph 'main'" in refused(network.edited(*_running(network, 0)))


@pytest.mark.parametrize(("shape", "dtype"), [((2,), "bool"), ((1,), "int16")])
def test_a_condition_is_one_bool(shape: tuple[int, ...], dtype: str) -> None:
    """Also where the graphs read nothing, as in a test of TOSA's suite."""
    net = TosaBuilder("main", 1)
    y = net.tensor((2,), "int32")
    inputs = [net.input(shape, dtype)]
    chosen(net, "IF", inputs, [y], then_subgraph_index=1, else_subgraph_index=2)
    inner = []
    for name in ("first", "second"):
        part = TosaBuilder(name, len(name))
        x = part.constant([3, -4], "int32")
        inner.append(graph_of(part, part.op("ABS", [x], (2,), "int32")))
    network = Network("condition", (graph_of(net, y), *inner))
    assert "does not fit the graph 'first'" in refused(network)


def _running(network: Network, number: int) -> tuple[Graph, ...]:
    """Return the graphs, of which the first branch is another."""
    main, *others = network.graphs
    operators = list(main.operators)
    place = next(i for i, op in enumerate(operators) if op.code == "IF")
    options = {**operators[place].options, "then_subgraph_index": number}
    operators[place] = replace(operators[place], options=options)
    return replace(main, operators=tuple(operators)), *others
