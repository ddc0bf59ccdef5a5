"""A part of TOSA's conformance suite, which others wrote: drawn afresh for each commit."""

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.suites.tosa import FLOATS, INTEGERS, SETTINGS, Result, chosen, generate, run
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_tosa

OPERATORS = """
    abs add argmax arithmetic_right_shift bitwise_and bitwise_not bitwise_or bitwise_xor cast clamp
    clz concat const equal gather greater greater_equal identity intdiv logical_and
    logical_left_shift logical_not logical_or logical_right_shift logical_xor matmul maximum minimum
    mul negate pad reduce_all reduce_any reduce_max reduce_min reduce_sum reshape reverse scatter
    select slice sub table tile transpose
""".split()
"""Operators of which the suite has few tests and small ones."""
FLOAT_OPERATORS = """
    abs add argmax cast ceil clamp cos equal erf exp floor gather greater log matmul maximum minimum
    mul negate pad pow reciprocal reduce_max reduce_min reduce_product reduce_sum rsqrt scatter
    select sigmoid sin slice sub tanh tile transpose
""".split()
"""The same of the floating-point profile."""
COUNT = 8
"""Tests drawn of one operator."""
MOST_BYTES = 1 << 20
"""Larger inputs take too long on the NPU model."""
LONGEST = 8192
"""Vela divides operators with longer axes, which takes it many seconds."""


def is_fit(description: Path) -> bool:
    """Return whether a test takes Vela and the NPU model about a second."""
    details = json.loads(description.read_text())["test_details"]
    size = sum(file.stat().st_size for file in description.parent.iterdir())
    longest = max(max(shape, default=1) for shape in details["output_shapes"])
    return size < MOST_BYTES and longest <= LONGEST


def drawn(folder: Path, choose: random.Random) -> list[str]:
    """Return some of the tests in a folder, by paths from there."""
    tests = [
        path.parent.relative_to(folder).as_posix()
        for path in sorted((folder / "conformance").rglob("desc.json"))
        if is_fit(path)
    ]
    return choose.sample(tests, min(COUNT, len(tests)))


@pytest.mark.slow
@needs_tosa
@pytest.mark.parametrize(
    ("profile", "operators", "settings"),
    [(INTEGERS, OPERATORS, SETTINGS), (FLOATS, FLOAT_OPERATORS, ("cpu",))],
)
def test_a_part_of_the_suite_passes(
    profile: str,
    operators: Sequence[str],
    settings: Sequence[str],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    seed = fresh_seed(1 << 30)
    choose = random.Random(seed)
    operator = choose.choice(operators)
    record_property("random networks", seed)
    generate(tmp_path, [operator], profile=profile)
    tests = drawn(tmp_path, choose)
    assert tests, operator
    for on in settings:
        results: list[Result] = run(tmp_path, on, tests)
        assert Counter(result.end for result in results) == {"passed": len(tests)}, (on, results)


def test_tests_are_chosen_by_their_paths_and_drawn(tmp_path: Path) -> None:
    names = ["conv2d_1x8192", *(f"conv2d_{n}x1" for n in range(1, 7))]
    for place in (*(f"conformance/conv2d/{name}" for name in names), "conformance_build/conv2d"):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "desc.json").write_text("{}")
    few = chosen(tmp_path, r"conv2d_\dx1$")
    assert sorted(few) == [f"conformance/conv2d/conv2d_{n}x1" for n in range(1, 7)]
    part = chosen(tmp_path, part=3)
    assert len(part) == 3 and part == chosen(tmp_path, part=3)
