"""Judges outputs by labels: selects the output, and the score in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethosgen.metrics import best, classify, detect, reconstruction_error
from ethosgen.oracle import DEFAULT, ORACLES
from ethosgen.samples.labelled import Labelled
from ethosgen.samples.quantizing import real
from ethosgen.values.accuracy import (
    SEQUENCE,
    STREAM,
    AccuracyReport,
    Agreement,
    Classification,
    Detection,
    SampleVerdict,
    ScoringWork,
)
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays, compare
from ethosgen.verdict.judgement import tolerance_of

Array = np.ndarray[Any, Any]

RECONSTRUCTION = "reconstruction"
"""The score of an autoencoder: the mean squared error between its input and its output."""


@dataclass(frozen=True)
class Judge:
    """Judges one output: by its best classes, or by the score of a detector.

    `names` are the classes' names, none for a detector. `score` is RECONSTRUCTION, the index of an
    element of the output, or None for a classifier.
    """

    network: Network
    data: Labelled
    output: Tensor
    score: str | None
    names: tuple[str, ...]
    tops: tuple[int, ...]

    def classify(self, outputs: Mapping[int, Arrays]) -> Classification | None:
        """Return a classifier's figures from the outputs by sample, None for a detector."""
        if self.score is not None:
            return None
        scores = self._outputs(outputs)
        return classify(scores, self.data.labels[list(outputs)], self.names, self.tops)

    def detect(self, outputs_of: Mapping[int, Arrays]) -> Detection | None:
        """Return a detector's figures from the outputs by sample, None for a classifier."""
        if self.score is None:
            return None
        scores = np.array([self._score(sample, outputs) for sample, outputs in outputs_of.items()])
        return detect(scores, self.data.labels[list(outputs_of)])

    def verdicts(self, outputs_of: Mapping[int, Arrays]) -> tuple[SampleVerdict, ...]:
        """Return the verdict of each sample."""
        labels = {sample: int(self.data.labels[sample]) for sample in outputs_of}
        if self.score is not None:
            return tuple(
                SampleVerdict(i, labels[i], None, self._score(i, outputs))
                for i, outputs in outputs_of.items()
            )
        answers = best(self._outputs(outputs_of)).tolist()
        values = (self._values(outputs) for outputs in outputs_of.values())
        return tuple(
            SampleVerdict(sample, labels[sample], answer, float(scores[answer]))
            for sample, answer, scores in zip(outputs_of, answers, values, strict=True)
        )

    def _outputs(self, outputs_of: Mapping[int, Arrays]) -> Array:
        return np.stack([outputs[self.output.name].reshape(-1) for outputs in outputs_of.values()])

    def _values(self, outputs: Arrays) -> Array:
        """Return the real values of the output's elements; their integers if it has no scale."""
        flat = outputs[self.output.name].reshape(-1)
        return flat if self.output.quantization is None else real(flat, self.output)

    def _score(self, sample: int, outputs: Arrays) -> float:
        values = real(outputs[self.output.name].reshape(-1), self.output)
        if self.score != RECONSTRUCTION:
            return float(values[int(self.score or 0)])
        only = self.network.inputs[0]
        fed = self.data.steps(sample)[-1][only.name].reshape(-1)
        return reconstruction_error(real(fed, only), values)


def make_judge(
    network: Network,
    data: Labelled,
    output: str | None,
    score: str | None,
    tops: tuple[int, ...],
) -> Judge:
    """Choose the output by name or index; InputError if labels or score do not fit it."""
    judged = _choose(network, output)
    most = max(tops)
    if score is not None and most > 1:
        raise InputError(f"--top {most} is for a classifier, but --score makes a detector's score")
    if score is None and most > judged.elements:
        has = counted(judged.elements, "class", "classes")
        raise InputError(f"--top {most} is more than the output has, {has}")
    names: tuple[str, ...] = ()
    if score == RECONSTRUCTION:
        _require_autoencoder(network, judged)
    elif score is not None:
        if not score.isdecimal() or int(score) >= judged.elements:
            raise InputError(
                f"--score {score} is neither {RECONSTRUCTION} nor an element of the output, "
                f"which has {judged.elements}"
            )
    else:
        names = _classes(network, data, judged)
    return Judge(network, data, judged, score, names, tops)


