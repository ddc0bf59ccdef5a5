"""A network's file as passed by the user, before it is read."""

import hashlib
from dataclasses import dataclass, field

AS_IS = "as-is"
CHANNELS_LAST = "nhwc"


@dataclass(frozen=True)
class ReadOptions:
    """The user's facts about a file besides its bytes.

    `shapes` are those of inputs with open sizes. With CHANNELS_LAST as `input_layout`, inputs of
    channels-first networks have their channels last.
    """

    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    input_layout: str = AS_IS


AS_GIVEN = ReadOptions()
"""The defaults."""


@dataclass(frozen=True)
class Source:
    """A network's file: the name of its format, its own name for messages, and its bytes.

    The format is the name of a front end. A project stores the bytes unchanged, and the options.
    """

    format: str
    name: str
    data: bytes = field(repr=False)
    options: ReadOptions = AS_GIVEN

    @property
    def sha256(self) -> str:
        """The digest of the bytes: it distinguishes networks, whatever their names."""
        return hashlib.sha256(self.data).hexdigest()
