"""Expected outputs of the NPU: an oracle's outputs, with each known difference at its operator.

The network is cut at every operator that an entry of known.py covers. The entry predicts that
operator's output; the oracle computes everything before and after it. The result is compared bit by
bit, so an entry excuses only the values that it predicts.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ethosgen.values.network import Graph
from tests.corpus.draft import Case
from tests.corpus.known import Known, find_known, find_oracle
from tests.corpus.oracles import ask
from tests.corpus.settings import Setting
from tests.corpus.site import TFLM, Array, OperatorSite, Values
from tests.support.network_file import Layout, write

Column = Sequence[Array]
"""A tensor's value in each sample."""

Columns = Mapping[int, Column]
"""By tensor."""


@dataclass
class Expectation:
    """The outputs, a list for each sample, and the entries that changed a value."""

    outputs: list[list[Array]]
    reasons: list[Known] = field(default_factory=list)


class Inquiry:
    """Questions about parts of one network."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def ask(self, oracle: str, columns: Columns, wanted: Sequence[int]) -> list[Column] | None:
        """Compute the wanted tensors from the given ones; return None if the oracle cannot."""
        part = cut(self.layout(oracle), columns, wanted)
        return self._answers(oracle, part, [columns[i] for i in part.inputs])

    def ask_edited(
        self, oracle: str, site: OperatorSite, fed: Columns, edit: Mapping[str, object]
    ) -> list[Column] | None:
        """Run an operator with other options on other values, which may have another shape."""
        layout = self.layout(oracle)
        tensors = list(layout.tensors)
        for index, column in fed.items():
            shape = column[0].shape
            tensors[index] = dataclasses.replace(tensors[index], shape=shape, data=None)
        operator = layout.operators[site.operator.index]
        edited = dataclasses.replace(operator, options={**operator.options, **edit})
        part = dataclasses.replace(
            layout,
            tensors=tensors,
            operators=[edited],
            inputs=[*fed],
            outputs=list(site.operator.outputs),
        )
        return self._answers(oracle, part, [*fed.values()])

    def layout(self, oracle: str) -> Layout:
        """Return the network for an oracle: the int8 twin or the network itself."""
        return (self.case.twin if oracle == TFLM else None) or self.case.layout

    def _answers(self, oracle: str, part: Layout, columns: Sequence[Column]) -> list[Column] | None:
        """Ask for a part's outputs; `columns` are its inputs, in the network's own types."""
        specs, twin = self.case.layout.tensors, oracle == TFLM and self.case.twin is not None
        samples = [[signed(a) if twin else a for a in row] for row in zip(*columns, strict=True)]
        how, rows = ask(oracle, [(write(part), samples, len(part.outputs))])[0]
        if how != "ok":
            return None
        return [
            [
                (unsigned(a) if specs[i].dtype == "uint8" else np.asarray(a)).reshape(
                    specs[i].shape
                )
                for a in column
            ]
            for i, column in zip(part.outputs, zip(*rows, strict=True), strict=True)
        ]


def cut(layout: Layout, known: Collection[int], wanted: Sequence[int]) -> Layout:
    """Return the part of a network that computes some tensors from others."""
    needed, kept = set(wanted) - set(known), []
    for operator in reversed(layout.operators):
        if needed & set(operator.outputs):
            kept.append(operator)
            needed |= set(operator.inputs) - set(known)
    read = {i for operator in kept for i in operator.inputs}
    inputs = sorted(i for i in known if i in read)
    return dataclasses.replace(layout, operators=kept[::-1], inputs=inputs, outputs=list(wanted))


def signed(array: Array) -> Array:
    """Convert a uint8 network's value to that of its int8 twin."""
    return (array ^ 0x80).view(np.int8) if array.dtype == np.uint8 else array


def unsigned(array: Array) -> Array:
    """Convert an int8 twin's value to that of the uint8 network."""
    return array if array.dtype == np.uint8 else np.asarray(array).view(np.uint8) ^ 0x80


