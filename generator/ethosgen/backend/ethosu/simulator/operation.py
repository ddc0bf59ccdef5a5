"""NPU operations as typed values, built from the registers when an operation starts.

Each operation lists its accesses to memory and counts its products, so that the code that traces,
measures or checks does not depend on its type.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np

from ethosgen.backend.ethosu.isa import (
    ActivationFormat,
    ElementwiseMode,
    IfmScaleMode,
    IfmUpscaleMode,
    OfmScaleMode,
    PoolingMode,
    RoundMode,
)
from ethosgen.backend.ethosu.simulator.scaling import Rounding

Shape = tuple[int, int, int]
"""Height, width, depth."""
Ports = tuple[int, ...]
"""The AXI port of each region: 0, or 1 for that of large memories."""


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """The layout of a feature map: up to four tiles in a region.

    `bases` are the tiles' addresses relative to the region, `strides` the bytes from row to row
    (y), from column to column (x), and from brick to brick (c; NHCWB16 only). Tile 0 holds the
    first `height0` rows and `width0` columns, tile 1 the columns to its right (`height1` rows),
    tile 2 the rows below tile 0, tile 3 those below tile 1. `dtype` is a numpy name.
    """

    region: int
    bases: tuple[int, int, int, int]
    strides: tuple[int, int, int]
    height0: int
    height1: int
    width0: int
    layout: ActivationFormat
    dtype: str
    zero_point: int


@dataclass(frozen=True, slots=True)
class KernelShape:
    """Size in elements (without dilation), strides and dilations; height before width."""

    size: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]

    @property
    def dilated(self) -> tuple[int, int]:
        """Height and width that the kernel covers."""
        height, width = self.size
        return (height - 1) * self.dilation[0] + 1, (width - 1) * self.dilation[1] + 1


@dataclass(frozen=True, slots=True)
class Padding:
    """Rows and columns around the IFM."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def any(self) -> bool:
        """Whether there is any padding."""
        return bool(self.top or self.left or self.bottom or self.right)


@dataclass(frozen=True, slots=True)
class Activation:
    """Clipping and table lookup of a result. `table` is the table's slot, None without a table."""

    function: int
    clip_range: IntEnum
    minimum: int
    maximum: int

    @property
    def table(self) -> int | None:
        """The slot of the lookup table."""
        return self.function - 16 if self.function >= 16 else None


@dataclass(frozen=True, slots=True)
class Scale:
    """A factor: scale / 2**shift."""

    scale: int
    shift: int


@dataclass(frozen=True, slots=True)
class Output:
    """An operation's OFM and output stage.

    The OFM block and the accumulator format affect only the time, not the result.
    """

    fm: FeatureMap
    shape: Shape
    scale_mode: OfmScaleMode
    scale: Scale
    rounding: Rounding
    activation: Activation
    block: Shape
    acc_format: IntEnum


@dataclass(frozen=True, slots=True)
class DataStream:
    """A range of a region: compressed weights or scale records of one core."""

    region: int
    base: int
    length: int


class Channel(IntEnum):
    """STATUS.faulting_channel: reads are below 8, writes from 8 on (Arm's ethosu55_interface.h)."""

    COMMANDS = 0
    IFM = 1
    WEIGHTS = 2
    SCALES = 3
    DMA_READ = 4
    OFM = 8
    DMA_WRITE = 9

    @property
    def writes(self) -> bool:
        """Whether the channel writes."""
        return self >= Channel.OFM

    @property
    def title(self) -> str:
        """Its operand, for messages."""
        return _TITLES[self]


_TITLES = {
    Channel.COMMANDS: "the commands",
    Channel.IFM: "the input",
    Channel.WEIGHTS: "the weights",
    Channel.SCALES: "the scales and biases",
    Channel.DMA_READ: "the source of the copy",
    Channel.OFM: "the output",
    Channel.DMA_WRITE: "the destination of the copy",
}


