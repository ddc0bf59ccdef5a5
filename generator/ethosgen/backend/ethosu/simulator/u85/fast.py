"""Decode the weight stream of U85's fast decoder: a header of 256 bits, then codes of equal length.

Source: Regor's mlw_encode_fwd.cpp. A code is a weight of 8 bits with an offset, or an index of 2 or
4 bits into the header's table of 16 weights.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_HEADER_BYTES = 32
_TABLE_BITS = 112
_ENTRIES = 16
_ENTRY_BITS = 9


def pieces(data: bytes | memoryview, wanted: int) -> Iterator[NDArray[np.int16]]:
    """Yield the first `wanted` weights of a stream, in one piece.

    NpuFault of kind "weights" if the stream has too few.
    """
    header = int.from_bytes(bytes(data[:_HEADER_BYTES]), "little")
    is_raw, is_small = header & 1, header >> 1 & 1
    bits = 8 if is_raw else 2 if is_small else 4
    codes = np.frombuffer(data, np.uint8)[_HEADER_BYTES:]
    have = codes.size * 8 // bits
    if have < wanted:
        raise NpuFault(
            "weights", f"a weight stream has only {have:,} of {counted(wanted, 'weight')}"
        )
    codes = codes[: -(-wanted * bits // 8)]
    if is_raw:
        adjust = header >> 104 & 0xFF
        adjust -= (adjust & 0x80) << 1
        yield codes.view(np.int8).astype(np.int16) - np.int16(adjust)
        return
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    indices = (codes[:, None] >> shifts & (1 << bits) - 1).ravel()[:wanted]
    yield _table(header)[indices]


def _table(header: int) -> NDArray[np.int16]:
    folded = [
        header >> _TABLE_BITS + _ENTRY_BITS * i & (1 << _ENTRY_BITS) - 1 for i in range(_ENTRIES)
    ]
    return np.array([-(f >> 1) if f & 1 else f >> 1 for f in folded], np.int16)
