"""Decode the compressed weight stream ("mlw"), safely for any bytes.

The stream is a sequence of slices. A slice has a header, an optional palette, and chunks of up to
12 weight symbols and 12 zero-run symbols, Golomb-Rice coded: the unary parts of a chunk come first,
the remainders one chunk later. Only chunk positions depend on each other, so a short loop finds
them, and numpy decodes some thousand symbols at once. Format: Vela's mlw_decode.c.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

Ints = NDArray[np.int32]

_ZDIV_DISABLE = 6
_ZDIV_EOS = 7
_WDIV_UNCOMPRESSED = 7
_MAX_SYMBOLS = 12
_RUN_AHEAD = 8
_BATCH_CHUNKS = 128
"""Chunks decoded at once; with more, the intermediate arrays would exceed the weights in size."""


class _Bits:
    """A bit string, least significant bit of each byte first."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._words = np.zeros(len(data) // 4 + 4, np.uint32)
        self._words.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
        self.fast = memoryview(self._words.data)
        """The string as words of 32 bits."""
        self.length = len(data) * 8

    def get(self, position: int, count: int) -> int:
        """Return up to 24 bits at a position."""
        if position + count > self.length:
            raise NpuFault("weights", "a weight stream ends in the middle of a slice")
        index = position >> 5
        window = self.fast[index] | self.fast[index + 1] << 32
        return int(window) >> (position & 31) & (1 << count) - 1

    def gather(self, positions: Ints, count: int) -> Ints:
        """Return `count` bits at each of many positions; all must lie within the string."""
        index = positions >> 5
        windows = self._words[index].astype(np.int64)
        windows |= self._words[index + 1].astype(np.int64) << 32
        windows >>= positions & 31
        result: Ints = windows.astype(np.int32) & (1 << count) - 1
        return result


@dataclass
class _Slice:
    """A slice's header and its palette, possibly that of an earlier slice."""

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
        """Number of zero runs: one after each weight, and one first after a new palette."""
        return self.values + self.new_palette if self.has_zero_runs else 0


@dataclass
class _Chunks:
    """The positions of a slice's symbols: unary codes, and bit positions of remainders."""

    unary0: "array[int]" = field(default_factory=lambda: array("H"))
    unary1: "array[int]" = field(default_factory=lambda: array("H"))
    counts: "array[int]" = field(default_factory=lambda: array("I"))
    remainders: "array[int]" = field(default_factory=lambda: array("Q"))
    seen: int = 0
    """Number of symbols whose unary part was found."""
    done: int = 0
    """Number of symbols whose remainder was found."""

    def add(self, unary0: int, unary1: int, count: int) -> int:
        """Add a chunk in which at most `count` symbols end; return the number that do."""
        self.unary0.append(unary0)
        self.unary1.append(unary1)
        self.counts.append(count)
        self.seen += count
        return count

    def add_remainders(self, position: int, count: int, limit: int) -> int:
        """Add a chunk's remainders, up to `limit` symbols in all; return their number."""
        self.remainders.append(position)
        used = min(count, limit - self.done)
        self.done += used
        return used


def decode(data: bytes | memoryview, wanted: int) -> NDArray[np.int16]:
    """Return the first `wanted` weights of a stream, as int16.

    Raises NpuFault of kind "weights" if the stream is malformed or has too few.
    """
    parts = [*pieces(data, wanted)]
    return np.concatenate(parts)[:wanted] if parts else np.zeros(0, np.int16)


def pieces(data: bytes | memoryview, wanted: int) -> Iterator[NDArray[np.int16]]:
    """Yield a stream's weights in pieces, until there are at least `wanted`.

    Raises NpuFault as `decode` does.
    """
    bits = _Bits(data)
    have, position = 0, 0
    previous: _Slice | None = None
    while have < wanted:
        header = _read_header(bits, position, previous)
        if header is None:
            raise NpuFault(
                "weights", f"a weight stream has only {have:,} of {counted(wanted, 'weight')}"
            )
        weights, zeros, position = _find_chunks(bits, header)
        if header.has_zero_runs:
            whole = _with_zeros(bits, header, weights, zeros)
            have += whole.size
            yield whole
        else:
            have += header.values
            yield from _first(_weights(bits, weights, header), header.values)
        previous = header


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
        raise NpuFault("weights", "a weight slice needs its own palette but has none")
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


def _with_zeros(bits: _Bits, header: _Slice, weights: _Chunks, zeros: _Chunks) -> NDArray[np.int16]:
    """Decode a slice whose zeros are coded as runs between the weights."""
    values = np.concatenate([*_first(_weights(bits, weights, header), header.values)])
    lengths = np.concatenate([*_zero_lengths(bits, zeros, header)])[: header.runs]
    lead = int(lengths[0]) if header.new_palette else 0
    after = lengths[1:] if header.new_palette else lengths
    places = np.cumsum(after, dtype=np.int32)
    places += np.arange(lead, lead + values.size, dtype=np.int32)
    result = np.zeros(lead + values.size + int(after.sum()), np.int16)
    result[places - after] = values
    return result


def _first(parts: Iterator[Ints], count: int) -> Iterator[NDArray[np.int16]]:
    """Yield the first `count` of all elements."""
    for part in parts:
        yield part[:count].astype(np.int16)
        count -= min(count, part.size)


