"""LiteRT's zip tests: a drawn part of them, and how their files are read and compared."""

import io
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.suites.golden_tests import CPU, PASSED, REFUSED
from tests.suites.litert import (
    FLOATS,
    INTEGERS,
    VARIABLE,
    cause,
    names,
    read_examples,
    run_named,
    sets,
)
from tests.suites.litert_generation import COUNTED, Parameters, draw, make_part, strings_as_hex
from tests.support.fresh import fresh_seed
from tests.support.needs import needs_litert

COUNT = 12
EXAMPLES = """test_cases,1
inputs,2
name,left
dtype,float32
shape,2,1
values,0.250000000,-1.500000000
name,is_kept
dtype,bool
shape,
values,1.000000000
outputs,1
name,total
dtype,int64
shape,0
values,
"""


@needs_litert
def test_a_part_of_the_suite_passes(record_property: Callable[[str, object], None]) -> None:
    seed = fresh_seed(1 << 30)
    record_property("random networks", seed)
    results = [run_named(name, CPU) for name in random.Random(seed).sample(names(), COUNT)]
    assert PASSED in {result.end for result in results}
    apart = [result for result in results if result.end not in (PASSED, REFUSED)]
    assert all(map(cause, apart)), results


def test_examples_are_read_with_their_types() -> None:
    inputs, outputs = read_examples(EXAMPLES)
    assert inputs["left"].dtype == np.float32 and inputs["left"].tolist() == [[0.25], [-1.5]]
    assert inputs["is_kept"].dtype == bool and inputs["is_kept"].shape == ()
    assert outputs["total"].dtype == np.int64 and outputs["total"].size == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "is_far"),
    [
        (1.009, 1.0, False),
        (1.011, 1.0, True),
        (0.00009, 0.0, False),
        (0.0002, 0.0, True),
        (np.nan, np.nan, False),
        (np.nan, 1.0, True),
        (np.inf, np.inf, False),
    ],
)
def test_the_suites_tolerance(ours: float, theirs: float, is_far: bool) -> None:
    assert FLOATS.far(np.array(ours), np.array(theirs)).tolist() is is_far


def test_quantized_networks_may_differ_more() -> None:
    assert not INTEGERS.far(np.array([1.15, 0.09]), np.array([1.0, 0.0])).any()


def test_the_sets_of_litert_are_those_of_its_build(tmp_path: Path) -> None:
    folder = tmp_path / "tflite" / "testing"
    folder.mkdir(parents=True)
    lines = ["def generated_test_models():", "    return [", '        "abs",', '        # "no",']
    (folder / "build_def.bzl").write_text("\n".join([*lines, '        "add",', "    ]\n"]))
    assert sets(tmp_path) == ["abs", "add"]
    assert VARIABLE == "LITERT_PATH"


def test_strings_have_the_form_of_a_tflite_tensor() -> None:
    data = io.BytesIO(bytes.fromhex(strings_as_hex(["A", b"BC"]).decode()))
    numbers = np.frombuffer(data.read(16), "<i4").tolist()
    assert numbers == [2, 16, 17, 19] and data.read() == b"ABC"


GROUPS: Sequence[Parameters] = [
    {"size": [1, 2, 3, 4], "is_signed": [False, True]},
    {"size": [5], "is_signed": [True]},
]


def test_a_part_of_a_set_has_combinations_of_each_group() -> None:
    drawn = [tuple(values[0] for values in group.values()) for group in draw(GROUPS, 4)]
    assert len(drawn) == len(set(drawn)) == 3 and drawn[-1] == (5, True)
    assert all(size < 5 for size, _ in drawn[:-1])
    assert len(list(draw(GROUPS, 1))) == 9


@pytest.mark.parametrize(("told", "is_an_error"), [(f"{COUNTED} 9 times", False), ("No", True)])
def test_only_the_number_of_failures_may_differ_in_a_part(told: str, is_an_error: bool) -> None:
    def make(settings: object, groups: Sequence[Parameters], expected_tf_failures: int) -> None:
        assert (settings, len(groups), expected_tf_failures) == ("settings", 3, 9)
        raise RuntimeError(told)

    make_it = make_part(make, 4)
    if is_an_error:
        with pytest.raises(RuntimeError, match=told):
            make_it("settings", GROUPS, expected_tf_failures=9)
    else:
        make_it("settings", GROUPS, expected_tf_failures=9)
