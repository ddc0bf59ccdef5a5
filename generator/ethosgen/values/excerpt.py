"""Extract one operator of a network as a separate network.

A reported case then contains none of the user's other weights, names or metadata.
"""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.values.network import ABSENT, HANDLE, STATEFUL, Graph, Network


def single_operator(network: Network, index: int, with_states: bool = False) -> Network | None:
    """Return an operator of the entry graph as a network; None for one with side effects.

    Also None for one with a state, unless `with_states`: the network then keeps the state.
    """
    graph = network.graph
    operator, tensors = graph.operators[index], graph.tensors
    ports = (*operator.inputs, *operator.outputs, *operator.intermediates)
    used = [i for i in dict.fromkeys(ports) if i != ABSENT]
    is_plain = all(tensors[i].dtype != HANDLE for i in used)
    has_states = any(tensors[i].is_variable for i in used)
    if operator.code in STATEFUL or not is_plain or not operator.outputs:
        return None
    if has_states and not with_states:
        return None
    places = {old: new for new, old in enumerate(used)} | {ABSENT: ABSENT}

    def moved(indices: Sequence[int]) -> tuple[int, ...]:
        return tuple(places[i] for i in indices)

    read = (i for i in operator.inputs if i != ABSENT and not tensors[i].is_variable)
    given = [  # an empty constant has no data either
        i for i in dict.fromkeys(read) if tensors[i].data is None and tensors[i].elements
    ]
    alone = replace(
        operator,
        index=0,
        inputs=moved(operator.inputs),
        outputs=moved(operator.outputs),
        intermediates=moved(operator.intermediates),
    )
    kept = tuple(replace(tensors[old], index=new) for old, new in places.items() if old != ABSENT)
    inputs, outputs = moved(given), alone.outputs
    return network.edited(Graph(graph.name, kept, (alone,), inputs, outputs), metadata={})
