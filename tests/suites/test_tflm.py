"""A part of TensorFlow Lite Micro's integration tests, drawn afresh for each commit."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from tests.suites.golden_tests import SETTINGS
from tests.suites.tflm import names, run_named
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_tflm

COUNT = 8


@needs_tflm
@pytest.mark.parametrize("on", SETTINGS)
def test_a_part_of_the_suite_passes(
    on: str, record_property: Callable[[str, object], None]
) -> None:
    seed = fresh_seed(1 << 30)
    record_property("random networks", seed)
    results = [run_named(name, on) for name in random.Random(seed).sample(names(), COUNT)]
    assert Counter(result.end for result in results) == {"passed": COUNT}, results
