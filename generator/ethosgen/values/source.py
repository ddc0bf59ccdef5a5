"""A network's file as the user passed it, before it is read."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Source:
    """A network's file: the name of its format, its own name for messages, and its bytes.

    The format is the name of a front end. A project stores the bytes unchanged.
    """

    format: str
    name: str
    data: bytes = field(repr=False)
