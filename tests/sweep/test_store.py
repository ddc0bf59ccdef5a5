"""The store: values are whole, or not there."""

from pathlib import Path

import pytest

from ethosgen.values.errors import InputError
from ethosgen_sweep.store import Shelf, Store

KEY = "ab" * 32


def test_a_value_stays_until_it_is_dropped(tmp_path: Path) -> None:
    store = Store.make(tmp_path / "deep" / "store")
    assert store.get(KEY) is None
    store.put(KEY, b"a\nvalue\0")
    assert store.get(KEY) == b"a\nvalue\0"
    assert Store.make(store.folder).get(KEY) == b"a\nvalue\0"
    store.drop(KEY)
    store.drop(KEY)
    assert store.get(KEY) is None


@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_damaged_value_is_not_there(tmp_path: Path, keep: int) -> None:
    store = Store.make(tmp_path)
    store.put(KEY, b"a value")
    (file,) = (path for path in tmp_path.rglob(KEY))
    file.write_bytes(file.read_bytes()[:keep])
    assert store.get(KEY) is None
    store.put(KEY, b"a value")
    assert store.get(KEY) == b"a value"


def test_others_use_the_store_only_if_they_see_it(tmp_path: Path) -> None:
    store = Store.make(tmp_path / "store")
    shelf = store.shelf()
    opened = shelf.open()
    assert opened is not None and opened.folder == store.folder.absolute()
    assert Shelf(tmp_path / "none", shelf.name).open() is None
    assert Shelf(shelf.folder, "another machine's").open() is None


def test_a_place_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        Store.make(tmp_path / "file")


def test_a_value_under_another_key_s_name_is_not_there(tmp_path: Path) -> None:
    store = Store.make(tmp_path)
    other = "f" * len(KEY)
    store.put(KEY, b"value")
    store.put(other, b"other")
    (tmp_path / KEY[:2] / KEY).replace(tmp_path / other[:2] / other)
    assert store.get(other) is None
