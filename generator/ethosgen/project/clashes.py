"""Finds names that a project's C code would define twice."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.program import Program

_TAKEN = frozenset(("board", "console", "ethosgen", "frames", "main", "server", "startup"))
"""Prefixes of the application's own functions; a network of that name would redefine them."""


MOST_PORTS = 255
"""Limit on the inputs and on the outputs of a network in an application: its counts are bytes."""


def check_names(names: Sequence[str]) -> None:
    """Check networks' names against the application's and each other's; InputError names one.

    Case does not matter: macros are in upper case, and so may be files.
    """
    for name in names:
        if name in _TAKEN:
            raise InputError(
                f"the generated application uses the name '{name}'; pass another with --name"
            )
    for first, other in combinations(names, 2):
        if first.casefold() == other.casefold():
            both = f"'{first}'"
            if first != other:
                both += f" and '{other}', which C and file systems may not distinguish"
            raise InputError(
                f"two networks are called {both}; "
                f"pass a name for each, in their order: {_example(names)}"
            )


def check_ports(programs: Sequence[Program]) -> None:
    """Refuse a network with more inputs or outputs than are numbered, by an UnsupportedError."""
    for program in programs:
        for what in ("inputs", "outputs"):
            count = len(getattr(program, what))
            if count > MOST_PORTS:
                raise UnsupportedError(
                    f"network '{program.name}' has {count} {what}, and an application numbers at "
                    f"most {MOST_PORTS}; join some of them, or divide the network"
                )


def _example(names: Sequence[str]) -> str:
    """Return options that give each network its own name."""
    folded = [name.casefold() for name in names]
    return " ".join(
        f"--name {name}_{folded[: i + 1].count(name)}"
        if folded.count(name) > 1
        else f"--name {names[i]}"
        for i, name in enumerate(folded)
    )


def check_symbols(sources: Mapping[str, str]) -> None:
    """Check that no two networks define the same symbol; `sources` is each network's C, by name.

    For example, 'net' with an input 'b_input' clashes with 'net_b' with an input 'input'.
    """
    symbols = {
        name: set(re.findall(rf"\b(?:{name}|{name.upper()})_\w+", text))
        for name, text in sources.items()
    }
    for first, other in combinations(symbols, 2):
        both = sorted(symbols[first] & symbols[other])
        if both:
            raise InputError(
                f"networks '{first}' and '{other}' would both define {both[0]} in C; rename one "
                "with --name, in their order"
            )
