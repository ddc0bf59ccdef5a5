"""What an operation runs in: memory, base pointers, SHRAM, and decoded weights."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.accelerator import Accelerator
from ethosgen.errors import NpuFault
from ethosgen.npu.memory import Bus, Bytes
from ethosgen.npu.operation import Convolution, Stream
from ethosgen.npu.weights import (
    MAX_WEIGHTS,
    Records,
    Traversal,
    decode_records,
    decode_weights,
    traversal,
)

_LUT_BYTES = 2048
_STREAM_ALIGNMENT = 16
_MAX_RECORDS = 1024


@dataclass
class Filter:
    """Decoded weights as a matrix, and how large they are.

    `matrix` is (H * W * I, O) for a convolution and (H * W, O) for a depthwise one; `reach` is the
    largest sum of magnitudes that any output channel adds up.
    """

    matrix: NDArray[Any]
    reach: int

    def of(self, dtype: type[np.floating[Any]]) -> NDArray[Any]:
        """Return the matrix in a floating type, which is not kept: it is four times as large."""
        return self.matrix.astype(dtype)


@dataclass
class WeightCache:
    """Decoded weights by the digests of their streams; the oldest go first."""

    limit_bytes: int = 1 << 28
    _filters: dict[tuple[tuple[bytes, ...], tuple[Traversal, ...]], Filter] = field(
        default_factory=dict
    )
    _bytes: int = 0
    _records: dict[tuple[tuple[bytes, ...], int], Records] = field(default_factory=dict)

    def get_records(self, streams: tuple[bytes, ...], channels: int) -> Records:
        """Return decoded scale records, decoding them if they are new."""
        key = (streams, channels)
        found = self._records.get(key)
        if found is None:
            found = decode_records(streams, channels)
            if len(self._records) >= _MAX_RECORDS:
                self._records.pop(next(iter(self._records)))
            self._records[key] = found
        return found

    def get(self, streams: tuple[bytes, ...], orders: tuple[Traversal, ...]) -> Filter:
        """Return the decoded filter, decoding it if it is new."""
        key = (tuple(sha256(stream).digest() for stream in streams), orders)
        found = self._filters.get(key)
        if found is None:
            found = _build_filter(decode_weights(streams, orders), orders[0].depthwise)
            self._bytes += found.matrix.nbytes
            while self._bytes > self.limit_bytes and self._filters:
                self._bytes -= self._filters.pop(next(iter(self._filters))).matrix.nbytes
            self._filters[key] = found
        return found


def _build_filter(ohwi: NDArray[np.int16], depthwise: bool) -> Filter:
    out_depth, height, width, in_depth = ohwi.shape
    rows = height * width * (1 if depthwise else in_depth)
    flat = ohwi.reshape(out_depth, rows)
    reach = int(np.abs(flat.astype(np.int64)).sum(axis=1).max(initial=0))
    low, high = int(flat.min(initial=0)), int(flat.max(initial=0))
    narrow = low >= -128 and high <= 127
    return Filter(np.ascontiguousarray(flat.T, np.int8 if narrow else np.int16), reach)


@dataclass
class Context:
    """The surroundings of a running stream."""

    accelerator: Accelerator
    bus: Bus
    bases: Sequence[int]
    shram: Bytes
    cache: WeightCache

    def base(self, region: int) -> int:
        """Return a region's address; NpuFault of kind "bus" if it has no base pointer."""
        if region >= len(self.bases):
            raise NpuFault("bus", f"region {region} has no base pointer")
        return int(self.bases[region])

    def read_stream(self, stream: Stream) -> bytes:
        """Return the bytes of a weight or scale stream."""
        address = self.base(stream.region) + stream.base
        if stream.length and address % _STREAM_ALIGNMENT:
            raise NpuFault("parse", f"a weight or scale stream at 0x{address:x} is not aligned")
        return self.bus.read(address, stream.length)

    def filter(self, operation: Convolution) -> Filter:
        """Return a convolution's decoded weights."""
        height, width = operation.kernel.size
        depth = 1 if operation.depthwise else operation.ifm_depth
        if height * width * depth * operation.ofm.shape[2] > MAX_WEIGHTS:
            raise NpuFault("timeout", "the weights of this operation are beyond the model")
        orders = tuple(
            traversal(operation, self.accelerator, core) for core in range(len(operation.weights))
        )
        streams = tuple(self.read_stream(stream) for stream in operation.weights)
        return self.cache.get(streams, orders)

    def records(self, operation: Convolution) -> Records:
        """Return a convolution's scale records."""
        streams = tuple(self.read_stream(stream) for stream in operation.scales)
        return self.cache.get_records(streams, operation.ofm.shape[2])

    def table(self, slot: int, entries: int, dtype: str) -> NDArray[np.int64]:
        """Return a look-up table; it lies in SHRAM's last 2 KiB, in slots of 256 bytes."""
        start = self.shram.size - _LUT_BYTES + slot * 256
        size = entries * np.dtype(dtype).itemsize
        if start + size > self.shram.size:
            raise NpuFault("parse", f"a table of {size} bytes in slot {slot} is beyond SHRAM")
        return self.shram[start : start + size].copy().view(dtype).astype(np.int64)
