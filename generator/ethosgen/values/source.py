"""What the user gave, before anything is read from it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Source:
    """A network's file: the name of its format, its own name for messages, and its bytes.

    The format is the name of a front end. A project stores the bytes as they were given.
    """

    format: str
    name: str
    data: bytes = field(repr=False)
