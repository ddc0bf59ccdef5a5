"""The context of an operation: memories, base pointers, SHRAM and decoded weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator.memory import Bus, Bytes
from ethosgen.backend.ethosu.simulator.operation import Convolution, DataStream
from ethosgen.backend.ethosu.simulator.weights import MAX_WEIGHTS, BlockWeights, Records
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_LUT_BYTES = 2048
_STREAM_ALIGNMENT = 16
_OBJECTS_BYTES = 1 << 10
"""Approximate size in bytes of a filter besides its elements: the key and array headers."""

Action = Callable[[], object]
"""A prepared operation; it can fault only if weights have changed."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Decoded weights as a matrix, and their magnitudes.

    `matrix` is (H * W * I, O) for a convolution and (H * W, O) for a depthwise one; `sums` are the
    channels' sums, and `totals` the sums of their magnitudes.
    """

    matrix: NDArray[Any]
    sums: NDArray[np.int64]
    totals: NDArray[np.int64]

    @property
    def reach(self) -> int:
        """The largest sum of magnitudes of any output channel."""
        return int(self.totals.max(initial=0))

    @property
    def nbytes(self) -> int:
        """Size in bytes, including the sums, since a layer can have many channels of one weight."""
        arrays = (self.matrix, self.sums, self.totals)
        return _OBJECTS_BYTES + sum(array.nbytes for array in arrays)


class Order(Protocol):
    """The order of a stream's weights; hashable."""

    @property
    def depthwise(self) -> bool:
        """Whether the weights are those of a depthwise convolution."""


class WeightDecoder(Protocol):
    """A generation's storage of weights and scale records."""

    def orders(self, operation: Convolution) -> tuple[Any, ...]:
        """Return the order of each stream's weights, as `Order`."""

    def decode(
        self, streams: Sequence[bytes | memoryview], orders: tuple[Any, ...]
    ) -> NDArray[np.int16]:
        """Decode streams into one array of (O, H, W, I); NpuFault if they are malformed."""

    def records(self, streams: tuple[bytes, ...], operation: Convolution) -> Records:
        """Decode the scale records; NpuFault of kind "parse" if there are too few."""


@dataclass
class WeightCache:
    """Decoded weights by the digests of their streams; evicts the oldest first."""

    limit_bytes: int = 1 << 26
    _filters: dict[tuple[tuple[bytes, ...], tuple[Order, ...]], Filter] = field(
        default_factory=dict
    )
    _bytes: int = 0

    def __len__(self) -> int:
        return len(self._filters)

    def get(
        self, streams: tuple[Bytes, ...], orders: tuple[Order, ...], weights: WeightDecoder
    ) -> Filter:
        """Return the decoded filter, decoding it if it is new."""
        key = (tuple(sha256(stream.data).digest() for stream in streams), orders)
        decoded = self._filters.get(key)
        if decoded is None:
            data = [stream.data for stream in streams]
            decoded = _build_filter(weights.decode(data, orders), orders[0].depthwise)
            self._bytes += decoded.nbytes
            while self._bytes > self.limit_bytes and self._filters:
                self._bytes -= self._filters.pop(next(iter(self._filters))).nbytes
            self._filters[key] = decoded
        return decoded


DECODED = WeightCache()
"""The weights of all machines of a process: a network's check runs its operators alone, too."""


def _build_filter(ohwi: NDArray[np.int16], depthwise: bool) -> Filter:
    out_depth, height, width, in_depth = ohwi.shape
    rows = height * width * (1 if depthwise else in_depth)
    flat = ohwi.reshape(out_depth, rows)
    sums = flat.sum(axis=1, dtype=np.int64)
    totals = 2 * flat.sum(axis=1, dtype=np.int64, where=flat > 0) - sums
    low, high = int(flat.min(initial=0)), int(flat.max(initial=0))
    narrow = low >= -128 and high <= 127
    return Filter(np.ascontiguousarray(flat.T, np.int8 if narrow else np.int16), sums, totals)


