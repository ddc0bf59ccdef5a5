"""NPU_OP_CONV and NPU_OP_DEPTHWISE: sums of products, exact on floating-point hardware.

All products are integers. As long as the largest possible sum of magnitudes is below 2**24 (2**53),
every partial sum is exact in float32 (float64), whatever the order of additions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.errors import NpuFault
from ethosgen.npu.isa import OfmScaleMode
from ethosgen.npu.operation import Convolution
from ethosgen.npu.ops.context import Context, Filter
from ethosgen.npu.ops.output import finish_rows, scale_globally
from ethosgen.npu.ops.window import padded_ifm, windows
from ethosgen.npu.scaling import Ints, rescale

_EXACT_FLOAT32 = 1 << 24
_EXACT_FLOAT64 = 1 << 53
_MAX_TAPS = 64 * 64
_MAX_MACS = 1 << 34
_MAX_DEPTHWISE_MACS = 1 << 31
_CHUNK_BYTES = 1 << 20


def run(context: Context, operation: Convolution) -> int:
    """Carry out a convolution; returns its number of multiplications.

    The order of arithmetic: sum of (ifm - zero point) * weight, bias, scale, zero point, clip.
    """
    macs = count_macs(operation)
    taps = operation.kernel.size[0] * operation.kernel.size[1]
    if taps > _MAX_TAPS:
        raise NpuFault("parse", f"a kernel of {taps} elements is larger than any Ethos-U takes")
    if macs > (_MAX_DEPTHWISE_MACS if operation.depthwise else _MAX_MACS):
        raise NpuFault("timeout", f"{macs} multiplications in one operation are beyond the model")
    weights = context.filter(operation)
    records = context.records(operation)
    reach = _reach(operation, weights)
    dtype = _exact_dtype(reach)
    padded = padded_ifm(context, operation, dtype)
    if operation.depthwise:
        sums = _depthwise_sums(operation, weights, padded)
    else:
        sums = _conv_sums(operation, weights, padded)
    bound = reach + int(np.abs(records.bias).max(initial=0))

    def scaled(rows: slice) -> Ints:
        accumulators = sums[rows].astype(np.int64)
        accumulators += records.bias
        if operation.ofm.scale_mode is not OfmScaleMode.PER_CHANNEL:
            return scale_globally(accumulators, operation.ofm)
        rounding = operation.ofm.rounding
        return rescale(accumulators, records.scale, records.shift, rounding, bound=bound)

    finish_rows(context, operation.ofm, scaled)
    return macs


def count_macs(operation: Convolution) -> int:
    """Return the number of multiplications, without those that only pad."""
    height, width, depth = operation.ofm.shape
    kernel = operation.kernel.size[0] * operation.kernel.size[1]
    return height * width * depth * kernel * (1 if operation.depthwise else operation.ifm_depth)


def _exact_dtype(reach: int) -> type[np.floating[Any]]:
    """Return the narrowest floating type that holds sums of up to `reach` exactly."""
    if reach <= _EXACT_FLOAT32:
        return np.float32
    if reach > _EXACT_FLOAT64:
        raise NpuFault("parse", "the accumulators of this operation exceed 53 bits")
    return np.float64


def _reach(operation: Convolution, weights: Filter) -> int:
    """Return the largest magnitude that a sum of products can have."""
    info = np.iinfo(operation.ifm.dtype)
    zero_point = operation.ifm.zero_point
    return max(int(info.max) - zero_point, zero_point - int(info.min)) * weights.reach


def _conv_sums(operation: Convolution, weights: Filter, padded: NDArray[Any]) -> NDArray[Any]:
    matrix = weights.of(padded.dtype.type)
    height, width, depth = operation.ofm.shape
    kernel = operation.kernel
    if kernel.size == (1, 1) and kernel.stride == (1, 1):
        pixels: NDArray[Any] = padded.reshape(height * width, -1) @ matrix
        return pixels.reshape(operation.ofm.shape)
    view = windows(operation, padded)
    result = np.empty((height, width, depth), padded.dtype)
    row_bytes = width * matrix.shape[0] * padded.itemsize
    rows = max(1, _CHUNK_BYTES // row_bytes)
    for top in range(0, height, rows):
        chunk = view[top : top + rows]
        columns = chunk.reshape(-1, matrix.shape[0])
        result[top : top + rows] = (columns @ matrix).reshape(-1, width, depth)
    return result


def _depthwise_sums(operation: Convolution, weights: Filter, padded: NDArray[Any]) -> NDArray[Any]:
    matrix = weights.of(padded.dtype.type)
    view = windows(operation, padded)
    result = np.zeros(operation.ofm.shape, padded.dtype)
    width = operation.kernel.size[1]
    step = max(1, _CHUNK_BYTES // max(1, result[:1].nbytes))
    for top in range(0, result.shape[0], step):
        rows = slice(top, top + step)
        product = np.empty_like(result[rows])
        for tap in range(matrix.shape[0]):
            np.multiply(view[rows, :, tap // width, tap % width], matrix[tap], out=product)
            result[rows] += product
    return result
