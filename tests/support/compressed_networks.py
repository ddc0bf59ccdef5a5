"""Networks with encoded constants, in each encoding of TFLM_DECODE."""

import heapq
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.networks import NetworkBuilder, Spec

Array = np.ndarray[Any, Any]
FIRST_BITS = 3
"""The bits of a Huffman code that the first table resolves."""


def metadata(kind: int, *more: int) -> bytes:
    """Return the 16 bytes before a table; they contain the version, 1, twice."""
    return bytes([kind, 1, 0, 0, 1, *more]).ljust(16, b"\0")


def looked_up(
    values: Array, width: int, channels: int = 1, last: bool = False
) -> tuple[bytes, ...]:
    """Encode with a table of values for each channel of the first or last axis."""
    rows = values.reshape(-1, channels).T if last else values.reshape(channels, -1)
    tables = [np.unique(row) for row in rows]
    stride = max(map(len, tables))
    assert stride <= 1 << width
    places = np.stack([np.searchsorted(t, row) for t, row in zip(tables, rows, strict=True)])
    indices = places.T.reshape(-1) if last else places.reshape(-1)
    bits = (indices[:, None] >> np.arange(width)[::-1]) & 1
    padded = [np.pad(table, (0, stride - len(table))) for table in tables]
    table = metadata(0, width, stride) + np.concatenate(padded).tobytes()
    return np.packbits(bits).tobytes(), table


def pruned(values: Array, points: Array) -> tuple[bytes, ...]:
    """Encode by leaving zero points out."""
    kept = values != points
    return np.packbits(kept).tobytes(), metadata(2) + values[kept].tobytes()


def huffman(values: Array, wide: bool) -> tuple[bytes, ...]:
    """Encode with Huffman codes, with tables of 16 or 32 bits per entry (Xtensa's format).

    Codes longer than the first table's use a second table for all codes with the same prefix.
    """
    codes = _codes(values.reshape(-1).tolist())
    shift, is_symbol, mask = (27, 1 << 31, 0xFFFF) if wide else (11, 1 << 15, 0xFF)
    table = [0] * (1 << FIRST_BITS)

    def enter(start: int, bits: int, code: str, symbol: int) -> None:
        for rest in range(1 << (bits - len(code))):
            place = start + (int(code, 2) << (bits - len(code))) + rest
            table[place] = is_symbol | len(code) << shift | (symbol & mask)

    for prefix in range(1 << FIRST_BITS):
        text = format(prefix, f"0{FIRST_BITS}b")
        long = {c[FIRST_BITS:]: s for s, c in codes.items() if c.startswith(text) and c != text}
        if long:
            bits, start = max(map(len, long)), len(table)
            table[prefix] = (bits - 1) << shift | (start - prefix)
            table += [0] * (1 << bits)
            for code, symbol in long.items():
                enter(start, bits, code, symbol)
    for symbol, code in codes.items():
        if len(code) <= FIRST_BITS:
            enter(0, FIRST_BITS, code, symbol)
    stream = "".join(codes[value] for value in values.reshape(-1).tolist())
    packed = np.packbits(np.array(list(stream), np.uint8)).tobytes()
    packed += bytes(-len(packed) % 4 + 4)  # the decoder reads whole words, one ahead
    entries = np.array(table, "<u4" if wide else "<u2").tobytes()
    return packed, metadata(1, int(wide) | (FIRST_BITS - 1) << 4) + entries


def _codes(symbols: Sequence[int]) -> dict[int, str]:
    order = itertools.count()
    heap = [(n, next(order), {symbol: ""}) for symbol, n in Counter(symbols).items()]
    heapq.heapify(heap)
    while len(heap) > 1:
        (n, _, zeros), (m, _, ones) = heapq.heappop(heap), heapq.heappop(heap)
        merged = {s: f"0{c}" for s, c in zeros.items()} | {s: f"1{c}" for s, c in ones.items()}
        heapq.heappush(heap, (n + m, next(order), merged))
    return heap[0][2]


def add(net: NetworkBuilder, encoded: tuple[bytes, ...], output: Spec) -> int:
    """Add a TFLM_DECODE."""
    inputs = [net.constant(np.frombuffer(data, np.uint8)) for data in encoded]
    return net.operator("CUSTOM", inputs, [output], custom_code="TFLM_DECODE")[0]


def draw(net: NetworkBuilder, shape: Sequence[int], dtype: str, count: int) -> Array:
    """Draw from `count` values; small ones are more frequent."""
    if dtype == "bool":
        return net.random.integers(0, 2, shape).astype(bool)
    pool = (net.random.standard_normal(count) * 40).astype(dtype)
    return pool[np.minimum(net.random.geometric(0.3, shape) - 1, count - 1)]


def tables(net: NetworkBuilder) -> list[int]:
    """Add every width and type, one table and one for each channel of the first and last axis."""
    outputs = []
    for width in range(1, 8):
        values = draw(net, (3, 37), "int8", 1 << width)
        outputs.append(add(net, looked_up(values, width), Spec((3, 37), "int8", 0.1, 0)))
    for dtype in ("bool", "float32", "int16", "int32", "int64"):
        values = draw(net, (5, 7), dtype, 8)
        outputs.append(add(net, looked_up(values, 3), Spec((5, 7), dtype)))
    for axis, width in ((0, 2), (0, 3), (0, 4), (0, 5), (2, 3)):
        shape = (4, 19, 6)
        values, scales = draw(net, shape, "int8", 1 << width), (0.1,) * shape[axis]
        encoded = looked_up(values, width, shape[axis], last=axis == 2)
        outputs.append(add(net, encoded, Spec(shape, "int8", scales, (0,) * len(scales), axis)))
    return outputs


def masks(net: NetworkBuilder) -> list[int]:
    """Add pruned tensors of every type, and int8 with zero points for all or for each channel."""
    outputs = []
    for dtype in ("bool", "float32", "int8", "int16", "int32", "int64"):
        values = draw(net, (5, 13), dtype, 5)
        values[net.random.random(values.shape) < 0.6] = 0
        outputs.append(add(net, pruned(values, np.zeros_like(values)), Spec((5, 13), dtype)))
    for axis in (None, 0, 1):
        shape, points = (4, 6), net.random.integers(-9, 9, 1 if axis is None else (4, 6)[axis])
        spread = np.broadcast_to(points.reshape(-1, 1) if axis == 0 else points, shape)
        values = np.where(net.random.random(shape) < 0.5, spread, 11).astype(np.int8)
        scales = (0.1,) * len(points)
        output = Spec(shape, "int8", scales, tuple(points.tolist()), axis or 0)
        outputs.append(add(net, pruned(values, spread.astype(np.int8)), output))
    return outputs


def codewords(net: NetworkBuilder) -> list[int]:
    """Add tensors in Huffman's code, with codes shorter and longer than the first table's."""
    outputs = []
    for dtype, wide in (("int8", False), ("int8", True), ("int16", True)):
        values = draw(net, (9, 41), dtype, 12)
        outputs.append(add(net, huffman(values, wide), Spec((9, 41), dtype, 0.1, 0)))
    return outputs
