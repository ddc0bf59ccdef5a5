"""C names of the network's inputs and outputs."""

import re
from collections.abc import Callable, Iterable, Set

from ethosgen.values.naming import C_KEYWORDS, LIBRARY_NAMES
from ethosgen.values.network import Tensor
from ethosgen.values.program import READ_ONLY

LONGEST = 40
"""Most characters of a name; TFLite's converter writes names of several hundred."""

_KEYWORDS = C_KEYWORDS.union(
    "class delete new null private protected public template this throw try using virtual".split()
)
"""Those of C, and the usual ones of C++."""
_RESERVED = LIBRARY_NAMES.union(("arena", READ_ONLY, "state", "status"))


def name_ports(
    inputs: Iterable[Tensor], outputs: Iterable[Tensor], symbols: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a unique C identifier for each input and output, different from `symbols`.

    It is the tensor's name in lower case if possible ("serving_default_x:0" becomes
    serving_default_x_0).
    """
    taken = _RESERVED.union(symbols)
    unique = _make_unique(taken)
    named_inputs = tuple(unique(identifier(t.name, f"input_{i}")) for i, t in enumerate(inputs))
    named_outputs = tuple(unique(identifier(t.name, f"output_{i}")) for i, t in enumerate(outputs))
    return named_inputs, named_outputs


def identifier(name: str, default: str) -> str:
    """Return a C identifier of at most LONGEST characters from a tensor's name, or the default."""
    first = name.split(";", maxsplit=1)[0]  # the converter joins the names of fused layers by ";"
    for part in (name, first, first.rsplit("/", 1)[-1]):
        word = re.sub(r"\W+", "_", part, flags=re.ASCII).strip("_").lower()
        if word and word[0].isdigit():
            word = f"tensor_{word}"
        if word and len(word) <= LONGEST:
            return f"{word}_" if word in _KEYWORDS else word
    return default


def _make_unique(reserved: Set[str]) -> Callable[[str], str]:
    taken = set(reserved)

    def unique(word: str) -> str:
        candidate, count = word, 1
        while candidate in taken:
            count += 1
            candidate = f"{word}_{count}"
        taken.add(candidate)
        return candidate

    return unique
