"""NPU operations as typed values, built from the registers when an operation starts."""

from dataclasses import dataclass

from ethosgen.backend.ethosu.simulator.isa import (
    AccFormat,
    ActivationClipRange,
    ActivationFormat,
    ElementwiseMode,
    IfmScaleMode,
    IfmUpscaleMode,
    OfmScaleMode,
    PoolingMode,
    RoundMode,
)

Shape = tuple[int, int, int]
"""Height, width, depth."""


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
    clip_range: ActivationClipRange
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
    rounding: RoundMode
    activation: Activation
    block: Shape
    acc_format: AccFormat


@dataclass(frozen=True, slots=True)
class Stream:
    """A range of a region: compressed weights or scale records of one core."""

    region: int
    base: int
    length: int


@dataclass(frozen=True, slots=True)
class WeightLayout:
    """The parameters that determine the order of weights in their streams."""

    part_kernel_first: bool
    ofm_block_depth: int
    sub_kernel: int
    """Side of a sub-kernel before dilation: 8 or 4."""


@dataclass(frozen=True, slots=True)
class Windowed:
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


@dataclass(frozen=True, slots=True)
class Convolution(Windowed):
    """NPU_OP_CONV and NPU_OP_DEPTHWISE; one weight and scale stream for each core."""

    depthwise: bool
    weights: tuple[Stream, ...]
    scales: tuple[Stream, ...]
    layout: WeightLayout


@dataclass(frozen=True, slots=True)
class Pool(Windowed):
    """NPU_OP_POOL."""

    mode: PoolingMode


@dataclass(frozen=True, slots=True)
class Elementwise:
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


@dataclass(frozen=True, slots=True)
class Dma:
    """NPU_OP_DMA_START; a region of None is SHRAM. `sizes` counts (rows, planes)."""

    source: tuple[int | None, int]
    destination: tuple[int | None, int]
    length: int
    source_dims: int
    destination_dims: int
    sizes: tuple[int, int]
    skips: tuple[int, int]


Operation = Convolution | Pool | Elementwise | Dma


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
