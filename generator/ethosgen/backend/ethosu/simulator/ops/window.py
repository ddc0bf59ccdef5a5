"""The common part of convolution and pooling: upscale, pad, and slide a window."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa import IfmUpscaleMode
from ethosgen.backend.ethosu.simulator import feature_map
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.operation import Windowed
from ethosgen.backend.ethosu.simulator.ops.context import Context

Padded = Callable[[], NDArray[Any]]


def place_ifm(context: Context, operation: Windowed) -> Placed:
    """Return the IFM in memory, after a check of its padded size."""
    fm = operation.ifm
    placed = Placed(context.bus, fm, context.base(fm.region), operation.ifm_shape)
    feature_map.check_size(padded_shape(operation))
    return placed


def padded_shape(operation: Windowed) -> tuple[int, int, int]:
    """Return the shape of the IFM, upscaled and padded."""
    padding = operation.padding
    height, width = operation.upscaled_size
    return (
        padding.top + height + padding.bottom,
        padding.left + width + padding.right,
        operation.ifm_depth,
    )


def padder(
    operation: Windowed, ifm: Placed, dtype: np.dtype[Any], inserted: int, fill: int
) -> Padded:
    """Return a function from an IFM to (H, W, C) of `dtype`, upscaled and padded with `fill`.

    `inserted` is the value that upscaling by ZEROS inserts between elements. The result may be a
    view of the memory.
    """
    padding, upscale = operation.padding, operation.upscale
    height, width = operation.upscaled_size
    shape = padded_shape(operation)
    rows = slice(padding.top, padding.top + height)
    columns = slice(padding.left, padding.left + width)

    def pad() -> NDArray[Any]:
        result = np.full(shape, fill, dtype)
        inner = result[rows, columns]
        if upscale is IfmUpscaleMode.NONE:
            ifm.read_rows(inner, 0)
            return result
        values = ifm.read()
        if upscale is IfmUpscaleMode.ZEROS:
            inner[...] = inserted
            inner[::2, ::2] = values
            return result
        for y in range(2):
            for x in range(2):
                part = inner[y::2, x::2]
                part[...] = values[: part.shape[0], : part.shape[1]]
        return result

    if padding.any or upscale is not IfmUpscaleMode.NONE:
        return pad
    whole = ifm.whole
    if whole is None or whole.dtype != dtype:
        return lambda: ifm.read().astype(dtype, copy=False)
    return lambda: whole


def windows(operation: Windowed, padded: NDArray[Any]) -> NDArray[Any]:
    """Return a view of all windows: (OFM height, OFM width, kernel height, kernel width, depth)."""
    kernel = operation.kernel
    height, width, _ = operation.ofm.shape
    stride_y, stride_x, stride_c = padded.strides
    return np.lib.stride_tricks.as_strided(
        padded,
        (height, width, *kernel.size, padded.shape[2]),
        (
            stride_y * kernel.stride[0],
            stride_x * kernel.stride[1],
            stride_y * kernel.dilation[0],
            stride_x * kernel.dilation[1],
            stride_c,
        ),
        writeable=False,
    )
