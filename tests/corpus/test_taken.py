"""ethosgen's table of U85's types is what Vela takes."""

import pytest

from ethosgen.backend.ethosu.offload import npu_operators
from ethosgen.backend.ethosu.offload.u85_types import U85_TYPES
from tests.corpus import taken
from tests.corpus.registry import OPERATORS
from tests.support.fresh import fresh_seed


def test_every_operator_of_velas_list_is_measured() -> None:
    assert U85_TYPES.keys() == npu_operators()["u85"].keys() & OPERATORS.keys()


@pytest.mark.parametrize(
    ("code", "dtype", "is_taken"),
    [
        ("LESS", "int8", True),
        ("LESS", "int64", False),
        ("GATHER", "int64", True),
        ("SELECT", "uint8", False),
        ("LOGICAL_NOT", "bool", True),
    ],
)
def test_a_type_counts_if_vela_takes_it(code: str, dtype: str, is_taken: bool) -> None:
    assert (dtype in U85_TYPES[code]) is is_taken
    assert taken.takes(code, dtype) is is_taken


@pytest.mark.slow
def test_an_operator_is_what_a_new_measurement_finds() -> None:
    """Another operator for each commit."""
    code = sorted(U85_TYPES)[fresh_seed(len(U85_TYPES))]
    assert taken.measure(code) == U85_TYPES[code]
