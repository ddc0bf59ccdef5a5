"""U85's operations as typed values, besides those that it shares with U55 and U65.

A convolution, a pooling and an output stage are U55's with more parameters. Elementwise operations,
resizing and copies are U85's own.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ethosgen.backend.ethosu.isa import ElementwiseMode, PoolingMode
from ethosgen.backend.ethosu.isa_u85 import (
    AccInput,
    ActivationReverse,
    ActivationTranspose,
    Microblock,
    ResizeMode,
    U85BroadcastMode,
    U85ElementwiseMode,
    U85PoolingMode,
)
from ethosgen.backend.ethosu.simulator.operation import (
    Access,
    Activation,
    Channel,
    Convolution,
    CopyAccess,
    CopyOperation,
    DataStream,
    FeatureMap,
    MacFree,
    MapAccess,
    Output,
    Scale,
    Shape,
    StreamAccess,
    WeightLayout,
    Windowed,
)
from ethosgen.backend.ethosu.simulator.scaling import Rounding

AnyElementwiseMode = ElementwiseMode | U85ElementwiseMode
AnyPoolingMode = PoolingMode | U85PoolingMode
ELEMENTWISE_MODES: tuple[AnyElementwiseMode, ...] = (*ElementwiseMode, *U85ElementwiseMode)
POOLING_MODES: tuple[AnyPoolingMode, ...] = (*PoolingMode, *U85PoolingMode)

_AXES = {"H": 0, "W": 1, "C": 2}


@dataclass(frozen=True, slots=True)
class Chained:
    """A feature map in a chaining buffer of the NPU."""

    buffer: int
    dtype: str
    zero_point: int


@dataclass(frozen=True, slots=True)
class ScalarOperand:
    """An operand of one value, from OP_SCALAR."""

    value: int
    dtype: str
    zero_point: int


Operand = FeatureMap | Chained | ScalarOperand


@dataclass(frozen=True, slots=True)
class U85Activation(Activation):
    """`index` is the table's number, counted in tables of its size."""

    index: int


@dataclass(frozen=True, slots=True)
class U85Output(Output):
    """U85's output stage. `shape` is the OFM's before it is transposed or reversed.

    `chain` is the buffer that the result goes to instead of memory; `enabled` is False if the
    result stays in the accumulators.
    """

    double_round: int
    transpose: ActivationTranspose
    reverse: ActivationReverse
    chain: int | None
    enabled: bool
    microblock: Microblock

    @property
    def axes(self) -> tuple[int, int, int]:
        """The axes of `shape` in the order in which they are stored."""
        first, second, third = (_AXES[axis] for axis in self.transpose.name)
        return first, second, third

    @property
    def stored_shape(self) -> Shape:
        """Shape in memory."""
        height, width, depth = (self.shape[axis] for axis in self.axes)
        return height, width, depth

    def accesses(self) -> Iterator[Access]:
        """Yield the write, if there is one."""
        if self.enabled and self.chain is None:
            yield MapAccess("ofm", Channel.OFM, self.fm, self.stored_shape)


@dataclass(frozen=True, slots=True)
class U85Layout(WeightLayout):
    """The parameters that determine the order of weights in U85's streams."""

    ifm_block_depth: int
    ofm_ublock_depth: int
    fast: bool
    sparse: bool


@dataclass(frozen=True, slots=True)
class Accumulators:
    """The initial values of an operation's accumulators; `ifm2` if they come from memory."""

    source: AccInput
    wide: bool
    ifm2: FeatureMap | None

    def accesses(self, shape: Shape) -> Iterator[Access]:
        """Yield the read, if there is one."""
        if self.ifm2 is not None:
            yield MapAccess("ifm2", Channel.IFM, self.ifm2, shape)


@dataclass(frozen=True, slots=True)
class U85Convolution(Convolution):
    """NPU_OP_CONV and NPU_OP_DEPTHWISE. `matrix` replaces the weight streams if not None."""

    accumulators: Accumulators
    matrix: FeatureMap | None

    @property
    def matrix_shape(self) -> Shape:
        """Shape of `matrix` in memory: a row for each channel of the OFM."""
        return 1, self.ofm.shape[2], self.ifm_depth

    def accesses(self) -> Iterator[Access]:
        """Yield every access to memory except the lookup table's."""
        assert isinstance(self.ofm, U85Output)
        yield from self.ofm.accesses()
        yield MapAccess("ifm", Channel.IFM, self.ifm, self.ifm_shape)
        yield from self.accumulators.accesses(self.ofm.shape)
        if self.matrix is not None:
            yield MapAccess("ifm2", Channel.IFM, self.matrix, self.matrix_shape)
        for stream in self.weights:
            yield StreamAccess("weights", Channel.WEIGHTS, stream)
        for stream in self.scales:
            yield StreamAccess("scales", Channel.SCALES, stream)


