"""Figures of a classifier against counts by hand, the area under the ROC curve against pairs."""

import numpy as np
import pytest

from ethosgen.metrics import classify, detect, reconstruction_error

NAMES = ("cat", "dog", "owl")


def test_counts_by_hand() -> None:
    scores = np.array([[9, 1, 0], [1, 9, 2], [5, 6, 7], [9, 8, 1], [1, 3, 2]], np.int8)
    figures = classify(scores, np.array([0, 1, 1, 1, 2]), NAMES, (1, 2, 3))
    assert dict(figures.right) == {1: 2, 2: 5, 3: 5}
    assert figures.confusion == ((1, 0, 0), (1, 1, 1), (0, 1, 0))
    cat, dog, owl = figures.classes
    assert (cat.count, cat.answered, cat.right) == (1, 2, 1)
    assert (cat.precision, cat.recall) == (0.5, 1.0)
    assert (dog.precision, dog.recall) == (0.5, 1 / 3)
    assert (owl.precision, owl.recall) == (0.0, 0.0)


def test_the_first_of_equal_classes_wins() -> None:
    scores = np.array([[3, 3, 3], [-128, 127, 127]], np.int8)
    figures = classify(scores, np.array([1, 2]), NAMES, (1, 2))
    assert dict(figures.right) == {1: 0, 2: 2}
    assert figures.confusion[1] == (1, 0, 0)


def test_the_least_integer_is_below_all_others() -> None:
    scores = np.array([[-128, -127, 5], [0, 255, 254]]).astype(np.int16)
    assert classify(scores.astype(np.int8), np.array([2, 0]), NAMES).right[1] == 2
    assert classify(scores.astype(np.uint8), np.array([0, 1]), NAMES).right[1] == 1


def test_nan_is_below_all_numbers() -> None:
    scores = np.array([[np.nan, -np.inf, -1.0]], np.float32)
    assert classify(scores, np.array([2]), NAMES).right[1] == 1


def test_a_class_without_samples_or_answers_has_no_share() -> None:
    figures = classify(np.array([[1, 0, 0]], np.int8), np.array([0]), NAMES)
    assert (figures.classes[1].precision, figures.classes[1].recall) == (None, None)
    assert figures.as_json()["classes"][1]["recall"] is None


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
    figures = detect(np.array([1.0, 2.0]), np.array([0, 0]))
    assert (figures.auc, figures.positives, figures.mean_positive) == (None, 0, None)
    assert figures.mean_negative == 1.5


def test_the_reconstruction_error_is_a_mean_of_squares() -> None:
    assert reconstruction_error(np.array([1.0, -2.0]), np.array([0.0, 1.0])) == 5.0
