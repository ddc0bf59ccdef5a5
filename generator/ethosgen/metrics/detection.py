"""Accuracy of a detector, which gives one score for each sample: the area under its ROC curve."""

from typing import Any

import numpy as np

from ethosgen.values.accuracy import Detection

Array = np.ndarray[Any, Any]


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


def reconstruction_error(given: Array, made: Array) -> float:
    """Return the mean squared error between an autoencoder's input and its output."""
    difference = given.astype(np.float64) - made.astype(np.float64)
    return float(np.mean(np.square(difference)))
