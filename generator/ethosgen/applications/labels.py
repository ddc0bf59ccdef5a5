"""Reads the names of a network's classes."""

from pathlib import Path

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted


def load_labels(path: Path, count: int) -> tuple[str, ...]:
    """Return the lines of a file, one for each class; InputError if they cannot be C strings."""
    try:
        labels = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the labels '{path}': {error}") from None
    while labels and not labels[-1]:
        labels.pop()
    if len(labels) != count:
        raise InputError(
            f"'{path}' has {counted(len(labels), 'label')}, but the network has "
            f"{counted(count, 'class', 'classes')}: write one in each line"
        )
    for number, label in enumerate(labels, 1):
        if not label or not label.isascii() or not label.isprintable() or set(label) & set('"\\'):
            raise InputError(
                f"line {number} of '{path}' must be a label of plain ASCII, without quotes and "
                "backslashes"
            )
    return tuple(labels)
