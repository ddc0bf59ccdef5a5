"""One operator of a network, as a network of its own, without the constants of the others.

As in prefix.py the file is not written again. The bytes of other operators' constants become 0, so
that what is shown to others has nothing of the user's weights.
"""

from flatbuffers.table import Table

from ethosgen.backend.ethosu.offload.patching import (
    MODEL_GRAPHS,
    TENSOR_BUFFER,
    element,
    field,
    padded,
    target,
    tensor_tables,
)
from ethosgen.backend.ethosu.offload.prefix import (
    GRAPH_INPUTS,
    GRAPH_OPERATORS,
    GRAPH_OUTPUTS,
    MODEL_SIGNATURES,
    replace_vector,
    shorten,
)
from ethosgen.frontend.flatbuffer import decode_model
from ethosgen.values.model import ABSENT, HANDLE, STATEFUL, Model

_MODEL_BUFFERS, _BUFFER_DATA = 4, 0


def single_operator(model: Model, index: int, with_states: bool = False) -> Model | None:
    """Return an operator of the entry graph as a network; None for one with effects.

    Also None for one with a state, unless `with_states`: the network then keeps it.
    """
    operator, tensors = model.graph.operators[index], model.graph.tensors
    used = [i for i in (*operator.inputs, *operator.outputs) if i != ABSENT]
    is_plain = all(tensors[i].dtype != HANDLE for i in used)
    has_states = any(tensors[i].is_variable for i in used)
    if operator.code in STATEFUL or not is_plain or not operator.outputs:
        return None
    if has_states and not with_states:
        return None
    data = padded(model.data)
    root = Table(data, int.from_bytes(data[:4], "little"))
    _clear_others(data, root, model, set(used))
    table = element(root, field(root, MODEL_GRAPHS), 0)
    first = target(data, field(table, GRAPH_OPERATORS)) + 4
    place = target(data, first + 4 * index)
    data[first : first + 4] = (place - first).to_bytes(4, "little")
    shorten(data, table, GRAPH_OPERATORS, 1)
    shorten(data, root, MODEL_SIGNATURES, 0)
    read = (i for i in operator.inputs if i != ABSENT and not tensors[i].is_variable)
    inputs = dict.fromkeys(i for i in read if tensors[i].data is None)
    replace_vector(data, table, GRAPH_INPUTS, list(inputs))
    replace_vector(data, table, GRAPH_OUTPUTS, list(operator.outputs))
    return decode_model(bytes(data), model.name)


def _clear_others(data: bytearray, root: Table, model: Model, used: set[int]) -> None:
    """Make 0 of the bytes of constants that no used tensor of the entry graph has."""
    entries = zip(tensor_tables(root, model), _places(model), strict=True)
    numbered = [(_buffer(data, table), place) for (table, _), place in entries]
    kept = {number for number, (graph, index) in numbered if graph == 0 and index in used}
    for number in {number for number, _ in numbered} - kept - {0}:
        buffer = element(root, field(root, _MODEL_BUFFERS), number)
        slot = field(buffer, _BUFFER_DATA)
        if slot != buffer.Pos:
            start = target(data, slot)
            count = int.from_bytes(data[start : start + 4], "little")
            data[start + 4 : start + 4 + count] = bytes(count)


def _places(model: Model) -> list[tuple[int, int]]:
    return [(number, t.index) for number, graph in enumerate(model.graphs) for t in graph.tensors]


def _buffer(data: bytearray, table: Table) -> int:
    place = field(table, TENSOR_BUFFER)
    return 0 if place == table.Pos else int.from_bytes(data[place : place + 4], "little")
