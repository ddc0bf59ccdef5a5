"""The area under the ROC curve, against pairs counted one by one."""

import numpy as np
import pytest

from ethosgen.metrics import detect, reconstruction_error


def counted_pairs(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the area as its definition has it."""
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a in scores[labels != 0]
        for b in scores[labels == 0]
    ]
    return sum(pairs) / len(pairs)


@pytest.mark.parametrize("seed", range(4))
def test_the_area_is_the_share_of_pairs_in_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, 12, 80).astype(float)  # many are equal
    labels = random.integers(0, 2, 80)
    assert detect(scores, labels).auc == pytest.approx(counted_pairs(scores, labels))


def test_perfect_reversed_and_useless_scores() -> None:
    labels = np.array([0, 0, 1, 1])
    assert detect(np.array([1.0, 2.0, 3.0, 4.0]), labels).auc == 1.0
    assert detect(np.array([4.0, 3.0, 2.0, 1.0]), labels).auc == 0.0
    assert detect(np.ones(4), labels).auc == 0.5


def test_without_both_kinds_there_is_no_area() -> None:
    found = detect(np.array([1.0, 2.0]), np.array([0, 0]))
    assert (found.auc, found.positives, found.mean_positive) == (None, 0, None)
    assert found.mean_negative == 1.5


def test_the_reconstruction_error_is_a_mean_of_squares() -> None:
    assert reconstruction_error(np.array([1.0, -2.0]), np.array([0.0, 1.0])) == 5.0
