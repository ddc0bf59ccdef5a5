"""Names that a project's C would define twice."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from ethosgen.values.errors import InputError

_TAKEN = frozenset(("board", "console", "ethosgen", "frames", "main", "server", "startup"))
"""Prefixes of the application's own functions: a network of that name would define them again."""


def check_names(names: Sequence[str]) -> None:
    """Check networks' names against the application's, and each other; InputError names one.

    Upper and lower case make no difference: macros are in upper case, and so may be files.
    """
    for name in names:
        if name in _TAKEN:
            raise InputError(
                f"the name '{name}' is taken by the generated application; give another by --name"
            )
    for one, other in combinations(names, 2):
        if one.casefold() == other.casefold():
            both = (
                f"'{one}'" if one == other else f"'{one}' and '{other}', which C and file systems"
            )
            raise InputError(
                f"two networks are called {both}{'' if one == other else ' may not tell apart'}; "
                f"give each a name, in their order: {_example(names)}"
            )


def _example(names: Sequence[str]) -> str:
    """Return options that give each network a name of its own."""
    folded = [name.casefold() for name in names]
    return " ".join(
        f"--name {name}_{folded[: i + 1].count(name)}"
        if folded.count(name) > 1
        else f"--name {names[i]}"
        for i, name in enumerate(folded)
    )


def check_symbols(sources: Mapping[str, str]) -> None:
    """Check that networks define nothing twice: `sources` is all of each network's C, by name.

    Networks 'net' and 'net_b' meet where 'net' has an input 'b_input', and 'net_b' one 'input'.
    """
    symbols = {
        name: set(re.findall(rf"\b(?:{name}|{name.upper()})_\w+", text))
        for name, text in sources.items()
    }
    for one, other in combinations(symbols, 2):
        both = sorted(symbols[one] & symbols[other])
        if both:
            raise InputError(
                f"networks '{one}' and '{other}' would both define {both[0]} in C; give one "
                "another name by --name, in their order"
            )
