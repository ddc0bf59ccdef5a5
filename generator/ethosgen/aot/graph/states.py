"""States that no tensor of the file holds: TFLite Micro's operators allocate them for themselves.

Here each is a variable behind the operator's own inputs, so that it lies outside the arena and
NAME_reset() sets it back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ethosgen.aot.graph import streams
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.model import Graph, Operator, Tensor

SPECTRAL_SUBTRACTION = "SignalFilterBankSpectralSubtraction"

States = Callable[[Operator, Sequence[Tensor]], tuple[Tensor, ...]]
"""Returns an operator's states, whose bytes are 0 at first, or an int8's zero point."""


def _noise_estimate(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return one number for each channel (filter_bank_spectral_subtraction.cc)."""
    shapes = [tensors[i].shape for i in op.inputs[:1]]
    return tuple(Tensor(0, "noise estimate", shape, "uint32") for shape in shapes)


_STATES: Mapping[str, States] = {
    SPECTRAL_SUBTRACTION: _noise_estimate,
    streams.DELAY: lambda op, tensors: streams.read_delay(op, tensors).states,
    streams.FRAMER: lambda op, tensors: streams.read_framer(op, tensors).states,
    streams.STACKER: lambda op, tensors: streams.read_stacker(op, tensors).states,
    streams.OVERLAP_ADD: lambda op, tensors: streams.read_overlap_add(op, tensors).states,
    streams.CIRCULAR_BUFFER: lambda op, tensors: streams.read_circular_buffer(op, tensors).states,
}
"""By custom code."""


def add_states(graph: Graph, place: str = "") -> Graph:
    """Return a graph with a variable for each state, appended to its operator's inputs.

    `place` is what their names say of the graph, if it is not the network's first.
    """
    tensors: tuple[Tensor, ...] = graph.tensors
    operators = []
    for operator in graph.operators:
        added, tensors = with_states(operator, tensors, place)
        operators.append(added)
    return replace(graph, tensors=tensors, operators=tuple(operators))


def with_states(
    operator: Operator, tensors: Sequence[Tensor], place: str = ""
) -> tuple[Operator, tuple[Tensor, ...]]:
    """Return an operator with its states as further inputs, and the tensors with them.

    Its outputs are no variables then: a CIRCULAR_BUFFER's file calls them so, and they would have
    two owners. One whose options are wrong gets none; its kernel says what is wrong.
    """
    find = _STATES.get(operator.custom_code or "")
    if find is None:
        return operator, tuple(tensors)
    try:
        states = find(operator, tensors)
    except UnsupportedError:
        return operator, tuple(tensors)
    free, tensors = len(tensors), _without_variables(tensors, operator.outputs)
    numbered = tuple(
        replace(
            state,
            index=free + i,
            name=f"{state.name} of operator {operator.index + 1}{place}",
            is_variable=True,
        )
        for i, state in enumerate(states)
    )
    inputs = (*operator.inputs, *(state.index for state in numbered))
    return replace(operator, inputs=inputs), (*tensors, *numbered)


def _without_variables(tensors: Sequence[Tensor], chosen: Sequence[int]) -> tuple[Tensor, ...]:
    return tuple(replace(t, is_variable=False) if t.index in chosen else t for t in tensors)
