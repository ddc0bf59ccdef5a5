"""Small parts of sentences: counted nouns, and the likely name for a mistyped one."""

import difflib
import re
from collections.abc import Iterable

_PART, _MOST, _ALIKE = 3, 4, 0.6
"""A part of a name has so many letters, so many names are suggested, and they are so much alike."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return "1 operator" or "1,200 operators"; pass `plural` if the noun takes no plain s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for a name close to known ones, else an empty string."""
    close = _meant(name.lower(), list(known))
    *others, last = (f"'{word}'" for word in close or [""])
    listed = f"{', '.join(others)} or {last}" if others else last
    return f" (did you mean {listed}?)" if close else ""


def _meant(name: str, known: list[str]) -> list[str]:
    """Return the names that a user may have meant: a part of one, a misspelt one, a close one."""
    starts = re.compile(rf"(?<![a-z0-9]){re.escape(name)}")  # a word of it
    within = [word for word in known if starts.search(word.lower())]
    if len(name) >= _PART and 0 < len(within) <= _MOST:
        return within
    matches = {word: difflib.SequenceMatcher(None, name, word.lower()) for word in known}
    best = max(known, key=lambda other: matches[other].ratio(), default="")
    if best and matches[best].ratio() >= _ALIKE:
        return [best]
    runs = {word: match.find_longest_match() for word, match in matches.items()}
    common = {word: name[run.a : run.a + run.size] for word, run in runs.items()}
    longest = max(common.values(), key=len, default="")
    if len(longest) <= _PART or not any(map(str.isdigit, longest)):
        return []
    return [word for word, part in common.items() if len(part) == len(longest)][:_MOST]


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return "unknown board 'x' (did you mean 'y'?); choose one of: y, z"."""
    names = list(known)
    return f"unknown {kind} '{name}'{nearest(name, names)}; choose one of: {', '.join(names)}"


def steps_text(steps: float) -> str:
    """Return a difference in steps with its unit: "1 step", "0.1 steps"."""
    return f"{steps:g} {'step' if steps == 1 else 'steps'}"
