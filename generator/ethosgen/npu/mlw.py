"""Decoder of the compressed weight stream ("mlw"), safe on any bytes.

The stream is a row of slices. A slice has a header, an optional palette, and chunks of up to 12
weight symbols and 12 zero-run symbols, Golomb-Rice coded: the unary parts of a chunk come first,
the remainders one chunk later. Only the positions of chunks depend on one another, so one short
loop finds them, and numpy decodes all symbols of a slice at once. Format: Vela's mlw_decode.c.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ethosgen.errors import NpuFault

Ints = NDArray[np.int64]

_ZDIV_DISABLE = 6
_ZDIV_EOS = 7
_WDIV_UNCOMPRESSED = 7
_MAX_SYMBOLS = 12
_RUN_AHEAD = 8
_PADDING = b"\0" * 16


class _Bits:
    """A bit string, least significant bit of each byte first."""

    def __init__(self, data: bytes) -> None:
        padded = np.frombuffer(data + _PADDING, np.uint8).astype(np.uint32)
        windows = padded[:-3] | padded[1:-2] << 8 | padded[2:-1] << 16 | padded[3:] << 24
        self._windows = windows.astype(np.uint32)
        self.fast = memoryview(self._windows.data)
        self.length = len(data) * 8

    def get(self, position: int, count: int) -> int:
        """Return up to 24 bits at a position."""
        if position + count > self.length:
            raise NpuFault("weights", "a weight stream ends in the middle of a slice")
        return int(self.fast[position >> 3]) >> (position & 7) & (1 << count) - 1

    def gather(self, positions: Ints, count: int) -> Ints:
        """Return `count` bits at each of many positions; all must lie within the string."""
        windows = self._windows[positions >> 3].astype(np.int64)
        result: Ints = windows >> (positions & 7) & (1 << count) - 1
        return result


@dataclass
class _Slice:
    """A slice's header, and the palette that it set or took over."""

    position: int = 0
    zero_division: int = _ZDIV_DISABLE
    values: int = 0
    division: int = 0
    truncated: bool = False
    uncompressed: bool = False
    new_palette: bool = False
    direct_offset: int = 0
    palette: list[int] = field(default_factory=list)
    palette_bits: int = 0

    @property
    def has_zero_runs(self) -> bool:
        """Whether zeros are coded as runs between the weights."""
        return self.zero_division != _ZDIV_DISABLE

    @property
    def runs(self) -> int:
        """Number of zero runs: one after each weight, and one in front after a new palette."""
        return self.values + self.new_palette if self.has_zero_runs else 0


@dataclass
class _Chunks:
    """Where the symbols of a slice lie: unary codes, and bit positions of remainders."""

    unary0: list[int] = field(default_factory=list)
    unary1: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    remainders: list[int] = field(default_factory=list)
    seen: int = 0
    """Symbols whose unary part was found."""
    done: int = 0
    """Symbols whose remainder was found."""

    def add(self, unary0: int, unary1: int, count: int) -> int:
        """Add a chunk that ends so many symbols; returns that number."""
        self.unary0.append(unary0)
        self.unary1.append(unary1)
        self.counts.append(count)
        self.seen += count
        return count

    def add_remainders(self, position: int, count: int, limit: int) -> int:
        """Add a chunk's remainders; returns how many there are, `limit` symbols in all."""
        self.remainders.append(position)
        used = min(count, limit - self.done)
        self.done += used
        return used


def decode(data: bytes, wanted: int) -> NDArray[np.int16]:
    """Return the first `wanted` weights of a stream, as int16.

    Raises NpuFault of kind "weights" where the stream is malformed or holds fewer.
    """
    bits = _Bits(data)
    parts: list[NDArray[np.int16]] = []
    have, position = 0, 0
    previous: _Slice | None = None
    while have < wanted:
        header = _read_header(bits, position, previous)
        if header is None:
            raise NpuFault("weights", f"a weight stream holds {have} of {wanted} weights")
        weights, position = _read_slice(bits, header)
        parts.append(weights)
        have += weights.size
        previous = header
    return np.concatenate(parts)[:wanted] if parts else np.zeros(0, np.int16)


