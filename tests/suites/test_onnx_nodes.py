"""A part of ONNX's backend tests, drawn afresh for each commit."""

import random
from collections.abc import Callable

import pytest

from tests.suites.golden_tests import SETTINGS
from tests.suites.onnx_nodes import SUITE, names, run_node
from tests.support.fresh import fresh_seed

COUNT = 40
"""Tests drawn; ethosgen refuses most, since ONNX has operators of all kinds of software."""


@pytest.mark.compiler("g++")
@pytest.mark.slow
def test_a_part_of_the_suite_passes_or_is_refused(
    record_property: Callable[[str, object], None],
) -> None:
    seed = fresh_seed(1 << 30)
    record_property("random networks", seed)
    choose = random.Random(seed)
    nodes = [name for name in names() if name.startswith("Node/")]
    assert len(nodes) > 1800
    on = choose.choice(SETTINGS)
    results = [run_node(name, on) for name in choose.sample(nodes, COUNT)]
    assert any(result.end == "passed" for result in results)
    ended = [result for result in results if result.end not in ("passed", "refused")]
    assert [result for result in ended if not SUITE.cause(result)] == [], on
