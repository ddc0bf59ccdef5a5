"""Decodes the inputs of a TFLM_DECODE, in TensorFlow Lite Micro's three formats of compression.

An encoded tensor comes with another, which has 16 bytes of metadata and then a table
(tensorflow/lite/micro/kernels/decode_state*.h). Bits are read from each byte's highest bit on.
"""

from typing import Any

import numpy as np

from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Tensor

Array = np.ndarray[Any, Any]

_METADATA_BYTES = 16
_KIND, _VERSION, _KIND_VERSION, _PARAMETERS, _STRIDE = 0, 1, 4, 5, 6
"""Offsets in the metadata."""
_KNOWN = 1
"""The supported version of both."""
_LUT, _HUFFMAN, _PRUNED, _FIRST_CUSTOM = 0, 1, 2, 127
_INDEX_BITS, _WIDE, _FIRST_BITS_SHIFT = 0x07, 0x01, 4
"""Parameters: the width of an index; whether Huffman tables have 32 bits, and the first read."""

DTYPES = {
    _LUT: ("bool", "float32", "int8", "int16", "int32", "int64"),
    _HUFFMAN: ("int8", "int16"),
    _PRUNED: ("bool", "float32", "int8", "int16", "int32", "int64"),
}


def decode(encoded: bytes, ancillary: bytes, output: Tensor) -> bytes:
    """Return the bytes of a decoded tensor.

    UnsupportedError for a format that TFLite Micro does not decode, InputError for damaged data.
    """
    if len(ancillary) < _METADATA_BYTES or ancillary[_VERSION] != _KNOWN:
        raise _damaged(output, "its metadata is not of version 1")
    kind = ancillary[_KIND]
    if kind >= _FIRST_CUSTOM:
        raise UnsupportedError(
            f"'{output.name}' has a custom compression ({kind}), whose decoder is in the program; "
            "pass the network before compression"
        )
    if output.dtype not in DTYPES.get(kind, ()):
        raise UnsupportedError(
            f"'{output.name}' is {output.dtype} with compression {kind}, which TFLite Micro does "
            "not decode; pass the network before compression"
        )
    if ancillary[_KIND_VERSION] != _KNOWN:
        raise _damaged(output, f"its format {ancillary[_KIND_VERSION]} is not {_KNOWN}")
    ways = {_LUT: _from_table, _HUFFMAN: _from_codewords, _PRUNED: _from_mask}
    try:
        values = ways[kind](encoded, ancillary, output)
    except (IndexError, ValueError):
        raise _damaged(output, "it is truncated, or points outside its table") from None
    return values.astype(output.dtype).tobytes()


def _damaged(output: Tensor, what: str) -> InputError:
    return InputError(f"the compressed tensor '{output.name}' is damaged: {what}; compress again")


def _channels(output: Tensor) -> tuple[int, Array]:
    """Return the number of an output's channels, and the channel of each element.

    Only the first and the last axis can have scales.
    """
    quantization, order = output.quantization, np.arange(output.elements)
    count = len(quantization.scale) if quantization else 1
    axis = quantization.axis if quantization else 0
    if count > 1 and axis == len(output.shape) - 1:
        return count, order % count
    if axis:
        raise UnsupportedError(
            f"'{output.name}' has scales along axis {axis}, which TFLite Micro does not decode; "
            "pass the network before compression"
        )
    return count, order // max(output.elements // count, 1)


def _from_table(encoded: bytes, ancillary: bytes, output: Tensor) -> Array:
    """Look up values of 1 to 7 bits in a table per channel (decode_state_lut.cc)."""
    width, stride = ancillary[_PARAMETERS] & _INDEX_BITS, ancillary[_STRIDE]
    if not width:
        raise _damaged(output, "its indices have no bits")
    digits = _bits(encoded, width * output.elements).reshape(-1, width)
    indices = digits @ (1 << np.arange(width)[::-1])
    _, channel = _channels(output)
    return np.asarray(_table(ancillary, output)[channel * stride + indices])


def _bits(encoded: bytes, count: int) -> Array:
    """Return `count` bits; ValueError if there are fewer."""
    if count > 8 * len(encoded):
        raise ValueError("it is truncated")
    return np.unpackbits(np.frombuffer(encoded, np.uint8), count=count)


def _table(ancillary: bytes, output: Tensor) -> Array:
    """Return the values after the metadata, without a partial one at the end."""
    return _numbers(ancillary[_METADATA_BYTES:], np.dtype(output.dtype))


def _numbers(data: bytes, kind: np.dtype[Any]) -> Array:
    return np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind)


def _from_mask(encoded: bytes, ancillary: bytes, output: Tensor) -> Array:
    """Put the values where a bit is set, and the zero point elsewhere (decode_state_prune.cc)."""
    kept = _bits(encoded, output.elements).astype(bool)
    points = np.array(output.quantization.zero_point if output.quantization else (0,))
    if output.dtype != "int8" and points.any():
        raise UnsupportedError(f"'{output.name}' is pruned {output.dtype} with a zero point")
    _, channel = _channels(output)
    whole = points[channel].astype(output.dtype)
    whole[kept] = _table(ancillary, output)[: int(kept.sum())]
    return whole


def _from_codewords(encoded: bytes, ancillary: bytes, output: Tensor) -> Array:
    """Follow each codeword through the tables (decode_state_huffman.cc, Xtensa's format).

    An entry is a symbol and the number of its bits that were read, or the next table and the number
    of bits to read for it.
    """
    parameters = ancillary[_PARAMETERS]
    wide, first = parameters & _WIDE, (parameters >> _FIRST_BITS_SHIFT) + 1
    if output.dtype == "int16" and not wide:
        raise UnsupportedError(f"'{output.name}' is int16, for which the tables are too narrow")
    table = _numbers(ancillary[_METADATA_BYTES:], np.dtype("<u4" if wide else "<u2")).tolist()
    escape, shift = (1 << 31, 27) if wide else (1 << 15, 11)
    value, place, symbols = (1 << shift) - 1, 0, []
    stream = encoded + bytes(4)  # the last read may go beyond the last codeword
    for _ in range(output.elements):
        bits, entry, at = first, 0, 0
        while True:
            window = int.from_bytes(stream[place >> 3 : (place >> 3) + 4], "big")
            at += (window >> (32 - bits - (place & 7))) & ((1 << bits) - 1)
            entry = table[at]
            place += bits
            if place > 8 * len(stream):
                raise IndexError
            used = (entry & (escape - 1)) >> shift
            if entry & escape:
                break
            at, bits = at + (entry & value), used + 1
        place -= max(bits - used, 0)
        symbols.append(entry & 0xFFFF)
        if place > 8 * len(encoded):
            raise IndexError
    narrow = np.array(symbols, np.uint16)
    return narrow.astype(np.uint8).view(np.int8) if output.dtype == "int8" else narrow.view("<i2")
