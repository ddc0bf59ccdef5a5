"""Functions of the generated C with equal text: one is enough.

Layers of one kind call the same micro-kernel; their weights, scales and sizes are arguments.
"""

import re
from collections.abc import Mapping


def share(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the function that stands for each: the first with the same text but for its name."""
    first: dict[str, str] = {}
    return {
        symbol: first.setdefault(re.sub(rf"\b{symbol}\b", "", text), symbol)
        for symbol, text in texts.items()
    }


def call_shared(text: str, shared: Mapping[str, str]) -> str:
    """Return C in which calls of functions are calls of those that stand for them."""
    return re.sub(r"\b\w+(?=\()", lambda match: shared.get(match[0], match[0]), text)
