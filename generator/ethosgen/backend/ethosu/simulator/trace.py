"""Observes the machine: the data that each operation reads and writes, and the model's time.

    trace = Trace(dumps={3: Path("conv.npz")})
    machine = Machine(accelerator, bus, observer=trace)

Each operand counts once, with its size in memory. How often the hardware reads it again depends
on its block schedule.
"""

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.simulator import feature_map
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    Dma,
    Elementwise,
    FeatureMap,
    IssuedOperation,
    Operation,
    Shape,
)
from ethosgen.backend.ethosu.simulator.ops import dma
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.ops.output import table_format
from ethosgen.backend.ethosu.simulator.summary import summary, title
from ethosgen.backend.ethosu.simulator.weights import decode_weights, traversal
from ethosgen.values.errors import InputError, cannot_write

Arrays = dict[str, NDArray[Any]]

SHRAM = "shram"
"""Stands for the NPU's own memory in place of a region's number."""


@dataclass(frozen=True)
class Entry:
    """One operation that ran. `read` and `written` map a region to bytes; `macs` counts products.

    `number` counts an inference's operations from 0, over all partitions. `checksum` is the CRC-32
    of the elements written, in NHWC order. `seconds` is the model's own time.
    """

    sample: int
    partition: str
    number: int
    offset: int
    name: str
    macs: int
    read: Mapping[str, int]
    written: Mapping[str, int]
    checksum: int
    seconds: float = field(compare=False)


class Trace:
    """Collects entries; `dumps` maps an operation's number to the .npz file for its arrays.

    Only the first sample is dumped.
    """

    def __init__(self, dumps: Mapping[int, Path] | None = None) -> None:
        self.entries: list[Entry] = []
        self._pending_dumps = dict(dumps or {})
        self._sample = -1
        self._partition = ""
        self._number = 0
        self._inputs: Arrays = {}
        self._started = 0.0

    def begin_sample(self) -> None:
        """Note that a new inference begins."""
        self._sample += 1
        self._number = 0

    def begin_partition(self, name: str) -> None:
        """Note the partition of the following operations."""
        self._partition = name

    def before(self, context: Context, step: IssuedOperation) -> None:
        """Note that an operation begins; copy its inputs now, as its output may replace them.

        Raises NpuFault if an operand is outside the memories.
        """
        if self._number in self._pending_dumps:
            self._inputs = _inputs(context, step.operation)
        self._started = time.perf_counter()

    def after(self, context: Context, step: IssuedOperation, macs: int) -> None:
        """Note that an operation has ended.

        Raises InputError if its arrays cannot be written to their file.
        """
        seconds = time.perf_counter() - self._started
        operation = step.operation
        result = _result(context, operation)
        self.entries.append(
            Entry(
                max(self._sample, 0),
                self._partition,
                self._number,
                step.offset,
                title(operation),
                macs,
                _sum_by_region(_reads(operation)),
                {_region_name(_target(operation)): result.nbytes},
                zlib.crc32(result.tobytes()),
                seconds,
            )
        )
        path = self._pending_dumps.pop(self._number, None)
        if path is not None:
            _save(path, self._inputs | _outputs(context, operation, result))
        self._number += 1

    def check_dumps(self) -> None:
        """Raise InputError if an operation to dump never ran."""
        if self._pending_dumps:
            wanted = min(self._pending_dumps)
            raise InputError(
                f"there is no operation {wanted} to dump; an inference has {self._number}, counted "
                "from 0 (--trace lists them)"
            )


def _reads(operation: Operation) -> list[tuple[int | None, int]]:
    """Return (region, bytes) of each operand."""
    if isinstance(operation, Dma):
        return [(operation.source[0], dma.total_bytes(operation))]
    found: list[tuple[int | None, int]] = [
        (fm.region, int(np.prod(shape)) * np.dtype(fm.dtype).itemsize)
        for fm, shape in _ifms(operation).values()
    ]
    if isinstance(operation, Convolution):
        found += [(s.region, s.length) for s in (*operation.weights, *operation.scales)]
    if operation.ofm.activation.table is not None:
        entries, dtype = table_format(operation.ofm)
        found.append((None, entries * np.dtype(dtype).itemsize))
    return found


def _ifms(operation: Operation) -> dict[str, tuple[FeatureMap, Shape]]:
    """Return the feature maps that an operation reads, each with the shape that it reads."""
    if isinstance(operation, Dma):
        return {}
    if not isinstance(operation, Elementwise):
        return {"ifm": (operation.ifm, operation.ifm_shape)}
    full = operation.ofm.shape
    found = {"ifm": (operation.ifm, full)}
    if operation.ifm2 is not None:
        height, width, depth = (
            1 if repeated else extent
            for repeated, extent in zip(operation.broadcast, full, strict=True)
        )
        found["ifm2"] = (operation.ifm2, (height, width, depth))
    return found


def _target(operation: Operation) -> int | None:
    if isinstance(operation, Dma):
        return operation.destination[0]
    return operation.ofm.fm.region


def _region_name(region: int | None) -> str:
    return SHRAM if region is None else str(region)


def _sum_by_region(parts: list[tuple[int | None, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for region, size in parts:
        name = _region_name(region)
        totals[name] = totals.get(name, 0) + size
    return dict(sorted(totals.items()))


def _result(context: Context, operation: Operation) -> NDArray[Any]:
    """Read back an operation's result."""
    if isinstance(operation, Dma):
        return dma.written(context, operation)
    fm = operation.ofm.fm
    return feature_map.read(context.bus, fm, context.base(fm.region), operation.ofm.shape)


def _inputs(context: Context, operation: Operation) -> Arrays:
    arrays: Arrays = {
        name: feature_map.read(context.bus, fm, context.base(fm.region), shape).copy()
        for name, (fm, shape) in _ifms(operation).items()
    }
    if isinstance(operation, Elementwise) and operation.scalar is not None:
        arrays["scalar"] = np.array(operation.scalar)
    if isinstance(operation, Convolution):
        orders = tuple(
            traversal(operation, context.accelerator, core)
            for core in range(len(operation.weights))
        )
        streams = tuple(context.read_stream(stream) for stream in operation.weights)
        records = context.records(operation)
        arrays |= {
            "weights": decode_weights(streams, orders),
            "bias": records.bias,
            "scale": records.scale,
            "shift": records.shift,
        }
    return arrays


def _outputs(context: Context, operation: Operation, result: NDArray[Any]) -> Arrays:
    arrays: Arrays = {"operation": np.array(summary(operation))}
    if isinstance(operation, Dma):
        return arrays | {"data": np.ascontiguousarray(result)}
    slot = operation.ofm.activation.table
    if slot is not None:
        arrays["table"] = context.table(slot, *table_format(operation.ofm))
    return arrays | {"ofm": np.ascontiguousarray(result)}


def _save(path: Path, arrays: Arrays) -> None:
    partial = path.with_name(f".{path.name}.partial")
    everything: dict[str, Any] = dict(arrays)
    try:
        with partial.open("wb") as file:
            np.savez(file, **everything)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise cannot_write(path, error) from None
