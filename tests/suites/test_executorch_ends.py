"""Sessions of ExecuTorch's tests add up."""

from pathlib import Path

import pytest

from tests.suites.executorch_ends import (
    DIFFERENT,
    ENDS,
    EXPECTED,
    PASSED,
    SKIPPED,
    load_ends,
    store_ends,
    stretches,
)

ORDER = [f"ops/test_abs.py::test_abs_u55_INT[{number}]" for number in range(200)]
STORED = {ORDER[0]: PASSED, ORDER[1]: EXPECTED, ORDER[90]: SKIPPED, ORDER[199]: DIFFERENT}
VERSION = "1.5.1 (Vela 5.1.0)"


def test_ends_return_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "ends"
    store_ends(path, VERSION, ORDER, STORED)
    assert load_ends(path, VERSION, ORDER) == STORED
    assert max(map(len, path.read_text().splitlines())) <= 100


def test_ends_of_another_order_or_version_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "ends"
    assert load_ends(path, VERSION, ORDER) == {}
    store_ends(path, VERSION, ORDER, STORED)
    assert load_ends(path, "1.6.0 (Vela 5.1.0)", ORDER) == {}
    assert load_ends(path, VERSION, ORDER[::-1]) == {}
    assert load_ends(path, VERSION, ORDER[1:]) == {}


def test_a_file_that_lacks_letters_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ends"
    store_ends(path, VERSION, ORDER, STORED)
    path.write_text(path.read_text()[:-10])
    with pytest.raises(ValueError, match="shorter"):
        load_ends(path, VERSION, ORDER)


def test_stretches_are_counted_from_1() -> None:
    assert list(stretches(ORDER, STORED)) == [(1, 2), (91, 91), (200, 200)]
    assert not list(stretches(ORDER, {}))


def test_the_stored_ends_are_as_many_as_the_record_says() -> None:
    title, *lines = ENDS.read_text().splitlines()
    letters = "".join(lines)
    assert f", {len(letters)} tests in the order " in title
    assert set(letters) <= set("pxsD.")
