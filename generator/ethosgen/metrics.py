"""Metrics of labelled samples: scores and labels in, figures out.

A classifier has top-k, a confusion matrix, precision and recall of each class. A detector gives one
score for each sample, and has the area under its ROC curve.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.values.accuracy import ClassFigures, Classification, Detection

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
            name=names[index],
            count=int(confusion[index].sum()),
            answered=int(confusion[:, index].sum()),
            right=int(confusion[index, index]),
        )
        for index in range(count)
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


def detect(scores: Array, labels: Array) -> Detection:
    """Return the figures of a detector; a label that is not 0 is positive.

    The area under the ROC curve is the share of pairs of a positive and a negative sample in which
    the positive one has the higher score; a pair with equal scores counts half (Mann and Whitney's
    U). It is None without both kinds of samples.
    """
    is_positive = labels != 0
    positives, negatives = scores[is_positive], np.sort(scores[~is_positive])
    below = np.searchsorted(negatives, positives, "left")
    up_to = np.searchsorted(negatives, positives, "right")
    pairs = len(positives) * len(negatives)
    area = float((below + up_to).sum() / (2 * pairs)) if pairs else None
    return Detection(
        samples=len(labels),
        positives=len(positives),
        auc=area,
        mean_positive=float(positives.mean()) if len(positives) else None,
        mean_negative=float(negatives.mean()) if len(negatives) else None,
    )


def reconstruction_error(wanted: Array, answered: Array) -> float:
    """Return the mean squared error between an autoencoder's input and its output."""
    difference = wanted.astype(np.float64) - answered.astype(np.float64)
    return float(np.mean(np.square(difference)))
