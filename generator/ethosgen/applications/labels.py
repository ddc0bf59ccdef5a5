"""Reads the names of a network's classes, from a text file or from the network's own file.

A .tflite file with metadata is also a zip archive: associated files such as labels.txt are
appended to the flatbuffer. That is where TensorFlow Lite's own tools find them.
"""

import io
import lzma
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from ethosgen.values.errors import InputError, reason_of
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network

FILE = "labels.txt"
NO_WORDS = ("silence", "unknown", "noise", "background", "other")
"""Labels that name no word, in any case, with or without underscores around them."""
MOST_BYTES = 1 << 20
"""A larger labels.txt in a network's file does not count: small archives can hold gigabytes."""

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, UnicodeDecodeError, EOFError),
    *(KeyError, NotImplementedError, OSError, RuntimeError, ValueError),
)
"""What zipfile raises for a damaged archive, one without that name, and another file."""
_NOT_IN_C = ('"', "\\", "??", "/*", "*/")
"""What would end a C string or a comment; two question marks begin a trigraph of C11."""


def load_labels(path: Path, count: int) -> tuple[str, ...]:
    """Return the lines of a file, one for each class; InputError if they cannot be C strings."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the labels '{path}': {reason_of(error)}") from None
    return _labels(text, count, f"'{path}'")


def labels_of(network: Network) -> tuple[str, ...]:
    """Return the labels in a network's file, empty if it has none; InputError as in load_labels."""
    text = read_labels(network.source.data) if network.source else ""
    if not text:
        return ()
    return _labels(text, network.outputs[0].elements, f"{FILE} of '{network.name}'")


def _labels(text: str, count: int, where: str) -> tuple[str, ...]:
    labels = [line.strip() for line in text.splitlines()]
    while labels and not labels[-1]:
        labels.pop()
    if len(labels) != count:
        raise InputError(
            f"{where} has {counted(len(labels), 'label')}, but the network has "
            f"{counted(count, 'class', 'classes')}: write one in each line"
        )
    for number, label in enumerate(labels, 1):
        is_plain = label.isascii() and label.isprintable()
        if not label or not is_plain or any(part in label for part in _NOT_IN_C):
            raise InputError(
                f"line {number} of {where} must be a label of plain ASCII, without quotes, "
                "backslashes, '??', '/*' and '*/'"
            )
    return tuple(labels)


def read_labels(data: bytes) -> str:
    """Return the labels.txt in a .tflite file; "" if there is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(FILE) as file:
            text = file.read(MOST_BYTES + 1)
        return text.decode("utf-8") if len(text) <= MOST_BYTES else ""
    except _DAMAGE:
        return ""


def append_labels(data: bytes, labels: Sequence[str]) -> bytes:
    """Return a .tflite file with a labels.txt."""
    file = io.BytesIO(data)
    entry = zipfile.ZipInfo(FILE)  # 1980: the same bytes each time
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(entry, "".join(f"{label}\n" for label in labels))
    return file.getvalue()


def is_word(label: str) -> bool:
    """Return whether a label names a word."""
    return label.strip("_").lower() not in NO_WORDS
