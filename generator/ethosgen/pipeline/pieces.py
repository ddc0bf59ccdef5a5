"""Golden outputs operator by operator, for networks that no single oracle runs completely."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.oracle.oddities import may_be_undefined, undefined_elements
from ethosgen.oracle.reference import LITERT, TFLM, Oracle, outputs_in_pieces
from ethosgen.pipeline.excerpt import single_operator
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import ORACLES, Arrays, LeftOut
from ethosgen.values.workload import has_state

Mask = np.ndarray[Any, np.dtype[np.bool_]]

_WITHIN_S = 300.0


@dataclass(frozen=True)
class Pieces:
    """The value of every tensor by index, for each sample, and each operator's oracle."""

    values: Sequence[dict[int, np.ndarray[Any, Any]]]
    oracles: Sequence[str]

    def outputs(self, network: Network) -> list[Arrays]:
        """Return a network's outputs by name."""
        return [{t.name: value[t.index] for t in network.outputs} for value in self.values]

    def note(self, network: Network) -> str:
        """Return a note that lists the operators that LiteRT ran."""
        pairs = zip(network.graph.operators, self.oracles, strict=True)
        lacking = dict.fromkeys(op.code for op, oracle in pairs if oracle == "litert")
        return f"operator by operator: LiteRT for {', '.join(lacking)}, TFLite Micro for the rest"


def undefined_outputs(
    network: Network, samples: Sequence[Arrays], oracle: str | None = None
) -> LeftOut | None:
    """Return the elements of the outputs that are undefined in C++, None if there are none.

    The oracle's value for them depends on its compiler. Results computed from them are undefined
    too, with state also in later samples. A network that cannot be taken apart has none.
    """
    if not any(may_be_undefined(op, network.graph.tensors) for op in network.graph.operators):
        return None
    try:
        pieces = take_apart(network, samples)
    except UnsupportedError:
        return None
    oracles = [oracle] * len(pieces.oracles) if oracle in ("tflm", "litert") else pieces.oracles
    reached: dict[int, Mask] = {}
    masks, why = [], ""
    for value in pieces.values:
        if not has_state(network):
            reached.clear()
        found = _spread(network, value, oracles, reached)
        why = why or found
        masks.append({t.name: reached[t.index] for t in network.outputs if t.index in reached})
    if not any(masks):
        return None
    return LeftOut(masks, f"C++ leaves the result of {why} undefined for a float that does not fit")


def _spread(
    network: Network,
    value: Mapping[int, np.ndarray[Any, Any]],
    oracles: Sequence[str],
    reached: dict[int, Mask],
) -> str:
    """Add a sample's undefined elements to `reached`; return the operator that causes them.

    An operator that reads one has an undefined result, and so have its variables.
    """
    tensors, why = network.graph.tensors, ""
    for op, oracle in zip(network.graph.operators, oracles, strict=True):
        given = value.get(op.inputs[0]) if op.inputs else None
        if not reached.keys().isdisjoint(op.inputs):
            written = (*op.outputs, *(i for i in op.inputs if i >= 0 and tensors[i].is_variable))
            reached |= {i: np.ones(tensors[i].shape, bool) for i in written}
        elif given is not None:
            mask = undefined_elements(op, tensors, oracle, given)
            if mask.any():
                why = why or f"{op.code} with output '{tensors[op.outputs[0]].name}'"
                reached[op.outputs[0]] = mask.reshape(tensors[op.outputs[0]].shape)
    return why


def take_apart(network: Network, samples: Sequence[Arrays], within_s: float = _WITHIN_S) -> Pieces:
    """Run a network operator by operator.

    UnsupportedError for an operator that no oracle has, and for networks that cannot be taken
    apart: those with subgraphs, resources or compressed constants.
    """
    operators = network.graph.operators
    if len(network.graphs) > 1 or network.compression:
        raise UnsupportedError(f"'{network.name}' cannot be taken apart")
    pieces = [single_operator(network, op.index, with_states=True) for op in operators]
    whole = [piece for piece in pieces if piece is not None]
    if len(whole) < len(operators):
        raise UnsupportedError(f"'{network.name}' cannot be taken apart: it keeps resources")
    return Pieces(*outputs_in_pieces(network, whole, samples, within_s))


def _run(network: Network, samples: Sequence[Arrays]) -> list[Arrays]:
    return take_apart(network, samples).outputs(network)


MIXED = Oracle("mixed", ORACLES["mixed"], f"{TFLM.package}+{LITERT.package}", _run)
"""Both: each operator by the one that has it, TFLite Micro if both have."""
