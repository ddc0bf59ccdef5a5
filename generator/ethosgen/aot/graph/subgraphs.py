"""Lift variables and subgraphs: the resulting graph has no handles and no subgraph indices.

A variable that operators name (VAR_HANDLE) becomes a tensor, the first input of READ_VARIABLE and
ASSIGN_VARIABLE. IF, WHILE and CALL_ONCE carry their subgraphs as values, and all variables that
these use, including layers' states, as additional inputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import CONTROL, STATEFUL, Graph, Operator, Quantization, Tensor

SUBGRAPHS = "subgraphs"
"""Option of a lifted operator with its Subgraphs, in the order of `_FIELDS`."""

SYMBOL = "symbol"
"""Option with the kernel's C name, added to such an operator before its kernel is built."""

_FIELDS = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "CALL_ONCE": ("init_subgraph_index",),
}
_VARIABLE_USERS = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")

Key = tuple[str, ...]
"""Identifies a variable: its kind, and its names or its position in the file."""


def subgraphs_of(operator: Operator) -> tuple["Subgraph", ...]:
    """Return the subgraphs of a lifted operator; UnsupportedError if it is not lifted."""
    subgraphs: tuple[Subgraph, ...] = operator.options.get(SUBGRAPHS, ())
    if len(subgraphs) != len(_FIELDS[operator.code]):
        raise UnsupportedError("its subgraphs are unknown")
    return subgraphs


@dataclass(frozen=True)
class Subgraph:
    """A lifted subgraph; `variables` are its tensors for the operator's last inputs."""

    graph: Graph
    variables: tuple[int, ...]


def lift(entry: Graph, graphs: Sequence[Graph]) -> Graph:
    """Return the entry graph of a network with variables and subgraphs lifted.

    `graphs` are all graphs of the network; `entry` can be the residual graph of the first. Tensors
    keep their indices; new ones are appended. UnsupportedError for handles whose variable is not
    known at compile time, and for recursive subgraphs.
    """
    if not any(operator.code in STATEFUL for operator in entry.operators):
        return entry
    lifter = _Lifter((entry, *graphs[1:]))
    return lifter.lift(0, {}, (0,)).graph


class _LiftError(Exception):
    """An operator's error, without its location."""


class _Lifter:
    """Lifts the graphs of a network."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._graphs = graphs
        self._values = _assigned_values(graphs)

    def lift(self, number: int, handles: Mapping[int, Key], path: tuple[int, ...]) -> "_Lifted":
        """Lift a subgraph; `handles` are among its inputs, `path` is the call stack up to it."""
        graph = self._graphs[number]
        lifted = _Lifted(graph, dict(handles))
        for operator in graph.operators:
            try:
                self._lift_operator(lifted, operator, path)
            except _LiftError as error:
                place = f" of subgraph '{graph.name}'" if number else ""
                count = len(graph.operators)
                what = f"operator {operator.index + 1} of {count}{place}, {operator.code}, {error}"
                raise UnsupportedError(what) from None
        if number:
            for tensor in self._graphs[number].tensors:
                if tensor.is_variable:
                    lifted.own((f"state {number}", str(tensor.index)), tensor)
        return lifted

    def _lift_operator(self, lifted: "_Lifted", operator: Operator, path: tuple[int, ...]) -> None:
        if operator.code == "VAR_HANDLE":
            lifted.handles[operator.outputs[0]] = _named_key(operator)
        elif operator.code in _VARIABLE_USERS:
            self._lift_user(lifted, operator)
        elif operator.code in CONTROL:
            self._lift_control(lifted, operator, path)
        else:
            lifted.operators.append(operator)

    def _lift_user(self, lifted: "_Lifted", operator: Operator) -> None:
        key = lifted.handles.get(operator.inputs[0])
        if key is None:
            raise _LiftError(
                "has a handle without a VAR_HANDLE in its subgraph or a calling one; convert the "
                "network again with named variables"
            )
        if key not in self._values:
            raise _LiftError(
                f"reads the variable '{key[-1]}', but no ASSIGN_VARIABLE gives it a value; let "
                "CALL_ONCE initialize it"
            )
        variable = lifted.need(key, self._values[key])
        lifted.operators.append(replace(operator, inputs=(variable, *operator.inputs[1:])))

    def _lift_control(self, lifted: "_Lifted", operator: Operator, path: tuple[int, ...]) -> None:
        numbers = [int(operator.options.get(field, 0)) for field in _FIELDS[operator.code]]
        arguments = operator.inputs[1:] if operator.code == "IF" else operator.inputs
        parts = []
        for number in numbers:
            if number in path or not 0 < number < len(self._graphs):
                wrong = "which calls itself" if number in path else "which does not exist"
                raise _LiftError(f"calls subgraph {number}, {wrong}; convert the network again")
            ends = self._graphs[number].inputs
            if len(ends) != len(arguments):
                raise _LiftError(
                    f"has {counted(len(arguments), 'input')} for subgraph {number}, "
                    f"which expects {len(ends)}"
                )
            known = zip(ends, arguments, strict=True)
            handles = {end: lifted.handles[i] for end, i in known if i in lifted.handles}
            parts.append(self.lift(number, handles, (*path, number)))
        outputs = self._lift_outputs(lifted, operator, arguments, parts[-1])
        needed = {key: tensor for part in parts for key, tensor in part.variables()}
        variables = [lifted.need(key, tensor) for key, tensor in needed.items()]
        subgraphs = tuple(part.subgraph(needed) for part in parts)
        inputs = [i for i in operator.inputs if i not in lifted.handles]
        if operator.code == "CALL_ONCE":
            place = (f"once {path[-1]}", str(operator.index))
            inputs = [lifted.need(place, _flag(f"CALL_ONCE {operator.index} has run"))]
        lifted.operators.append(
            replace(
                operator,
                inputs=(*inputs, *variables),
                outputs=outputs,
                options={**operator.options, SUBGRAPHS: subgraphs},
            )
        )

    @staticmethod
    def _lift_outputs(
        lifted: "_Lifted", operator: Operator, arguments: Sequence[int], last: "_Lifted"
    ) -> tuple[int, ...]:
        """Return an operator's outputs without the handles that a loop carries."""
        results = last.outputs
        if len(results) != len(operator.outputs):
            raise _LiftError(
                f"has {counted(len(operator.outputs), 'output')}, but its "
                f"subgraph makes {len(results)}"
            )
        for position, (output, inner) in enumerate(zip(operator.outputs, results, strict=True)):
            key = last.handles.get(inner)
            if key is None:
                continue
            if operator.code != "WHILE" or lifted.handles.get(arguments[position]) != key:
                raise _LiftError("outputs a handle whose variable is not known at compile time")
            lifted.handles[output] = key
        return tuple(i for i in operator.outputs if i not in lifted.handles)


