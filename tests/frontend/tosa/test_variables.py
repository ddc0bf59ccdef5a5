"""TOSA's variables: they keep their values between inferences, from an initial one on."""

from dataclasses import replace

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.frontend.tosa.reader import parse_network
from ethosgen.frontend.tosa.variables import TosaVariable, with_initial_values, with_variables
from ethosgen.frontend.tosa.writer import write_network
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.values.errors import InputError
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle
from ethosgen.verdict.cpu_only import plan_cpu_only
from tests.support.needs import needs_tosa
from tests.support.tosa_networks import TosaBuilder

INITIAL, STEP = 100, 7


def counter(kind: str = "int32", written: str = "") -> Network:
    """Return a network that adds its input to a variable, and returns the sum and the last sum.

    `written` is the type of what it writes, if it is another one.
    """
    net = TosaBuilder("counter")
    x, state = net.input((2,), kind), net.tensor((2,), kind)
    last = net.tensor((2,), kind)
    net.operators.append(Operator(0, "READ_VARIABLE", (state,), (last,)))
    total = net.op("ADD", [last, x], (2,), kind)
    value = net.op("CAST", [total], (2,), written) if written else total
    net.operators.append(Operator(len(net.operators), "ASSIGN_VARIABLE", (state, value), ()))
    graph = Graph("main", tuple(net.tensors), tuple(net.operators), (x,), (total, last))
    start = np.full(2, INITIAL, net.tensors[state].dtype).tobytes()
    variable = TosaVariable("sum", replace(net.tensors[state], data=start))
    graphs = with_initial_values([with_variables(graph, {state: variable})], [variable])
    return Network("counter", graphs)


def read(network: Network) -> Network:
    return parse_network(write_network(network), network.name)


def samples_for(network: Network, count: int = 3) -> list[Arrays]:
    (source,) = network.inputs
    return [{source.name: np.full(2, STEP, source.dtype)} for _ in range(count)]


@pytest.mark.parametrize("kind", ["int32", "float32", "float16"])
def test_a_variable_keeps_its_value(kind: str) -> None:
    network = read(counter(kind))
    run = make_evaluator(plan_cpu_only(network, IoStyle.ARENA))
    total, last = (tensor.name for tensor in network.outputs)
    for number, sample in enumerate(samples_for(network)):
        outputs = run(sample, None)
        assert (outputs[last] == INITIAL + number * STEP).all()
        assert (outputs[total] == INITIAL + (number + 1) * STEP).all()


@needs_tosa
def test_the_reference_model_starts_with_the_last_value() -> None:
    network = read(counter())
    total, _ = (tensor.name for tensor in network.outputs)
    outputs = reference_outputs(network, samples_for(network), steps=2)
    ends = [int(sample[total][0]) for sample in outputs]
    assert ends == [INITIAL + STEP, INITIAL + 2 * STEP, INITIAL + STEP]


def test_a_written_network_is_read_again() -> None:
    network = read(counter())
    again = read(network.edited(*network.graphs))
    ours, theirs = ([op.code for op in net.graph.operators] for net in (network, again))
    assert ours == theirs and [g.name for g in network.graphs] == [g.name for g in again.graphs]


def refused(network: Network) -> str:
    with pytest.raises(InputError) as caught:
        read(network)
    return str(caught.value)


def test_a_value_of_another_type_is_refused() -> None:
    assert "of another type or shape than its variable" in refused(counter("int32", "int8"))


def test_operators_out_of_order_are_refused() -> None:
    """Their order says which value a variable has."""
    network = counter()
    graph = network.graph
    shuffled = network.edited(replace(graph, operators=graph.operators[::-1]), *network.graphs[1:])
    assert "not in order" in refused(shuffled)


def test_an_operator_cannot_use_a_variable_itself() -> None:
    network = counter()
    graph = network.graph
    handle = next(op.outputs[0] for op in graph.operators if op.code == "VAR_HANDLE")
    (total,) = (op for op in graph.operators if op.code == "TOSA_ADD")
    bad = tuple(
        replace(op, inputs=(handle, op.inputs[1])) if op is total else op for op in graph.operators
    )
    edited = network.edited(replace(graph, operators=bad), *network.graphs[1:])
    assert "uses the variable" in refused(edited)


def test_a_network_of_variables_alone_is_tosa() -> None:
    tensors = (Tensor(0, "x", (2,), "int32"), Tensor(1, "state", (2,), "int32"))
    operators = (
        Operator(0, "ASSIGN_VARIABLE", (1, 0), ()),
        Operator(1, "READ_VARIABLE", (1,), (2,)),
    )
    graph = Graph("main", (*tensors, Tensor(2, "y", (2,), "int32")), operators, (0,), (2,))
    variables = {1: TosaVariable("state", tensors[1])}
    assert read(Network("copy", (with_variables(graph, variables),))).is_tosa