def _read_header(bits: _Bits, position: int, previous: _Slice | None) -> _Slice | None:
    """Read a slice's header; None at the end of the stream."""
    while (zero_division := bits.get(position, 3)) == _ZDIV_EOS:
        position = position + 3 + 7 & ~7
        previous = None
        if position >= bits.length:
            return None
    if zero_division > 3 and zero_division != _ZDIV_DISABLE:
        raise NpuFault("weights", f"a weight slice has the undefined ZDIV {zero_division}")
    header = _Slice(zero_division=zero_division, values=bits.get(position + 3, 15) + 1)
    division = bits.get(position + 18, 3)
    header.truncated = bool(bits.get(position + 21, 1))
    header.new_palette = bool(bits.get(position + 22, 1))
    position += 23
    if header.new_palette:
        position = _read_palette(bits, header, position)
    elif previous is None or previous.has_zero_runs != header.has_zero_runs:
        raise NpuFault("weights", "a weight slice needs a palette of its own and has none")
    else:
        header.direct_offset = previous.direct_offset
        header.palette, header.palette_bits = previous.palette, previous.palette_bits
    header.uncompressed = division == _WDIV_UNCOMPRESSED
    if header.uncompressed:
        size = len(header.palette)
        division = (size - 1).bit_length() if size else header.palette_bits
    elif division > 5:
        raise NpuFault("weights", f"a weight slice has the undefined WDIV {division}")
    header.division = division
    header.position = position
    return header


def _read_palette(bits: _Bits, header: _Slice, position: int) -> int:
    header.direct_offset = bits.get(position, 5)
    size = bits.get(position + 5, 5)
    size += size > 0
    header.palette_bits = bits.get(position + 10, 3) + 2
    position += 13
    for _ in range(size):
        header.palette.append(bits.get(position, header.palette_bits))
        position += header.palette_bits
    return position


def _read_slice(bits: _Bits, header: _Slice) -> tuple[NDArray[np.int16], int]:
    """Decode one slice; returns its weights and the position behind it."""
    weights, zeros, position = _find_chunks(bits, header)
    if header.uncompressed:
        quotients = np.zeros(header.values, np.int64)
    else:
        quotients = _weight_quotients(weights, header)
    remainders = _remainders(bits, weights, header.division, header.values)
    codes = (quotients[: header.values] << header.division) + remainders
    magnitudes = codes - len(header.palette) + header.direct_offset
    if header.palette:
        palette = np.array(header.palette, np.int64)
        indexed = codes < palette.size
        magnitudes[indexed] = palette[codes[indexed]]
    values = (magnitudes >> 1) * (1 - 2 * (magnitudes & 1))
    if not header.has_zero_runs:
        return values.astype(np.int16), position
    lengths = _zero_lengths(bits, zeros, header)
    lead = int(lengths[0]) if header.new_palette else 0
    after = lengths[1:] if header.new_palette else lengths
    places = lead + np.arange(values.size) + np.cumsum(after) - after
    result = np.zeros(lead + values.size + int(after.sum()), np.int16)
    result[places] = values
    return result, position


def _find_chunks(bits: _Bits, header: _Slice) -> tuple[_Chunks, _Chunks, int]:
    """Walk over the chunks of a slice; returns weight symbols, zero runs and the end position."""
    if header.has_zero_runs:
        return _find_both(bits, header)
    find = _find_uncompressed if header.uncompressed else _find_weights
    weights, position = find(bits, header)
    if position > bits.length:
        raise NpuFault("weights", "a weight stream ends in the middle of a slice")
    return weights, _Chunks(), position


def _find_uncompressed(_: _Bits, header: _Slice) -> tuple[_Chunks, int]:
    """Lay out a slice that has nothing but remainders: one after another, as if in one chunk."""
    chunks = _Chunks([0], [0], [header.values], [header.position])
    return chunks, header.position + header.values * header.division


