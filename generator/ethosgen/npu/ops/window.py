"""What convolution and pooling do alike: upscale, pad, and slide a window."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ethosgen.npu import feature_map
from ethosgen.npu.isa import IfmUpscaleMode
from ethosgen.npu.operation import Windowed
from ethosgen.npu.ops.context import Context


def padded_ifm(
    context: Context, operation: Windowed, dtype: DTypeLike, fill: float = 0
) -> NDArray[Any]:
    """Return the IFM less its zero point, upscaled and padded with `fill`: (H, W, C) of dtype."""
    fm, padding = operation.ifm, operation.padding
    values = feature_map.read(context.bus, fm, context.base(fm.region), operation.ifm_shape)
    height, width = operation.upscaled_size
    shape = (
        padding.top + height + padding.bottom,
        padding.left + width + padding.right,
        operation.ifm_depth,
    )
    feature_map.check_size(shape)
    result: NDArray[Any] = np.full(shape, fill, dtype) if padding.any else np.empty(shape, dtype)
    inner = result[padding.top : padding.top + height, padding.left : padding.left + width]
    zero_point = inner.dtype.type(fm.zero_point)
    if operation.upscale is IfmUpscaleMode.NEAREST:
        for y in range(2):
            for x in range(2):
                part = inner[y::2, x::2]
                used = values[: part.shape[0], : part.shape[1]]
                np.subtract(used, zero_point, out=part, casting="unsafe")
    elif operation.upscale is IfmUpscaleMode.ZEROS:
        inner[...] = 0
        np.subtract(values, zero_point, out=inner[::2, ::2], casting="unsafe")
    else:
        np.subtract(values, zero_point, out=inner, casting="unsafe")
    return result


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
