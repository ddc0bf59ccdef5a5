"""What a code means that a message or an answer of --json has."""

from dataclasses import dataclass

ERROR, REASON, ADVICE = "error", "reason", "advice"
"""The kinds: why a command failed, why an operator stays on the CPU, what would help."""


@dataclass(frozen=True)
class Explanation:
    """A code of one of the kinds: what it means, and what to do.

    `source` documents it, "" if nothing but ethosgen does.
    """

    code: str
    kind: str
    text: str
    remedy: str
    source: str = ""
