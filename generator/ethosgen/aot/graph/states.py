"""States that are not tensors in the file, because TFLite Micro's operators allocate them.

Here each is a variable, appended to the operator's inputs: it is outside the arena, and
NAME_reset() initializes it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ethosgen.aot.graph import streams
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Graph, Operator, Tensor

SPECTRAL_SUBTRACTION = "SignalFilterBankSpectralSubtraction"

States = Callable[[Operator, Sequence[Tensor]], tuple[Tensor, ...]]
"""Returns an operator's states; the initial bytes are 0, those of int8 the zero point."""


def _noise_estimate(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return a state with one value per channel (filter_bank_spectral_subtraction.cc)."""
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
"""The functions that return an operator's states, by custom code."""


def add_states(graph: Graph, place: str = "") -> Graph:
    """Return a graph with a variable for each state, appended to its operator's inputs.

    `place` is appended to their names in graphs other than the network's first.
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
    """Return an operator with its states as additional inputs, and the extended tensors.

    Its outputs are no longer variables (files mark a CIRCULAR_BUFFER's output so), because they
    would have two owners. An operator with wrong options gets no states; its kernel reports the
    error.
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
