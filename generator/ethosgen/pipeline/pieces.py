"""Golden outputs of a network that no oracle has whole: each operator by the oracle that has it."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.offload import single_operator
from ethosgen.oracle.oddities import is_undefined, may_be_undefined
from ethosgen.oracle.reference import LITERT, TFLM, Oracle, outputs_in_pieces
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.model import Model
from ethosgen.values.outcome import ORACLES, Arrays
from ethosgen.values.workload import has_state

_WITHIN_S = 300.0


@dataclass(frozen=True)
class Pieces:
    """The value of every tensor by index, for each sample, and each operator's oracle."""

    values: Sequence[dict[int, np.ndarray[Any, Any]]]
    oracles: Sequence[str]

    def outputs(self, model: Model) -> list[Arrays]:
        """Return a network's outputs by name."""
        return [{t.name: value[t.index] for t in model.outputs} for value in self.values]

    def note(self, model: Model) -> str:
        """Say which operators LiteRT ran."""
        pairs = zip(model.graph.operators, self.oracles, strict=True)
        lacking = dict.fromkeys(op.code for op, oracle in pairs if oracle == "litert")
        return f"operator by operator: LiteRT for {', '.join(lacking)}, TFLite Micro for the rest"

    def undefined(self, model: Model) -> list[str]:
        """Return for each sample the operator whose result C++ leaves undefined, "" without one."""
        pairs = [*zip(model.graph.operators, self.oracles, strict=True)]
        return [
            next(
                (
                    f"{op.code} with output '{model.graph.tensors[op.outputs[0]].name}'"
                    for op, oracle in pairs
                    if op.inputs
                    and op.inputs[0] in value
                    and is_undefined(op, model.graph.tensors, oracle, value[op.inputs[0]])
                ),
                "",
            )
            for value in self.values
        ]


def defined_samples(model: Model, samples: Sequence[Arrays]) -> tuple[list[int], str]:
    """Return the indices of the samples whose results C++ defines, and what excludes others.

    Otherwise an oracle's answer is only what its compiler chose. A network with state loses the
    samples after such a one too. A network that cannot be taken apart keeps all.
    """
    found = [""] * len(samples)
    if any(may_be_undefined(op, model.graph.tensors) for op in model.graph.operators):
        with contextlib.suppress(UnsupportedError):
            found = take_apart(model, samples).undefined(model)
    defined = [i for i, operator in enumerate(found) if not operator]
    if has_state(model):
        defined = [i for i in defined if not any(found[:i])]
    return defined, next(filter(None, found), "")


def take_apart(model: Model, samples: Sequence[Arrays], within_s: float = _WITHIN_S) -> Pieces:
    """Run a network operator by operator.

    UnsupportedError for an operator that no oracle has, and for networks that cannot be taken
    apart: those with subgraphs, resources or compressed constants.
    """
    operators = model.graph.operators
    if len(model.graphs) > 1 or model.compressed:
        raise UnsupportedError(f"'{model.name}' cannot be taken apart")
    pieces = [single_operator(model, op.index, with_states=True) for op in operators]
    whole = [piece for piece in pieces if piece is not None]
    if len(whole) < len(operators):
        raise UnsupportedError(f"'{model.name}' cannot be taken apart: it keeps resources")
    return Pieces(*outputs_in_pieces(model, whole, samples, within_s))


def _run(model: Model, samples: Sequence[Arrays]) -> list[Arrays]:
    return take_apart(model, samples).outputs(model)


MIXED = Oracle("mixed", ORACLES["mixed"], f"{TFLM.package}+{LITERT.package}", _run)
"""Both: each operator by the one that has it, TFLite Micro if both have."""