def _find_weights(bits: _Bits, header: _Slice) -> tuple[_Chunks, int]:
    """Walk over the chunks of a slice without zero runs, which is what most slices are."""
    chunks = _Chunks()
    windows, length = bits.fast, bits.length
    add_first, add_second = chunks.unary0.append, chunks.unary1.append
    add_count, add_remainder = chunks.counts.append, chunks.remainders.append
    position, values, division = header.position, header.values, header.division
    seen = before = 0
    while seen < values:
        if position > length:
            break
        window = windows[position >> 3] >> (position & 7)  # 25 bits, of which 24 are enough
        unary0 = window & 0xFFF
        ones = unary0.bit_count()
        unary1 = window >> 12 & (1 << ones) - 1
        count = _MAX_SYMBOLS if header.truncated else _MAX_SYMBOLS - unary1.bit_count()
        position += 12 + ones
        if chunks.counts:
            add_remainder(position)
            position += before * division
        add_first(unary0)
        add_second(unary1)
        add_count(count)
        before = count
        seen += count
    add_remainder(position)
    return chunks, position + (before - max(seen - values, 0)) * division


def _find_both(bits: _Bits, header: _Slice) -> tuple[_Chunks, _Chunks, int]:
    """Walk over the chunks of a slice whose zeros are coded as runs between the weights.

    Each stream runs at most eight symbols ahead of the other, which decides what a chunk holds.
    """
    weights, zeros = _Chunks(), _Chunks()
    position, get = header.position, bits.get
    runs, values = header.runs, header.values
    fixed = 8 if header.uncompressed and header.division > 5 else _MAX_SYMBOLS
    run_bits = 12 if header.zero_division < 3 else 8
    before_w = before_z = -1
    while True:
        balance = weights.seen - zeros.seen
        take_w = weights.seen < values and balance < _RUN_AHEAD
        take_z = balance >= 0 and zeros.seen < runs
        unary0, count_w, count_z = 0, -1, -1
        if take_w and not header.uncompressed:
            unary0 = get(position, 12)
            position += 12
        if take_z:
            unary = get(position, run_bits)
            position += run_bits
            count_z = zeros.add(unary, 0, run_bits - unary.bit_count())
        if take_w:
            length = unary0.bit_count()
            unary1 = get(position, length)
            position += length
            ended = fixed if header.truncated else fixed - unary1.bit_count()
            count_w = weights.add(unary0, unary1, ended)
        if before_w >= 0:
            position += weights.add_remainders(position, before_w, values) * header.division
        if before_z >= 0:
            position += zeros.add_remainders(position, before_z, runs) * header.zero_division
        before_w, before_z = count_w, count_z
        if before_w < 0 and before_z < 0:
            break
    if position > bits.length:
        raise NpuFault("weights", "a weight stream ends in the middle of a slice")
    return weights, zeros, position


def _weight_quotients(chunks: _Chunks, header: _Slice) -> Ints:
    """Return the quotients of all weight symbols: sums of unary codes up to each symbol's end."""
    unary0 = np.array(chunks.unary0, np.int64)[:, None]
    unary1 = np.array(chunks.unary1, np.int64)[:, None]
    first = unary0 >> np.arange(_MAX_SYMBOLS) & 1
    rank = np.cumsum(first, axis=1) - first
    second = first & (unary1 >> rank)
    code = (first + second).ravel()
    ends = np.ones(code.size, bool) if header.truncated else code < 2
    return np.diff(np.cumsum(code)[ends], prepend=0)


def _remainders(bits: _Bits, chunks: _Chunks, division: int, limit: int) -> Ints:
    """Return the remainders of the first `limit` symbols."""
    if division == 0:
        return np.zeros(limit, np.int64)
    counts = np.array(chunks.counts, np.int64)
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = np.repeat(np.array(chunks.remainders, np.int64), counts)
    return bits.gather((starts + within * division)[:limit], division)


def _zero_lengths(bits: _Bits, chunks: _Chunks, header: _Slice) -> Ints:
    """Return the lengths of all zero runs."""
    run_bits = 12 if header.zero_division < 3 else 8
    unary = np.array(chunks.unary0, np.int64)[:, None]
    code = (unary >> np.arange(run_bits) & 1).ravel()
    quotients = np.diff(np.cumsum(code)[code == 0], prepend=0)[: header.runs]
    remainders = _remainders(bits, chunks, header.zero_division, header.runs)
    lengths: Ints = (quotients << header.zero_division) + remainders
    return lengths
