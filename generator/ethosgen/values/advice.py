"""Advice about a network on a board: a remedy, its gain, and the command to type."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

NPU_SIZE = "multipliers of the NPU"
"""What a smaller NPU saves."""


@dataclass(frozen=True)
class Improvement:
    """One thing that would help.

    `code` names the kind. `text` is a sentence without its full stop, `command` what to type, ""
    if no command does it. `share` is the estimated gain as a fraction of `of`: the time of an
    inference, or the bytes of a memory. `option` is what helps, if it is an option.
    """

    code: str
    text: str
    share: float
    of: str
    command: str = ""
    option: str = ""

    def lines(self) -> tuple[str, ...]:
        """Return the sentence, and the command if there is one."""
        return (self.text, self.command) if self.command else (self.text,)

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "code": self.code,
            "text": self.text,
            "share": round(self.share, 3),
            "of": self.of,
            "command": self.command or None,
            "option": self.option or None,
        }


def ranked(pieces: Iterable[Improvement]) -> tuple[Improvement, ...]:
    """Return advice with the largest gain first; advice that only saves silicon comes last."""
    return tuple(sorted(pieces, key=lambda piece: (piece.of == NPU_SIZE, -piece.share)))