def _find_chunks(bits: _Bits, header: _Slice) -> tuple[_Chunks, _Chunks, int]:
    """Walk over a slice's chunks; return weight symbols, zero runs and the end position."""
    if header.has_zero_runs:
        return _find_both(bits, header)
    find = _find_uncompressed if header.uncompressed else _find_weights
    weights, position = find(bits, header)
    if position > bits.length:
        raise NpuFault("weights", "a weight stream ends in the middle of a slice")
    return weights, _Chunks(), position


def _find_uncompressed(_: _Bits, header: _Slice) -> tuple[_Chunks, int]:
    """Return the chunks of a slice that has only remainders."""
    count = -(-header.values // _MAX_SYMBOLS)
    step = _MAX_SYMBOLS * header.division
    chunks = _Chunks(
        array("H", [0]) * count,
        array("H", [0]) * count,
        array("I", [_MAX_SYMBOLS]) * count,
        array("Q", [header.position + index * step for index in range(count)]),
    )
    return chunks, header.position + header.values * header.division


def _find_weights(bits: _Bits, header: _Slice) -> tuple[_Chunks, int]:
    """Walk over the chunks of a slice without zero runs, as most slices are."""
    chunks = _Chunks()
    words, length = bits.fast, bits.length
    add_first, add_second = chunks.unary0.append, chunks.unary1.append
    add_count, add_remainder = chunks.counts.append, chunks.remainders.append
    position, values, division = header.position, header.values, header.division
    seen = before = 0
    while seen < values:
        if position > length:
            break
        index = position >> 5
        window = (words[index] | words[index + 1] << 32) >> (position & 31)  # at least 24 bits
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

    Each stream runs at most eight symbols ahead of the other, which determines a chunk's contents.
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


def _weights(bits: _Bits, chunks: _Chunks, header: _Slice) -> Iterator[Ints]:
    """Yield the weights of a slice."""
    palette = np.array(header.palette, np.int32)
    carry = 0
    for batch in _batches(chunks):
        remainders = _remainders(bits, batch, header.division)
        quotients: Ints | int = 0
        if not header.uncompressed:
            quotients, carry = _quotients(_weight_codes(batch), header.truncated, carry)
        magnitudes = (quotients << header.division) + remainders
        if header.palette:
            indexed = np.minimum(magnitudes, palette.size)
            direct = magnitudes - palette.size + header.direct_offset
            magnitudes = np.where(indexed < palette.size, np.append(palette, 0)[indexed], direct)
        else:
            magnitudes += header.direct_offset
        yield (magnitudes >> 1) * (1 - 2 * (magnitudes & 1))


def _zero_lengths(bits: _Bits, chunks: _Chunks, header: _Slice) -> Iterator[Ints]:
    """Yield the lengths of all zero runs."""
    run_bits = 12 if header.zero_division < 3 else 8
    carry = 0
    for batch in _batches(chunks):
        remainders = _remainders(bits, batch, header.zero_division)
        unary = np.array(batch.unary0, np.int32)[:, None]
        code = (unary >> np.arange(run_bits, dtype=np.int32) & 1).ravel()
        quotients, carry = _quotients(code, False, carry, longest=1)
        yield (quotients << header.zero_division) + remainders


def _batches(chunks: _Chunks) -> Iterator[_Chunks]:
    """Split a slice's chunks into batches to decode at once."""
    for first in range(0, len(chunks.counts), _BATCH_CHUNKS):
        part = slice(first, first + _BATCH_CHUNKS)
        yield _Chunks(
            chunks.unary0[part], chunks.unary1[part], chunks.counts[part], chunks.remainders[part]
        )


def _weight_codes(chunks: _Chunks) -> Ints:
    """Return each unary code's addend to the quotient; an addend below 2 ends the symbol."""
    unary0 = np.array(chunks.unary0, np.int32)[:, None]
    unary1 = np.array(chunks.unary1, np.int32)[:, None]
    first = unary0 >> np.arange(_MAX_SYMBOLS, dtype=np.int32) & 1
    rank = np.cumsum(first, axis=1, dtype=np.int32) - first
    return (first + (first & (unary1 >> rank))).ravel()


def _quotients(code: Ints, truncated: bool, carry: int, longest: int = 2) -> tuple[Ints, int]:
    """Return the quotients of symbols, and the carry from the last codes to the next symbol.

    A quotient is the sum of unary codes up to the symbol's end; `carry` is added to the first.
    """
    ends = np.ones(code.size, bool) if truncated else code < longest
    total = np.cumsum(code, dtype=np.int32) + np.int32(carry)
    at_ends = total[ends]
    last = int(at_ends[-1]) if at_ends.size else 0
    quotients: Ints = np.diff(at_ends, prepend=np.int32(0))
    return quotients, int(total[-1]) - last


def _remainders(bits: _Bits, chunks: _Chunks, division: int) -> Ints:
    """Return the remainders of all symbols; surplus ones of the last chunk are undefined."""
    counts = np.array(chunks.counts, np.int32)
    symbols = int(counts.sum())
    if division == 0:
        return np.zeros(symbols, np.int32)
    ends = np.cumsum(counts, dtype=np.int32)
    within = np.arange(symbols, dtype=np.int32) - np.repeat(ends - counts, counts)
    positions = np.repeat(np.array(chunks.remainders, np.int64), counts) + within * division
    return bits.gather(np.minimum(positions, bits.length), division)
