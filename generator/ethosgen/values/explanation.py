"""The meaning of a code in a message or an answer of --json."""

from dataclasses import dataclass

ERROR, REASON, ADVICE = "error", "reason", "advice"
"""The kinds: why a command failed, why an operator stays on the CPU, what would help."""


@dataclass(frozen=True)
class Explanation:
    """A code of one of the kinds: its meaning, and the remedy.

    `source` documents it, "" if only ethosgen does.
    """

    code: str
    kind: str
    text: str
    remedy: str
    source: str = ""
