"""The names of a network's classes: what becomes C, and damaged or hostile files."""

import io
import zipfile
from pathlib import Path

import pytest

from ethosgen.applications.labels import (
    FILE,
    MOST_BYTES,
    append_labels,
    load_labels,
    read_labels,
)
from ethosgen.values.errors import InputError


@pytest.mark.parametrize(
    "label", ["*/ int evil(void) { return 1; } /*", "a*/", "/*", "??/", 'a"b', "a\\", "a\x1b[2J"]
)
def test_a_label_cannot_leave_its_string_or_its_comment(label: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(f"one\n{label}\n")
    with pytest.raises(InputError, match=r"line 2 of .* must be a label of plain ASCII"):
        load_labels(tmp_path / FILE, 2)


def test_other_signs_are_labels(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("yes/no\nwhat?\n* = 100 %\n")
    assert load_labels(tmp_path / FILE, 3) == ("yes/no", "what?", "* = 100 %")


def with_archive(text: bytes, method: int) -> bytes:
    file = io.BytesIO(b"network")
    with zipfile.ZipFile(file, "a", method) as archive:
        archive.writestr(FILE, text)
    return file.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_archive_has_no_labels(method: int) -> None:
    whole = with_archive(b"label\n" * 40, method)
    assert read_labels(whole) == "label\n" * 40
    for place in range(len(whole)):
        for value in (0, 0xFF, whole[place] ^ 1):
            text = read_labels(whole[:place] + bytes([value]) + whole[place + 1 :])
            assert text in ("", "label\n" * 40)


def test_labels_that_unpack_to_too_much_are_none() -> None:
    assert len(read_labels(with_archive(b"a" * MOST_BYTES, zipfile.ZIP_DEFLATED))) == MOST_BYTES
    bomb = with_archive(b"a" * (MOST_BYTES + 1), zipfile.ZIP_DEFLATED)
    assert len(bomb) < MOST_BYTES // 100
    assert read_labels(bomb) == ""


def test_labels_come_back() -> None:
    assert read_labels(append_labels(b"network", ["yes", "no"])) == "yes\nno\n"
    assert read_labels(b"network") == ""
