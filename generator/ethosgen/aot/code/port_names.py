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
_RESERVED = LIBRARY_NAMES.union(
    (READ_ONLY,),
    """arena bytes crc crc_of_output finish golden_crc identity infer is_unusable number
    read_constants readiness run_once state status uintptr_t""".split(),
)
"""What the functions with ports as parameters use (`templates/common/model`)."""
OWN_SUFFIXES = tuple(
    """entry init lock npu_invoke reset run self_test self_test_step unlock weights_file
    weights_golden""".split()
)
"""The ends of the names that those functions call, behind the network's name."""
_LIBRARY = "ethosgen"
"""The start of all names of the library."""


INPUT, OUTPUT = "input", "output"
"""What the functions are called that do not depend on tensors' names."""


def name_ports(
    inputs: Iterable[Tensor], outputs: Iterable[Tensor], symbols: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a unique C identifier for each input and output, different from `symbols`.

    It is the tensor's name in lower case if possible ("serving_default_x:0" becomes
    serving_default_x_0). Only a single input is called "input", a single output "output": every
    network has functions of these names, whatever its tensors are called.
    """
    sides = {INPUT: tuple(inputs), OUTPUT: tuple(outputs)}
    unique = _make_unique(_RESERVED.union(symbols))
    names = {}
    for side, tensors in sides.items():
        taken = {INPUT, OUTPUT} - ({side} if len(tensors) == 1 else set())
        names[side] = tuple(
            unique(identifier(tensor.name, f"{side}_{i}"), taken)
            for i, tensor in enumerate(tensors)
        )
    return names[INPUT], names[OUTPUT]


def identifier(name: str, default: str) -> str:
    """Return a C identifier of at most LONGEST characters from a tensor's name, or the default."""
    first = name.split(";", maxsplit=1)[0]  # the converter joins the names of fused layers by ";"
    for part in (name, first, first.rsplit("/", 1)[-1]):
        word = re.sub(r"\W+", "_", part, flags=re.ASCII).strip("_").lower()
        if word and word[0].isdigit():
            word = f"tensor_{word}"
        if word and len(word) <= LONGEST:
            return f"{word}_" if word in _KEYWORDS or word.startswith(_LIBRARY) else word
    return default


def _make_unique(reserved: Set[str]) -> Callable[[str, Set[str]], str]:
    """Return a function that makes words unique, and different from given ones."""
    taken = set(reserved)

    def unique(word: str, others: Set[str]) -> str:
        candidate, count = word, 1
        while candidate in taken or candidate in others:
            count += 1
            candidate = f"{word}_{count}"
        taken.add(candidate)
        return candidate

    return unique
