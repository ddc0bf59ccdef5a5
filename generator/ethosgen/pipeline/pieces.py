"""Golden outputs of a network that no oracle has whole: each operator by the oracle that has it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.oracle.oddities import is_undefined, may_be_undefined
from ethosgen.oracle.reference import LITERT, TFLM, Oracle, outputs_in_pieces
from ethosgen.pipeline.excerpt import single_operator
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import ORACLES, Arrays
from ethosgen.values.workload import has_state

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
        """Say which operators LiteRT ran."""
        pairs = zip(network.graph.operators, self.oracles, strict=True)
        lacking = dict.fromkeys(op.code for op, oracle in pairs if oracle == "litert")
        return f"operator by operator: LiteRT for {', '.join(lacking)}, TFLite Micro for the rest"


def undefined_outputs(
    network: Network, samples: Sequence[Arrays]
) -> tuple[list[frozenset[str]], str]:
    """Return the outputs of each sample that C++ leaves undefined, and the operator that is why.

    An oracle's answer for them is only what its compiler chose. They depend on the operator's
    result: with state, in later samples too. A network that cannot be taken apart has none.
    """
    tensors, none = network.graph.tensors, [frozenset[str]()] * len(samples)
    if not any(may_be_undefined(op, tensors) for op in network.graph.operators):
        return none, ""
    try:
        pieces = take_apart(network, samples)
    except UnsupportedError:
        return none, ""
    found, why = [], ""
    reached: set[int] = set()
    for value in pieces.values:
        reached = set(reached) if has_state(network) else set()
        for op, oracle in zip(network.graph.operators, pieces.oracles, strict=True):
            given = value.get(op.inputs[0]) if op.inputs else None
            if given is not None and is_undefined(op, tensors, oracle, given):
                why = why or f"{op.code} with output '{tensors[op.outputs[0]].name}'"
            elif not reached.intersection(op.inputs):
                continue
            reached.update(op.outputs, (i for i in op.inputs if i >= 0 and tensors[i].is_variable))
        found.append(frozenset(t.name for t in network.outputs if t.index in reached))
    return found, why


def without(outputs: Sequence[Arrays], names: Sequence[Collection[str]]) -> list[Arrays]:
    """Return each sample's outputs without those that are named for it."""
    return [
        {name: array for name, array in one.items() if name not in dropped}
        for one, dropped in zip(outputs, names, strict=True)
    ]


def take_apart(network: Network, samples: Sequence[Arrays], within_s: float = _WITHIN_S) -> Pieces:
    """Run a network operator by operator.

    UnsupportedError for an operator that no oracle has, and for networks that cannot be taken
    apart: those with subgraphs, resources or compressed constants.
    """
    operators = network.graph.operators
    if len(network.graphs) > 1 or network.compressed:
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