@dataclass(frozen=True, slots=True)
class MapAccess:
    """A read or write of a feature map of the given shape; `name` is the operand's."""

    name: str
    channel: Channel
    fm: FeatureMap
    shape: Shape

    @property
    def region(self) -> int:
        """The region of the first element."""
        return self.fm.region

    @property
    def bytes(self) -> int:
        """The size of the elements in bytes; each counts once."""
        return math.prod(self.shape) * np.dtype(self.fm.dtype).itemsize


@dataclass(frozen=True, slots=True)
class StreamAccess:
    """An operation reads a stream of weights or of scales."""

    name: str
    channel: Channel
    stream: DataStream

    @property
    def region(self) -> int:
        """The stream's region."""
        return self.stream.region

    @property
    def bytes(self) -> int:
        """The stream's length."""
        return self.stream.length


@dataclass(frozen=True, slots=True)
class CopyAccess:
    """One end of a copy, at `address` of a region, None for SHRAM.

    `shape` is (planes, rows, length), `strides` are in bytes.
    """

    name: str
    channel: Channel
    region: int | None
    address: int
    shape: Shape
    strides: Shape

    @property
    def bytes(self) -> int:
        """The number of bytes to copy."""
        return math.prod(self.shape)


Access = MapAccess | StreamAccess | CopyAccess


@dataclass(frozen=True, slots=True)
class WeightLayout:
    """The parameters that determine the order of weights in their streams."""

    part_kernel_first: bool
    ofm_block_depth: int
    sub_kernel: int
    """Side of a sub-kernel before dilation: 8 or 4."""


class MacFree:
    """An operation without the MAC units."""

    __slots__ = ()

    @property
    def macs(self) -> int:
        """Number of multiplications in the MAC units."""
        return 0


class CopyOperation(MacFree):
    """An operation that copies bytes."""

    __slots__ = ()

    @property
    def ofm(self) -> None:
        """A copy has no feature map."""
        return


@dataclass(frozen=True, slots=True)
class Windowed(MacFree):
    """The common part of convolution and pooling: a kernel that slides over the IFM."""

    ifm: FeatureMap
    ifm_depth: int
    upscale: IfmUpscaleMode
    padding: Padding
    kernel: KernelShape
    ofm: Output

    @property
    def upscaled_size(self) -> tuple[int, int]:
        """Height and width of the IFM after upscaling, as the hardware derives them."""
        height, width = self.kernel.dilated
        return (
            (self.ofm.shape[0] - 1) * self.kernel.stride[0]
            + height
            - self.padding.top
            - self.padding.bottom,
            (self.ofm.shape[1] - 1) * self.kernel.stride[1]
            + width
            - self.padding.left
            - self.padding.right,
        )

    @property
    def ifm_shape(self) -> Shape:
        """Shape of the IFM in memory."""
        height, width = self.upscaled_size
        if self.upscale is not IfmUpscaleMode.NONE:
            height, width = (height + 1) // 2, (width + 1) // 2
        return height, width, self.ifm_depth

    def accesses(self) -> Iterator[Access]:
        """Yield every access to memory except the lookup table's."""
        yield MapAccess("ofm", Channel.OFM, self.ofm.fm, self.ofm.shape)
        yield MapAccess("ifm", Channel.IFM, self.ifm, self.ifm_shape)


@dataclass(frozen=True, slots=True)
class Convolution(Windowed):
    """NPU_OP_CONV and NPU_OP_DEPTHWISE; one weight and scale stream for each core."""

    depthwise: bool
    weights: tuple[DataStream, ...]
    scales: tuple[DataStream, ...]
    layout: WeightLayout

    @property
    def macs(self) -> int:
        """Number of multiplications, including those for padding."""
        products = math.prod(self.ofm.shape) * math.prod(self.kernel.size)
        return products * (1 if self.depthwise else self.ifm_depth)

    def accesses(self) -> Iterator[Access]:
        """Yield every access to memory except the lookup table's."""
        yield from Windowed.accesses(self)
        for stream in self.weights:
            yield StreamAccess("weights", Channel.WEIGHTS, stream)
        for stream in self.scales:
            yield StreamAccess("scales", Channel.SCALES, stream)


