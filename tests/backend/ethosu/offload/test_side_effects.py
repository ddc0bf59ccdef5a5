"""Operators with effects run in the file's order, whatever Vela makes of it."""

import pytest

from ethosgen.backend.ethosu.offload.side_effects import (
    awaited,
    in_order,
    outgrown,
    stateful_operators,
)
from ethosgen.values.errors import RefusalError
from ethosgen.values.network import Graph, Network, Operator, Tensor


def graph_of(*operators: Operator) -> Graph:
    count = 1 + max(i for op in operators for i in (*op.inputs, *op.outputs))
    tensors = tuple(Tensor(i, f"t{i}", (1,), "int8") for i in range(count))
    return Graph("net", tensors, operators, (0,), (count - 1,))


def npu(index: int, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Operator:
    return Operator(index, "CUSTOM", inputs, outputs, "ethos-u")


def order(graph: Graph, sources: dict[int, int], placed: bool = False) -> list[int]:
    """Return the order in which operators run whose places in the original are given."""
    originals = {place: graph.operators[index] for index, place in sources.items()}
    filler = Operator(0, "RELU", (), ())
    operators = tuple(originals.get(i, filler) for i in range(1 + max(originals)))
    network = Network("net", (Graph("net", graph.tensors, operators, (), ()),))
    return [op.index for op in in_order(graph, sources, network, placed=placed).operators]


READ, ASSIGN, ONCE = "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"


def test_what_sets_a_variable_runs_before_it_is_read() -> None:
    graph = graph_of(Operator(0, READ, (), (1,)), Operator(1, ONCE, (), ()), npu(2, (0, 1), (2,)))
    assert order(graph, {0: 5, 1: 0}) == [1, 0, 2]


def test_a_value_is_kept_as_soon_as_it_is_there() -> None:
    graph = graph_of(
        npu(0, (0,), (1,)), npu(1, (1,), (2,)), Operator(2, ASSIGN, (1,), ()), npu(3, (2,), (3,))
    )
    assert order(graph, {2: 0}) == [0, 2, 1, 3]


def test_a_variable_is_read_again_after_it_was_assigned() -> None:
    graph = graph_of(
        Operator(0, READ, (), (1,)), Operator(1, READ, (), (2,)), npu(2, (0, 1), (3,)),
        Operator(3, ASSIGN, (3,), ()), npu(4, (2, 3), (4,)),
    )  # fmt: skip
    assert order(graph, {0: 0, 3: 1, 1: 2}) == [0, 2, 3, 1, 4]


def test_a_life_that_vela_does_not_know_of_is_refused_where_vela_placed_it() -> None:
    """The value must wait for a variable that a later partition makes."""
    graph = graph_of(
        npu(0, (0,), (1,)), Operator(1, ASSIGN, (1,), ()), npu(2, (0,), (2,)),
        Operator(3, ASSIGN, (2,), ()), npu(4, (0,), (3,)),
    )  # fmt: skip
    sources = {3: 0, 1: 1}
    assert order(graph, sources) == [0, 2, 3, 1, 4]
    with pytest.raises(RefusalError, match="placement of 't1' assumes another order"):
        order(graph, sources, placed=True)


def test_a_partition_cannot_run_in_two_parts() -> None:
    """A partition writes the assigned value, and reads the value read afterwards."""
    graph = graph_of(
        Operator(0, READ, (), (1,)), npu(1, (0, 1), (2, 3)), Operator(2, ASSIGN, (2,), ())
    )
    with pytest.raises(RefusalError, match="in one partition"):
        order(graph, {2: 0, 0: 1})


def test_vela_is_told_what_must_be_there_before() -> None:
    """A variable is read after it was assigned: the value must be there."""
    handles = [Tensor(i, f"h{i}", (1,), "resource") for i in (0, 1)]
    tensors = (*handles, *(Tensor(i, f"t{i}", (1,), "int8") for i in (2, 3)))
    operators = (
        Operator(0, "VAR_HANDLE", (), (0,)), Operator(1, ASSIGN, (0, 2), ()),
        Operator(2, "VAR_HANDLE", (), (1,)), Operator(3, READ, (1,), (3,)),
        Operator(4, "RELU", (3,), (2,)),
    )  # fmt: skip
    network = Network("net", (Graph("net", tensors, operators, (2,), (3,)),))
    assert awaited(network) == {0: (), 1: (), 2: (2,), 3: (2,)}


def test_only_what_has_effects_is_kept() -> None:
    graph = graph_of(npu(0, (0,), (1,)), Operator(1, "WHILE", (1,), (2,)))
    assert list(stateful_operators(graph)) == [1]
    assert order(graph, {1: 0}, placed=True) == [0, 1]


def test_where_vela_placed_tensors_its_order_stays_if_it_is_right() -> None:
    """Another would let the input live in the partition, which may write over it."""
    graph = graph_of(Operator(0, ASSIGN, (0,), ()), npu(1, (1,), (2,)), Operator(2, READ, (), (3,)))
    assert order(graph, {0: 0, 2: 1}) == [1, 0, 2]
    assert order(graph, {0: 0, 2: 1}, placed=True) == [0, 1, 2]


def test_what_only_the_cpu_uses_is_named_where_it_must_lie_elsewhere() -> None:
    """The input is assigned before the partition in Vela's order, and after it in ours."""
    graph = graph_of(
        Operator(0, ASSIGN, (0,), ()), npu(1, (1,), (2,)), Operator(2, ASSIGN, (2,), ()),
        npu(3, (2,), (3,)),
    )  # fmt: skip
    assert order(graph, {2: 0, 0: 1}, placed=True) == [1, 2, 0, 3]
    assert outgrown(graph, [graph.operators[i] for i in (1, 2, 0, 3)]) == {0}


def test_a_life_between_other_partitions_is_another_life() -> None:
    """Tensors that only partitions use can be there, and are not in the graph."""
    graph = graph_of(
        npu(0, (0,), (1,)), Operator(1, READ, (), (2,)), Operator(2, ASSIGN, (2,), ()),
        npu(3, (1,), (3,)), npu(4, (3,), (4,)),
    )  # fmt: skip
    assert outgrown(graph, [graph.operators[i] for i in (0, 3, 1, 2, 4)]) == {2}
    assert not outgrown(graph, [graph.operators[i] for i in (1, 2, 0, 3, 4)])
