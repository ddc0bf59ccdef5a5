"""The blocks in which U85 processes feature maps, as in Regor's ethos_u85.cpp."""

import math

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa import IfmUpscaleMode, PoolingMode
from ethosgen.backend.ethosu.isa_u85 import Microblock, U85PoolingMode
from ethosgen.backend.ethosu.simulator.cycles import ceil_div, clipped
from ethosgen.backend.ethosu.simulator.operation import FeatureMap, Operation, Shape
from ethosgen.backend.ethosu.simulator.u85.operation import (
    U85Convolution,
    U85Layout,
    U85Output,
    U85Pool,
)
from ethosgen.backend.ethosu.simulator.u85.state import UBLOCK_DEPTHS, depth_first_depth
from ethosgen.values.multiples import pieces, rounded_up

Kernel = U85Convolution | U85Pool

_SUB_KERNEL = 8
_Area = tuple[int, int]
_Areas = tuple[_Area, _Area, _Area]
_NARROW_BITS, _MEDIUM_BITS = 128, 256
_WIDE: dict[int, _Areas] = {
    128: ((1, 2), (1, 1), (1, 1)),
    256: ((2, 2), (1, 2), (1, 1)),
    512: ((2, 2), (1, 2), (1, 1)),
    1024: ((2, 4), (2, 2), (1, 2)),
    2048: ((4, 4), (2, 4), (2, 2)),
}
"""Height and width of the IFM's microblock, by MACs: for a depth of up to 128 bits, of up to 256,
and above."""
_FLAT: dict[int, _Areas] = {
    256: ((1, 4), (1, 2), (1, 1)),
    512: ((1, 4), (1, 2), (1, 1)),
    1024: ((2, 4), (1, 4), (1, 2)),
    2048: ((4, 4), (2, 4), (1, 4)),
}
"""The same for OFM microblocks of one row and four columns."""


def output_of(operation: Operation) -> U85Output:
    """Return the output stage of an operation that is not a copy."""
    assert isinstance(operation.ofm, U85Output)
    return operation.ofm


def source_of(operation: Kernel) -> FeatureMap:
    """Return the feature map that an operation reads; without a kernel, that is IFM2."""
    accumulated = operation.accumulators.ifm2
    is_copy = isinstance(operation, U85Pool) and operation.mode is U85PoolingMode.NONE
    return accumulated if is_copy and accumulated is not None else operation.ifm


def bits_of(dtype: str) -> int:
    """Return the bits of an element."""
    return 8 * int(dtype[-1])


def microblock(accelerator: EthosU, block: Microblock) -> Shape:
    """Return the shape of an OFM microblock."""
    height, width = block.name[1:].split("X")
    return int(height), int(width), UBLOCK_DEPTHS[accelerator.macs][block]


def units_of(operation: Kernel, accelerator: EthosU, shape: Shape) -> Shape:
    """Return the microblocks of a block of an OFM of this shape, along each axis."""
    ofm = output_of(operation)
    return ceil_div(clipped(ofm.block, shape), microblock(accelerator, ofm.microblock))


def block_count(operation: Kernel, accelerator: EthosU, shape: Shape) -> float:
    """Return the number of blocks; those at the edges count by their microblocks."""
    unit = microblock(accelerator, output_of(operation).microblock)
    return math.prod(ceil_div(shape, unit)) / math.prod(units_of(operation, accelerator, shape))


def ifm_block(operation: Kernel, accelerator: EthosU) -> Shape:
    """Return the part of the IFM that a block of the OFM needs, in whole microblocks."""
    ofm, kernel = output_of(operation), operation.kernel
    factor = 1 if operation.upscale is IfmUpscaleMode.NONE else 2
    rounding = operation.upscale is IfmUpscaleMode.NEAREST
    height, width = (
        pieces((size - 1) * stride + min(extent, _SUB_KERNEL) + rounding, factor)
        for size, stride, extent in zip(ofm.block[:2], kernel.stride, kernel.dilated, strict=True)
    )
    depth = ifm_block_depth(operation, accelerator)
    bits = depth * bits_of(source_of(operation).dtype)
    unit = _ifm_microblock(accelerator, ofm.microblock, bits)
    return rounded_up(height, unit[0]), rounded_up(width, unit[1]), depth


def ifm_block_depth(operation: Kernel, accelerator: EthosU) -> int:
    """Return the depth of the IFM's block."""
    ofm = output_of(operation)
    if isinstance(operation, U85Convolution) and not operation.depthwise:
        assert isinstance(operation.layout, U85Layout)
        return operation.layout.ifm_block_depth
    if isinstance(operation, U85Pool) and operation.mode is PoolingMode.REDUCE_SUM:
        unit_depth = UBLOCK_DEPTHS[accelerator.macs][ofm.microblock]
        return depth_first_depth(bits_of(operation.ifm.dtype), accelerator.macs, unit_depth)
    return ofm.block[2]


def _ifm_microblock(accelerator: EthosU, block: Microblock, depth_bits: int) -> _Area:
    tables = _FLAT if block is Microblock.U1X4 else _WIDE
    areas = tables[accelerator.macs]
    return areas[(depth_bits > _NARROW_BITS) + (depth_bits > _MEDIUM_BITS)]
