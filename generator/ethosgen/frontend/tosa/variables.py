"""TOSA's variables as TFLite's, which have the same meaning.

A file marks a tensor as a variable, and has operators that read and write it. Our graphs have a
handle there, and CALL_ONCE writes the initial values in the first inference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ethosgen.values.network import HANDLE, Graph, Network, Operator, Tensor

_INITIAL = "ethosgen_initial_values"
"""The name of the graph that writes them."""


@dataclass(frozen=True)
class TosaVariable:
    """A variable in a graph: its name in the file, and its value as a tensor.

    The tensor has data if the file gives an initial value.
    """

    name: str
    value: Tensor

    @property
    def handle(self) -> Tensor:
        """The tensor that represents the variable in its graph."""
        return Tensor(self.value.index, self.value.name, (), HANDLE)

    def declaration(self, place: int) -> Operator:
        """Return the operator that writes the handle, which has an index."""
        options = {"container": "", "shared_name": self.name}
        return Operator(0, "VAR_HANDLE", (), (place,), options=options)


def with_variables(graph: Graph, variables: Mapping[int, TosaVariable]) -> Graph:
    """Return a graph that declares the handles of its operators."""
    if not variables:
        return graph
    tensors = list(graph.tensors)
    for index, variable in variables.items():
        tensors[index] = variable.handle
    declared = [variable.declaration(index) for index, variable in variables.items()]
    return replace(
        graph, tensors=tuple(tensors), operators=_numbered([*declared, *graph.operators])
    )


def with_initial_values(
    graphs: Sequence[Graph], variables: Sequence[TosaVariable]
) -> tuple[Graph, ...]:
    """Return the graphs; the first runs an additional one that writes the initial values."""
    initial = {v.name: v for v in variables if v.value.data is not None}
    if not initial:
        return tuple(graphs)
    tensors, operators = list[Tensor](), list[Operator]()
    for variable in initial.values():
        place = len(tensors)
        tensors.append(replace(variable.value, index=place))
        tensors.append(replace(variable.handle, index=place + 1, name=f"{variable.name}_handle"))
        operators.append(variable.declaration(place + 1))
        operators.append(Operator(0, "ASSIGN_VARIABLE", (place + 1, place), ()))
    inner = Graph(_INITIAL, tuple(tensors), _numbered(operators), (), ())
    once = Operator(0, "CALL_ONCE", (), (), options={"init_subgraph_index": len(graphs)})
    main, *others = graphs
    return (replace(main, operators=_numbered([once, *main.operators])), *others, inner)


def file_graphs(graphs: Sequence[Graph]) -> list[Graph]:
    """Return the graphs that a file has: all but the one that writes initial values."""
    return [graph for graph in graphs if graph.name != _INITIAL]


def variables_of(graphs: Sequence[Graph]) -> dict[str, Tensor]:
    """Return the variables of a network: a tensor like each one's value, by name.

    The tensor has the initial value as its data, if there is one.
    """
    known: dict[str, Tensor] = {}
    for graph in graphs:
        names = {op.outputs[0]: op.options["shared_name"] for op in _declarations(graph)}
        for op in graph.operators:
            if op.code not in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
                continue
            is_read = op.code == "READ_VARIABLE"
            value = graph.tensors[op.outputs[0] if is_read else op.inputs[1]]
            plain = value if graph.name == _INITIAL else replace(value, data=None)
            known[names[op.inputs[0]]] = plain
    return known


def _declarations(graph: Graph) -> list[Operator]:
    return [op for op in graph.operators if op.code == "VAR_HANDLE"]


def carried(network: Network, values: Mapping[str, bytes]) -> Network:
    """Return a network whose variables start with other values, and are outputs at its end.

    Those are the last outputs, in the order of `variables_of`.
    """
    known = variables_of(network.graphs)
    main, *others = network.graphs
    tensors = list(main.tensors)
    handles = {op.options["shared_name"]: op.outputs[0] for op in _declarations(main)}
    operators = [op for op in main.operators if op.code not in ("VAR_HANDLE", "CALL_ONCE")]
    outputs, variables = [*main.outputs], dict[int, TosaVariable]()
    for name, value in known.items():
        place = handles.get(name, len(tensors))
        if place == len(tensors):
            tensors.append(Tensor(place, f"{name}_handle", (), HANDLE))
        last = len(tensors)
        tensors.append(replace(value, index=last, name=f"{name}_at_the_end", data=None))
        operators.append(Operator(0, "READ_VARIABLE", (place,), (last,)))
        outputs.append(last)
        like = replace(value, index=place, name=tensors[place].name)
        variables[place] = TosaVariable(name, replace(like, data=values.get(name, value.data)))
    graph = replace(
        main, tensors=tuple(tensors), operators=tuple(operators), outputs=tuple(outputs)
    )
    graphs = [with_variables(graph, variables), *file_graphs(others)]
    return network.edited(*with_initial_values(graphs, list(variables.values())))


def _numbered(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    return tuple(replace(op, index=index) for index, op in enumerate(operators))
