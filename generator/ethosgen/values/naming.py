"""Valid C names, and short names of several networks."""

import re
import zlib
from collections.abc import Sequence

from ethosgen.values.errors import InputError

_C_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
C_KEYWORDS = frozenset(
    """alignas alignof asm atomic auto bool break case char complex const constexpr continue default
    do double else enum extern false float for goto if imaginary inline int long noreturn nullptr
    register restrict return short signed sizeof static static_assert struct switch thread_local
    true typedef typeof union unsigned void volatile while""".split()
)
LIBRARY_NAMES = frozenset(
    """int8_t int16_t int32_t int64_t main memcpy memset size_t uint8_t uint16_t uint32_t
    uint64_t""".split()
)
"""Names of C's library that the generated C uses."""

_CPP_RESERVED = C_KEYWORDS.union(
    """and and_eq bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield
    compl concept const_cast consteval constinit decltype delete dynamic_cast explicit export friend
    mutable namespace new noexcept not not_eq operator or or_eq private protected public
    reinterpret_cast requires static_cast template this throw try typeid typename using virtual
    wchar_t xor xor_eq""".split(),
    "lock network reset run status std".split(),
)
"""C++'s keywords up to C++23, and names that the generated C++ uses."""

_LONGEST_JOINED = 100


def check_name(name: str) -> str:
    """Return `name` if C and the project can use it as a prefix; InputError gives the reason."""
    if not _C_IDENTIFIER.match(name):
        raise InputError(
            f"--name '{name}' is not a C identifier; use letters, digits and '_', a letter first"
        )
    if _is_reserved(name):
        raise InputError(f"--name '{name}' is reserved by C or ethosgen; choose another")
    return name


def cpp_name(name: str) -> str:
    """Return a C identifier that C++ accepts in the generated header: "class_" for "class"."""
    return f"{name}_" if name in _CPP_RESERVED else name


def name_from_file(stem: str) -> str:
    """Return a C identifier for a file's stem: "my_net_v2" for "my-net.v2"."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_").lower()
    if not name or not name[0].isalpha() or _is_reserved(name):
        name = f"model_{name}".rstrip("_")
    return name


def joined_name(names: Sequence[str]) -> str:
    """Return one name for several networks, for folders, CMake and Zephyr: "kws_vww".

    CMake derives file names from it, which have at most 255 bytes: a long one is shortened to the
    first network, the number of the others, and a checksum of all.
    """
    joined = "_".join(names)
    if len(names) == 1 or len(joined) <= _LONGEST_JOINED:
        return joined
    return f"{names[0]}_and_{len(names) - 1}_more_{zlib.crc32(joined.encode()):08x}"


def unique_name(name: str, index: int, taken: set[str]) -> str:
    """Return a tensor's name, made unique by its index if it is taken; it is taken afterwards."""
    chosen = name or f"tensor_{index}"
    while chosen in taken:
        chosen = f"{chosen}_{index}"
    taken.add(chosen)
    return chosen


def _is_reserved(name: str) -> bool:
    return name in C_KEYWORDS | LIBRARY_NAMES or name.startswith("ethosgen")
