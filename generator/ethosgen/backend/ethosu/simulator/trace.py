"""Observes the machine for a Trace: the data that each operation reads and writes, and the time.

    trace = Trace(dumps={3: Path("conv.npz")})
    machine = Machine(accelerator, bus, observer=TraceObserver(trace))

Each operand counts once, with its size in memory. The hardware can read it again, depending on its
block schedule.
"""

import time
import zlib
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.simulator import feature_map
from ethosgen.backend.ethosu.simulator.generation import registers_of
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    Dma,
    Elementwise,
    IssuedOperation,
    MapAccess,
    Operation,
)
from ethosgen.backend.ethosu.simulator.ops import dma
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.ops.output import table_view
from ethosgen.backend.ethosu.simulator.summary import summary, title
from ethosgen.backend.ethosu.simulator.u85 import kept
from ethosgen.backend.ethosu.simulator.u85.operation import U85Dma, U85Output
from ethosgen.backend.ethosu.simulator.u85.ops.dma import copied
from ethosgen.backend.ethosu.simulator.u85.output import written
from ethosgen.backend.trace import Arrays, Trace


class TraceObserver:
    """Reports each operation of a machine to a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._inputs: Arrays = {}
        self._started = 0.0

    def before(self, context: Context, step: IssuedOperation) -> None:
        """Record the start of an operation; copy its inputs, because its output can overwrite them.

        Raises NpuFault if an operand is outside the memories.
        """
        if self._trace.wants_arrays:
            self._inputs = _inputs(context, step.operation)
        self._started = time.perf_counter()

    def after(self, context: Context, step: IssuedOperation, macs: int) -> None:
        """Record the end of an operation.

        Raises InputError if its arrays cannot be written to their file.
        """
        seconds = time.perf_counter() - self._started
        operation = step.operation
        result = _result(context, operation)
        self._trace.add(
            offset=step.offset,
            name=title(operation),
            macs=macs,
            read=_sizes(context, operation, writes=False),
            written=_sizes(context, operation, writes=True),
            checksum=zlib.crc32(result.tobytes()),
            seconds=seconds,
            arrays=lambda: self._inputs | _outputs(context, operation, result),
        )


def _sizes(context: Context, operation: Operation, writes: bool) -> dict[str, int]:
    """Return the bytes that an operation reads or writes, by region; each operand counts once."""
    inner = registers_of(context.accelerator).isa.inner
    totals: Counter[str] = Counter()
    for access in operation.accesses():
        if access.channel.writes is writes:
            totals[inner if access.region is None else str(access.region)] += access.bytes
    table = None if operation.ofm is None else table_view(operation.ofm, context)
    if not writes and table is not None:
        totals[inner] += table.nbytes
    totals.update(kept.sizes(operation, writes))
    return dict(sorted(totals.items()))


def _result(context: Context, operation: Operation) -> NDArray[Any]:
    """Read back an operation's result."""
    ofm = operation.ofm
    if ofm is None:
        return _copied(context, operation)
    if isinstance(ofm, U85Output):
        return written(context, ofm)
    return feature_map.read(context.bus, ofm.fm, context.base(ofm.fm.region), ofm.shape)


def _copied(context: Context, operation: Operation) -> NDArray[Any]:
    if isinstance(operation, Dma):
        return dma.written(context, operation)
    assert isinstance(operation, U85Dma)
    return copied(context, operation)


def _inputs(context: Context, operation: Operation) -> Arrays:
    arrays: Arrays = {
        access.name: feature_map.read(
            context.bus, access.fm, context.base(access.region), access.shape
        ).copy()
        for access in operation.accesses()
        if isinstance(access, MapAccess) and not access.channel.writes
    }
    if isinstance(operation, Elementwise) and operation.scalar is not None:
        arrays["scalar"] = np.array(operation.scalar)
    if isinstance(operation, Convolution) and operation.weights:
        weights = context.weight_format
        streams = tuple(context.read_stream(stream) for stream in operation.weights)
        arrays["weights"] = weights.decode(streams, weights.orders(operation))
        arrays |= context.records(operation).arrays
    return arrays | kept.arrays(context, operation)


def _outputs(context: Context, operation: Operation, result: NDArray[Any]) -> Arrays:
    arrays: Arrays = {"operation": np.array(summary(operation))}
    ofm = operation.ofm
    if ofm is None:
        return arrays | {"data": np.ascontiguousarray(result)}
    table = table_view(ofm, context)
    if table is not None:
        arrays["table"] = table.astype(np.int64)
    return arrays | {"ofm": np.ascontiguousarray(result)}
