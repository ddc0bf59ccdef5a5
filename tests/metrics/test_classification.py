"""Figures of a classifier, against counts by hand."""

import numpy as np

from ethosgen.metrics import classify

NAMES = ("cat", "dog", "owl")


def test_counts_by_hand() -> None:
    scores = np.array([[9, 1, 0], [1, 9, 2], [5, 6, 7], [9, 8, 1], [1, 3, 2]], np.int8)
    found = classify(scores, np.array([0, 1, 1, 1, 2]), NAMES, (1, 2, 3))
    assert dict(found.right) == {1: 2, 2: 5, 3: 5}
    assert found.confusion == ((1, 0, 0), (1, 1, 1), (0, 1, 0))
    cat, dog, owl = found.classes
    assert (cat.count, cat.answered, cat.right) == (1, 2, 1)
    assert (cat.precision, cat.recall) == (0.5, 1.0)
    assert (dog.precision, dog.recall) == (0.5, 1 / 3)
    assert (owl.precision, owl.recall) == (0.0, 0.0)


def test_the_first_of_equal_classes_wins() -> None:
    scores = np.array([[3, 3, 3], [-128, 127, 127]], np.int8)
    found = classify(scores, np.array([1, 2]), NAMES, (1, 2))
    assert dict(found.right) == {1: 0, 2: 2}
    assert found.confusion[1] == (1, 0, 0)


def test_the_least_integer_is_below_all_others() -> None:
    scores = np.array([[-128, -127, 5], [0, 255, 254]]).astype(np.int16)
    assert classify(scores.astype(np.int8), np.array([2, 0]), NAMES).right[1] == 2
    assert classify(scores.astype(np.uint8), np.array([0, 1]), NAMES).right[1] == 1


def test_nan_is_below_all_numbers() -> None:
    scores = np.array([[np.nan, -np.inf, -1.0]], np.float32)
    assert classify(scores, np.array([2]), NAMES).right[1] == 1


def test_a_class_without_samples_or_answers_has_no_share() -> None:
    found = classify(np.array([[1, 0, 0]], np.int8), np.array([0]), NAMES)
    assert (found.classes[1].precision, found.classes[1].recall) == (None, None)
    assert found.as_json()["classes"][1]["recall"] is None