def _choose(network: Network, output: str | None) -> Tensor:
    outputs = network.outputs
    names = ", ".join(f"{index} or '{tensor.name}'" for index, tensor in enumerate(outputs))
    if output is None:
        if len(outputs) == 1:
            return outputs[0]
        raise InputError(
            f"accuracy judges one output, but '{network.name}' has {len(outputs)}; choose it with "
            f"--output-tensor: {names}"
        )
    fitting = [tensor for tensor in outputs if tensor.name == output]
    if not fitting and output.isdecimal():
        fitting = list(outputs[int(output) :][:1])
    if len(fitting) != 1:
        raise InputError(
            f"--output-tensor {output} is not an output of '{network.name}'; choose from: {names}"
        )
    return fitting[0]


def _require_autoencoder(network: Network, output: Tensor) -> None:
    if len(network.inputs) != 1 or network.inputs[0].elements != output.elements:
        raise InputError(
            f"--score {RECONSTRUCTION} is for an autoencoder, whose output is as large as its "
            f"input; '{network.name}' is none"
        )


def _classes(network: Network, data: Labelled, output: Tensor) -> tuple[str, ...]:
    """Return the names of a classifier's classes."""
    if output.elements < 2:
        raise InputError(
            f"'{network.name}' has one output element, so it is not a classifier; name it as the "
            "score of a detector with --score 0"
        )
    classes = output.elements
    if int(data.labels.max()) >= classes or len(data.names) > classes:
        most = max(int(data.labels.max()) + 1, len(data.names))
        raise InputError(
            f"the labels need {counted(most, 'class', 'classes')}, but '{network.name}' has "
            f"{counted(classes, 'class', 'classes')}"
        )
    return (*data.names, *map(str, range(len(data.names), classes)))


def summarize(
    judge: Judge,
    npu: str,
    outputs: Mapping[str, Sequence[Arrays]],
    work: Sequence[ScoringWork] = (),
) -> AccuracyReport:
    """Return the figures of all samples' outputs by target: the first one's, and the agreement.

    InputError if no sample has an output.
    """
    network, data = judge.network, judge.data
    first, *others = outputs
    judged = {sample: outputs_of for sample, outputs_of in enumerate(outputs[first]) if outputs_of}
    if not judged:
        raise InputError(
            f"'{network.name}' had no output for any sample: it waits for more inputs; give it "
            f"sequences of them with --state {SEQUENCE}, or all of them as one with {STREAM}"
        )
    return AccuracyReport(
        network=network.name,
        npu=npu,
        samples=len(judged),
        taken=data.note,
        silent=len(data) - len(judged),
        output=judge.output.name if len(network.outputs) > 1 else None,
        classification=judge.classify(judged),
        detection=judge.detect(judged),
        agreements=tuple(
            agree(network, (first, outputs[first]), (other, outputs[other])) for other in others
        ),
        work=tuple(work),
        check_with=None if set(outputs) & set(ORACLES) else DEFAULT.name,
        verdicts=judge.verdicts(judged),
    )


def agree(
    network: Network,
    ours: tuple[str, Sequence[Arrays]],
    other: tuple[str, Sequence[Arrays]],
) -> Agreement:
    """Compare all outputs of two targets; floats may differ by the oracle's tolerance."""
    oracle = next((name for name, _ in (ours, other) if name in ORACLES), DEFAULT.name)
    tolerance = tolerance_of(network, oracle)
    differing, first = 0, None
    for index, (got, wanted) in enumerate(zip(ours[1], other[1], strict=True)):
        comparison = compare(other[0], [got], [wanted], tolerance)
        if comparison.mismatches:
            differing += 1
            first = first or (replace(comparison.first, sample=index) if comparison.first else None)
    return Agreement(ours[0], other[0], len(ours[1]), differing, first)
