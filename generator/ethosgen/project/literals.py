"""Formats values as C literals."""

from typing import Any

import numpy as np

_INT64_MIN = -(1 << 63)


def float_text(value: float) -> str:
    """Return a float32 as the shortest decimal number that rounds to it, for C and any C++.

    C++ has hexadecimal floating-point literals only since 2017. Infinities and NaN become
    quotients, which need no <math.h>.
    """
    number = np.float32(value)
    if not np.isfinite(number):
        return "(0.0f / 0.0f)" if np.isnan(number) else f"({'-' if number < 0 else ''}1.0f / 0.0f)"
    exponent = np.format_float_scientific(number, trim="0")
    plain = np.format_float_positional(number, trim="0")
    return f"{min(plain, exponent, key=len)}f"


def word_text(data: bytes) -> dict[str, Any]:
    """Return bytes as little-endian words: their count, and the initializer's text."""
    padded = data + bytes(-len(data) % 4)
    words = [f"0x{word:08x}u," for word in np.frombuffer(padded, "<u4").tolist()]
    return {"count": len(words), "text": _lines(words, 8)}


def array_text(dtype: str, data: bytes) -> dict[str, Any]:
    """Return elements of a numpy type: their count, and the initializer's text."""
    values = np.frombuffer(data, dtype).tolist()
    if dtype == "float32":
        items = [f"{float_text(value)}," for value in values]
    elif dtype == "bool":
        items = [f"{'true' if value else 'false'}," for value in values]
    else:
        # C has no negative literals, so the smallest int64 needs an expression. Rule 7.2 of MISRA C
        # requires a suffix on all unsigned constants.
        suffix = "u" if dtype.startswith("uint") else ""
        items = [
            "(-9223372036854775807 - 1)," if v == _INT64_MIN else f"{v}{suffix}," for v in values
        ]
    return {"count": len(items), "text": _lines(items, 16)}


def _lines(items: list[str], per_line: int) -> str:
    rows = (items[i : i + per_line] for i in range(0, len(items), per_line))
    return "\n".join("    " + " ".join(row) for row in rows)