@dataclass(frozen=True, slots=True)
class U85Pool(Windowed):
    """NPU_OP_POOL. `scales` are a record for each channel, () if OFM_SCALE is used."""

    mode: AnyPoolingMode
    accumulators: Accumulators
    scales: tuple[DataStream, ...]

    def accesses(self) -> Iterator[Access]:
        """Yield every access to memory except the lookup table's."""
        assert isinstance(self.ofm, U85Output)
        yield from self.ofm.accesses()
        if self.mode is not U85PoolingMode.NONE:
            yield MapAccess("ifm", Channel.IFM, self.ifm, self.ifm_shape)
        yield from self.accumulators.accesses(self.ofm.shape)
        for stream in self.scales:
            yield StreamAccess("scales", Channel.SCALES, stream)


@dataclass(frozen=True, slots=True)
class Scaled:
    """An operand of an elementwise operation, with its scaling and repetition."""

    operand: Operand
    scale: Scale
    double_round: int
    rounding: Rounding
    broadcast: U85BroadcastMode

    def shape(self, full: Shape) -> Shape:
        """Shape in memory, given the operation's."""
        if self.broadcast is U85BroadcastMode.SCALAR:
            return 1, 1, 1
        axes = (U85BroadcastMode.H, U85BroadcastMode.W, U85BroadcastMode.C)
        height, width, depth = (
            1 if self.broadcast & axis else extent for axis, extent in zip(axes, full, strict=True)
        )
        return height, width, depth

    def accesses(self, name: str, full: Shape) -> Iterator[Access]:
        """Yield the read, if the operand is in memory."""
        if isinstance(self.operand, FeatureMap):
            yield MapAccess(name, Channel.IFM, self.operand, self.shape(full))


@dataclass(frozen=True, slots=True)
class U85Elementwise(MacFree):
    """NPU_OP_ELEMENTWISE; `second` is None for operations of one operand.

    LRELU has one operand, and scales its negative elements by `negative`.
    """

    mode: AnyElementwiseMode
    first: Scaled
    second: Scaled | None
    negative: Scale
    ofm: U85Output

    @property
    def operands(self) -> dict[str, Scaled]:
        """The one or two operands by name."""
        return {"ifm": self.first} | ({} if self.second is None else {"ifm2": self.second})

    def accesses(self) -> Iterator[Access]:
        """Yield every access to memory except the lookup table's."""
        yield from self.ofm.accesses()
        for name, operand in self.operands.items():
            yield from operand.accesses(name, self.ofm.shape)


@dataclass(frozen=True, slots=True)
class ResizeAxis:
    """A resize's map of positions: OFM position p is at (p * step + offset) / scale of the IFM."""

    scale: int
    step: int
    offset: int


@dataclass(frozen=True, slots=True)
class Resize(MacFree):
    """NPU_OP_RESIZE."""

    mode: ResizeMode
    ifm: FeatureMap
    ifm_shape: Shape
    vertical: ResizeAxis
    horizontal: ResizeAxis
    ofm: U85Output

    def accesses(self) -> Iterator[Access]:
        """Yield every access to memory except the lookup table's."""
        yield from self.ofm.accesses()
        yield MapAccess("ifm", Channel.IFM, self.ifm, self.ifm_shape)


@dataclass(frozen=True, slots=True)
class CopyEnd:
    """One end of a copy. `strides` are those of planes and rows; for `indexed` ends, indices choose
    the rows.

    A region of None is the NPU's table memory.
    """

    region: int | None
    address: int
    strides: tuple[int, int]
    indexed: bool


@dataclass(frozen=True, slots=True)
class Indices:
    """The index tensor of a copy: int32, `skip` bytes between the planes' ends and starts."""

    region: int
    address: int
    most: int
    skip: int


@dataclass(frozen=True, slots=True)
class IndexedAccess(CopyAccess):
    """The end of a copy whose rows indices choose; `shape` is that of its first row."""

    total: int

    @property
    def bytes(self) -> int:
        """The number of bytes to copy."""
        return self.total


@dataclass(frozen=True, slots=True)
class U85Dma(CopyOperation):
    """NPU_OP_DMA_START: `shape` is planes, rows and the bytes of a row."""

    source: CopyEnd
    destination: CopyEnd
    shape: Shape
    indices: Indices | None

    @property
    def bytes(self) -> int:
        """The number of bytes to copy."""
        return math.prod(self.shape)

    @property
    def read(self) -> CopyAccess:
        """The source of the copy."""
        return self._end("source", self.source, Channel.DMA_READ)

    @property
    def write(self) -> CopyAccess:
        """The destination of the copy."""
        return self._end("destination", self.destination, Channel.DMA_WRITE)

    def _end(self, name: str, end: CopyEnd, channel: Channel) -> CopyAccess:
        """Return one end as an access."""
        strides = (*end.strides, 1)
        if not end.indexed:
            return CopyAccess(name, channel, end.region, end.address, self.shape, strides)
        row = (1, 1, self.shape[2])
        return IndexedAccess(name, channel, end.region, end.address, row, strides, self.bytes)

    def accesses(self) -> Iterator[Access]:
        """Yield both ends, and the index tensor."""
        yield from (self.read, self.write)
        if self.indices is not None:
            planes, rows, _ = self.shape
            yield CopyAccess(
                "indices",
                Channel.DMA_READ,
                self.indices.region,
                self.indices.address,
                (planes, rows, 4),
                (4 * rows + self.indices.skip, 4, 1),
            )