@dataclass(frozen=True, slots=True)
class Pool(Windowed):
    """NPU_OP_POOL."""

    mode: PoolingMode


@dataclass(frozen=True, slots=True)
class Elementwise(MacFree):
    """NPU_OP_ELEMENTWISE. `ifm2` is None for unary operations and if `scalar` replaces it."""

    mode: ElementwiseMode
    ifm: FeatureMap
    ifm2: FeatureMap | None
    scalar: int | None
    broadcast: tuple[bool, bool, bool]
    ifm2_is_a: bool
    scale_mode: IfmScaleMode
    opa_scale: Scale
    opb_scale: int
    rounding: RoundMode
    ifm2_zero_point: int
    ofm: Output

    @property
    def ifm2_shape(self) -> Shape:
        """Shape of the second operand in memory, before broadcasting."""
        pairs = zip(self.broadcast, self.ofm.shape, strict=True)
        height, width, depth = (1 if repeated else extent for repeated, extent in pairs)
        return height, width, depth

    def accesses(self) -> Iterator[Access]:
        """Yield every access to memory except the lookup table's."""
        yield MapAccess("ofm", Channel.OFM, self.ofm.fm, self.ofm.shape)
        yield MapAccess("ifm", Channel.IFM, self.ifm, self.ofm.shape)
        if self.ifm2 is not None:
            yield MapAccess("ifm2", Channel.IFM, self.ifm2, self.ifm2_shape)


@dataclass(frozen=True, slots=True)
class Dma(CopyOperation):
    """NPU_OP_DMA_START; a region of None is SHRAM. `sizes` counts (rows, planes).

    A transfer is `length` bytes, repeated for SIZE0 rows and SIZE1 planes. On a side with strides,
    rows are length + SKIP0 and planes length * SIZE0 + SKIP1 apart (Regor's
    ethos_u65_register_cs_generator.cpp); the other side is contiguous.
    """

    source: tuple[int | None, int]
    destination: tuple[int | None, int]
    length: int
    source_dims: int
    destination_dims: int
    sizes: tuple[int, int]
    skips: tuple[int, int]

    @property
    def shape(self) -> Shape:
        """Planes, rows, and the bytes of a row."""
        dims = max(self.source_dims, self.destination_dims)
        rows = self.sizes[0] if dims > 1 else 1
        planes = self.sizes[1] if dims > 2 else 1
        return planes, rows, self.length

    def strides(self, dims: int) -> Shape:
        """Return the strides in bytes of an end with that many dimensions."""
        row = self.length + (self.skips[0] if dims > 1 else 0)
        plane = self.length * self.shape[1] + (self.skips[1] if dims > 2 else 0)
        return plane, row, 1

    @property
    def read(self) -> CopyAccess:
        """The source of the copy."""
        strides = self.strides(self.source_dims)
        return CopyAccess("source", Channel.DMA_READ, *self.source, self.shape, strides)

    @property
    def write(self) -> CopyAccess:
        """The destination of the copy."""
        strides = self.strides(self.destination_dims)
        return CopyAccess("destination", Channel.DMA_WRITE, *self.destination, self.shape, strides)

    def accesses(self) -> Iterator[Access]:
        """Yield both ends."""
        yield from (self.read, self.write)


class Operation(Protocol):
    """An operation of any generation."""

    @property
    def ofm(self) -> Output | None:
        """The target of its results, None for a copy."""

    @property
    def macs(self) -> int:
        """Number of multiplications in the MAC units."""

    def accesses(self) -> Iterator[Access]:
        """Yield every access to memory except the lookup table's."""


@dataclass(frozen=True, slots=True)
class IssuedOperation:
    """An operation and the command that starts it.

    The waits precede it in the stream; they limit the number of outstanding copies and operations.
    """

    operation: Operation
    offset: int
    command: str
    dma_wait: int | None = None
    kernel_wait: int | None = None