class Constants:
    """The weights and scale records of one convolution in memory.

    Constant memory is decoded once; for other memory, a digest shows whether it has changed since
    it was decoded.
    """

    def __init__(self, context: "Context", operation: Convolution) -> None:
        """Find the weights; NpuFault if a stream is outside the memories."""
        self._context = context
        self._operation = operation
        self._weights = tuple(context.view_stream(stream) for stream in operation.weights)
        self._scales: tuple[Bytes, ...] = ()

    def decode(self) -> tuple[Filter, Records]:
        """Return the filter and the records; NpuFault of kind "parse" if they are invalid."""
        operation, context = self._operation, self._context
        weights = context.weight_format
        decoded = context.cache.get(self._weights, weights.orders(operation), weights)
        if not self._scales:
            self._scales = tuple(context.view_stream(stream) for stream in operation.scales)
        data = tuple(stream.tobytes() for stream in self._scales)
        return decoded, weights.records(data, operation)

    def may_change(self) -> bool:
        """Return whether they can be overwritten after they were decoded."""
        streams = (*self._operation.weights, *self._operation.scales)
        return not all(self._context.is_constant(stream) for stream in streams)

    def digest(self) -> bytes:
        """Return a digest of the memory's contents."""
        together = sha256()
        for stream in (*self._weights, *self._scales):
            together.update(stream.data)
        return together.digest()


class Shram:
    """The NPU's internal memory, allocated at its first use."""

    def __init__(self, size: int) -> None:
        """Store its size in bytes."""
        self.size = size

    @cached_property
    def memory(self) -> Bytes:
        """All of it, initially 0."""
        return np.zeros(self.size, np.uint8)


@dataclass
class Inner:
    """U85's state between operations: chaining buffers, and accumulators."""

    buffers: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    accumulators: NDArray[np.int64] | None = None


@dataclass
class Context:
    """The environment of a running stream."""

    accelerator: EthosU
    bus: Bus
    bases: Sequence[int]
    shram: Shram
    cache: WeightCache
    inner: Inner = field(default_factory=Inner)
    given_format: WeightDecoder | None = None

    @cached_property
    def weight_format(self) -> WeightDecoder:
        """The format of weight streams: U55's and U65's unless another was given."""
        return self.given_format or BlockWeights(self.accelerator)

    def base(self, region: int) -> int:
        """Return a region's address; NpuFault of kind "bus" if it has no base pointer."""
        if region >= len(self.bases):
            raise NpuFault("bus", f"region {region} has no base pointer")
        return int(self.bases[region])

    def view_stream(self, stream: DataStream) -> Bytes:
        """Return a view of a weight or scale stream."""
        address = self.base(stream.region) + stream.base
        if stream.length and address % _STREAM_ALIGNMENT:
            raise NpuFault("parse", f"a weight or scale stream at 0x{address:x} is not aligned")
        return self.bus.view(address, stream.length)

    def read_stream(self, stream: DataStream) -> bytes:
        """Return the bytes of a weight or scale stream."""
        return self.view_stream(stream).tobytes()

    def is_constant(self, stream: DataStream) -> bool:
        """Return whether a stream's bytes are constant."""
        return self.bus.is_constant(self.base(stream.region) + stream.base, stream.length)

    def constants(self, operation: Convolution) -> Constants:
        """Return a convolution's weights and scale records."""
        height, width = operation.kernel.size
        depth = 1 if operation.depthwise else operation.ifm_depth
        if height * width * depth * operation.ofm.shape[2] > MAX_WEIGHTS:
            raise NpuFault("timeout", "the weights of this operation are too large for the model")
        return Constants(self, operation)

    def records(self, operation: Convolution) -> Records:
        """Return a convolution's scale records."""
        streams = tuple(self.read_stream(stream) for stream in operation.scales)
        return self.weight_format.records(streams, operation)

    def view_table(self, slot: int, entries: int, dtype: str) -> NDArray[Any]:
        """Return a view of a lookup table in the last 2 KiB of SHRAM, in slots of 256 bytes."""
        start = self.shram.size - _LUT_BYTES + slot * 256
        size = entries * np.dtype(dtype).itemsize
        if start + size > self.shram.size:
            raise NpuFault(
                "parse", f"a table of {counted(size, 'byte')} in slot {slot} is beyond SHRAM"
            )
        return self.shram.memory[start : start + size].view(dtype)
