"""scikit-learn's handwritten digits, and the demo's split of them.

1,797 images of 8x8 pixels, by 43 writers (UCI, Alpaydin and Kaynak). A seeded shuffle selects 360
of them as the held-out set, 36 of each digit as nearly as the data allows; the network is trained
on the other 1,437, and calibrated on the first 256 of those. Neither uses a held-out image.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SPLIT_SEED = 8
HELD_OUT = 360
CALIBRATION = 256


@dataclass(frozen=True)
class Digits:
    """Images float32 [n, 8, 8, 1] in 0..1, labels int64 [n]."""

    images: Array
    labels: Array


def load_split() -> tuple[Digits, Digits]:
    """Return the training set and the held-out set."""
    from sklearn.datasets import load_digits  # with scipy, seconds of processor time

    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[..., np.newaxis]
    labels = data.target.astype(np.int64)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    by_digit = [order[labels[order] == digit] for digit in range(10)]
    held_out = np.concatenate([indices[: HELD_OUT // 10] for indices in by_digit])
    in_test = np.isin(order, held_out)
    test, training = order[in_test], order[~in_test]
    return Digits(images[training], labels[training]), Digits(images[test], labels[test])
