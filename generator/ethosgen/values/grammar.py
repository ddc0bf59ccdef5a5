"""Small parts of sentences: counted nouns, and the likely name for a mistyped one."""

import difflib
from collections.abc import Iterable


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return "1 operator" or "1,200 operators"; pass `plural` if the noun takes no plain s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for a name close to a known one, else an empty string."""
    close = difflib.get_close_matches(name.lower(), list(known), 1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return "unknown board 'x' (did you mean 'y'?); choose one of: y, z"."""
    names = list(known)
    return f"unknown {kind} '{name}'{nearest(name, names)}; choose one of: {', '.join(names)}"


def steps_text(steps: float) -> str:
    """Return a difference in steps with its unit: "1 step", "0.1 steps"."""
    return f"{steps:g} {'step' if steps == 1 else 'steps'}"