class _Lifted:
    """A subgraph being lifted: its operators so far, and its tensors for variables."""

    def __init__(self, graph: Graph, handles: dict[int, Key]) -> None:
        self.handles = handles
        self.operators: list[Operator] = []
        self._graph = graph
        self._tensors = list(graph.tensors)
        self._places: dict[Key, int] = {}

    @property
    def graph(self) -> Graph:
        """The current graph, without handles among its inputs and outputs."""
        return replace(
            self._graph,
            tensors=tuple(self._tensors),
            operators=tuple(self.operators),
            inputs=tuple(i for i in self._graph.inputs if i not in self.handles),
            outputs=tuple(i for i in self._graph.outputs if i not in self.handles),
        )

    @property
    def outputs(self) -> tuple[int, ...]:
        """The outputs, including handles."""
        return self._graph.outputs

    def need(self, key: Key, like: Tensor) -> int:
        """Return the tensor for a variable in this subgraph, added if it is new."""
        if key not in self._places:
            self._places[key] = len(self._tensors)
            self._tensors.append(replace(like, index=len(self._tensors), is_variable=True))
        return self._places[key]

    def own(self, key: Key, tensor: Tensor) -> None:
        """Register a tensor of the graph itself as a variable."""
        self._places[key] = tensor.index

    def variables(self) -> list[tuple[Key, Tensor]]:
        """Return the variables of this subgraph and of its callees."""
        return [(key, self._tensors[index]) for key, index in self._places.items()]

    def subgraph(self, needed: Mapping[Key, Tensor]) -> Subgraph:
        """Return the subgraph with a tensor for each variable in `needed`."""
        variables = tuple(self.need(key, tensor) for key, tensor in needed.items())
        return Subgraph(self.graph, variables)


def _assigned_values(graphs: Sequence[Graph]) -> dict[Key, Tensor]:
    """Return each variable's tensor by key, of the size of the first value assigned to it.

    TFLite Micro's Prepare visits subgraphs in order, and operators in order within each. The first
    value's zero point fills the variable (MicroResourceVariables::Allocate).
    """
    values: dict[Key, Tensor] = {}
    sizes: dict[Key, int] = {}
    for graph in graphs:
        handles = {
            op.outputs[0]: _named_key(op) for op in graph.operators if op.code == "VAR_HANDLE"
        }
        for operator in graph.operators:
            if operator.code not in _VARIABLE_USERS[1:] or operator.inputs[0] not in handles:
                continue
            key = handles[operator.inputs[0]]
            is_read = operator.code == "READ_VARIABLE"
            value = graph.tensors[operator.outputs[0] if is_read else operator.inputs[1]]
            if sizes.setdefault(key, value.bytes) != value.bytes:
                raise UnsupportedError(
                    f"the variable '{key[-1]}' has {counted(sizes[key], 'byte')} in one place and "
                    f"{value.bytes} in '{value.name}'; its shape must not change"
                )
            if not is_read:
                values.setdefault(key, _as_bytes(key[-1], value))
    return values


def _named_key(operator: Operator) -> Key:
    options = operator.options
    return ("variable", str(options.get("container") or ""), str(options.get("shared_name") or ""))


def _as_bytes(name: str, value: Tensor) -> Tensor:
    """Return a variable for values like this one; int8, so that its zero point initializes it."""
    points = value.quantization.zero_point[:1] if value.quantization else ()
    quantization = Quantization((1.0,), ((points[0] + 128) % 256 - 128,)) if points else None
    return Tensor(0, name, (value.bytes,), "int8", quantization, None, True)


def _flag(name: str) -> Tensor:
    return Tensor(0, name, (1,), "bool", None, None, True)
