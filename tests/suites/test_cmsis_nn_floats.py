"""A part of CMSIS-NN's unit tests in float32, drawn afresh for each commit."""

import random
from collections import Counter
from collections.abc import Callable

from tests.suites.cmsis_nn_floats import names, run_named
from tests.suites.golden_tests import CPU
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_cmsis_nn

COUNT = 12


@needs_cmsis_nn
def test_a_part_of_the_suite_passes(record_property: Callable[[str, object], None]) -> None:
    seed = fresh_seed(1 << 30)
    record_property("random networks", seed)
    results = [run_named(name, CPU) for name in random.Random(seed).sample(names(), COUNT)]
    assert Counter(result.end for result in results) == {"passed": COUNT}, results
