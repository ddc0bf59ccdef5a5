"""Sizes of memory, as a user types them."""

import pytest

from ethosgen.commands.sizes import SIZE, SIZE_OR_ZERO, size_text
from ethosgen.values.errors import InputError


@pytest.mark.parametrize(
    ("typed", "size"),
    [("65536", 65536), ("64KiB", 65536), ("64 kib", 65536), ("1.5MiB", 3 << 19), ("7B", 7)],
)
def test_a_size(typed: str, size: int) -> None:
    assert SIZE.convert(typed, None, None) == size


@pytest.mark.parametrize("typed", ["", "64K", "64KB", "-1", "0", "0.3", "many"])
def test_what_is_no_size(typed: str) -> None:
    with pytest.raises(InputError, match=r"is not a size; write bytes, KiB or MiB"):
        SIZE.convert(typed, None, None)


def test_some_options_take_zero() -> None:
    assert SIZE_OR_ZERO.convert("0", None, None) == 0
    assert SIZE_OR_ZERO.convert("64KiB", None, None) == 65536
    with pytest.raises(InputError, match="is not a size"):
        SIZE_OR_ZERO.convert("-1", None, None)


def test_a_size_as_text() -> None:
    assert [size_text(1023), size_text(1536), size_text(3 << 20)] == [
        "1,023 B",
        "1.5 KiB",
        "3,072.0 KiB",
    ]