def expect(
    case: Case, graph: Graph, setting: Setting, against: str, samples: Sequence[Mapping[str, Array]]
) -> Expectation | None:
    """Return the NPU's expected outputs; None if an oracle cannot compute a part."""
    inquiry = Inquiry(case)
    values: dict[int, Column] = {
        i: [sample[graph.tensors[i].name] for sample in samples] for i in graph.inputs
    }
    reasons: list[Known] = []
    for operator in graph.operators:
        site = OperatorSite(graph, operator, setting)
        entry = find_known(site, against)
        if entry is None:
            continue
        read = [i for i in dict.fromkeys(operator.inputs) if i >= 0 and _varies(graph, i)]
        missing = [i for i in read if i not in values]
        answers = inquiry.ask(against, values, missing) if missing else []
        if answers is None:
            return None
        values |= dict(zip(missing, answers, strict=True))
        own = {i: values[i] for i in read}
        right = inquiry.ask(against, own, operator.outputs)
        predicted = _applied(entry, site, inquiry, against, own, right)
        if right is None or predicted is None:
            return None
        if any(
            not np.array_equal(a, b) for a, b in zip(_flat(predicted), _flat(right), strict=True)
        ):
            reasons.append(entry)
        values |= dict(zip(operator.outputs, predicted, strict=True))
    return _finished(inquiry, against, values, graph, reasons)


def _finished(
    inquiry: Inquiry,
    against: str,
    values: dict[int, Column],
    graph: Graph,
    reasons: list[Known],
) -> Expectation | None:
    """Compute the remaining outputs with the oracle."""
    missing = [i for i in dict.fromkeys(graph.outputs) if i not in values]
    answers = inquiry.ask(against, values, missing) if missing else []
    if answers is None:
        return None
    values |= dict(zip(missing, answers, strict=True))
    columns = [values[i] for i in graph.outputs]
    return Expectation([list(row) for row in zip(*columns, strict=True)], reasons)


def _applied(
    entry: Known,
    site: OperatorSite,
    inquiry: Inquiry,
    against: str,
    own: Columns,
    right: list[Column] | None,
) -> list[Column] | None:
    """Return the outputs that an entry predicts for its operator, from the operator's inputs."""
    oracle = find_oracle(site, against)
    if entry.oracle is not None:
        return inquiry.ask(oracle, own, site.operator.outputs)
    if right is None:
        return None
    golden = [*zip(*right, strict=True)]
    read = [_read(site, own, index) for index in range(len(golden))]
    if entry.reads is not None or entry.edit is not None:
        fed = dict(own)
        if entry.reads is not None:
            rows = [entry.reads(site, row) for row in read]
            places = [i for i in site.operator.inputs if i >= 0]
            fed = dict(zip(places, zip(*rows, strict=True), strict=False))
        return inquiry.ask_edited(oracle, site, fed, entry.edit(site) if entry.edit else {})
    if entry.sequence is not None:
        predicted: Sequence[Values] | None = entry.sequence(site, read, golden)
    else:
        predicted = [_value(entry, site, row, out) for row, out in zip(read, golden, strict=True)]
    return None if predicted is None else [list(column) for column in zip(*predicted, strict=True)]


def _value(entry: Known, site: OperatorSite, read: Values, right: Values) -> list[Array]:
    if entry.value is None:
        raise ValueError(f"{entry.name} predicts no values")
    return entry.value(site, read, right)


def _read(site: OperatorSite, own: Columns, sample: int) -> list[Array]:
    """Return an operator's inputs in one sample, without its states."""
    tensors = [site.graph.tensors[i] for i in site.operator.inputs if i >= 0]
    return [
        own[t.index][sample] if t.index in own else t.array() for t in tensors if not t.is_variable
    ]


def _varies(graph: Graph, index: int) -> bool:
    tensor = graph.tensors[index]
    return tensor.data is None and not tensor.is_variable


def _flat(columns: Sequence[Column]) -> list[Array]:
    return [array for column in columns for array in column]
