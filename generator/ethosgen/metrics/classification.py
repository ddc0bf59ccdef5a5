"""Accuracy of a classifier: top-k, confusion matrix, precision and recall of each class."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.values.accuracy import ClassFigures, Classification

Array = np.ndarray[Any, Any]


def classify(
    scores: Array, labels: Array, names: Sequence[str], tops: Sequence[int] = (1,)
) -> Classification:
    """Return the figures of a classifier from the scores (samples, classes) and the labels.

    Of classes with equal scores the first wins, as with TFLite's ARG_MAX. NaN is below all numbers.
    """
    count = len(names)
    ranks = _ranks(scores, labels)
    answers = best(scores)
    confusion = np.zeros((count, count), np.int64)
    np.add.at(confusion, (labels, answers), 1)
    classes = tuple(
        ClassFigures(
            name=names[one],
            count=int(confusion[one].sum()),
            answered=int(confusion[:, one].sum()),
            right=int(confusion[one, one]),
        )
        for one in range(count)
    )
    return Classification(
        samples=len(labels),
        right={top: int(np.count_nonzero(ranks < top)) for top in tops},
        classes=classes,
        confusion=tuple(tuple(int(n) for n in row) for row in confusion),
    )


def best(scores: Array) -> Array:
    """Return each sample's best class from the scores (samples, classes), as `classify` does."""
    return np.asarray(_order(scores)[:, 0])


def _order(scores: Array) -> Array:
    """Return each sample's classes, the best first; a stable sort keeps equal ones in order."""
    wide = scores.astype(np.float64 if scores.dtype.kind == "f" else np.int64)
    return np.asarray(np.argsort(-wide, axis=1, kind="stable"))


def _ranks(scores: Array, labels: Array) -> Array:
    """Return the place of each sample's label among its classes, 0 for the best."""
    return np.asarray(np.argmax(_order(scores) == labels[:, np.newaxis], axis=1))
