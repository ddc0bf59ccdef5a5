"""An estimate of the seconds that the model itself needs, so that no stream keeps it for ever.

A stream has no jumps, but a few words may ask for any amount of work: strides of 0 make large
feature maps out of a few bytes, and an operation may be started over and over. The rates are
nanoseconds on one core of a server of 2021; they bound what real and mutated streams took there.
"""

import math

from ethosgen.npu.operation import Convolution, Dma, Elementwise, Operation, Windowed

_STEP_NS = 120_000
_PRODUCT_NS = 0.1
_DEPTHWISE_PRODUCT_NS = 1.5
_GATHERED_NS = 1.5
"""For each element that a window gathers in front of a matrix product, or that is pooled."""
_READ_NS = 3.0
_RESULT_NS = 60.0
"""For each element of the OFM: scaling, activation, clipping."""
_WEIGHT_NS = 300.0
"""Decoding, at its first use; kept from then on, which is not counted on."""
_BYTE_NS = 0.5


def seconds(operation: Operation) -> float:
    """Return about how long the model takes for an operation; far too long is told as well."""
    return (_STEP_NS + _nanoseconds(operation)) / 1e9


def _nanoseconds(operation: Operation) -> float:
    if isinstance(operation, Dma):
        return _BYTE_NS * operation.length * max(1, operation.sizes[0]) * max(1, operation.sizes[1])
    results = _RESULT_NS * math.prod(operation.ofm.shape)
    if isinstance(operation, Elementwise):
        return results
    height, width, depth = operation.ofm.shape
    taps = math.prod(operation.kernel.size)
    gathered = height * width * taps * operation.ifm_depth
    total = results + _READ_NS * _padded(operation)
    if not isinstance(operation, Convolution):
        return total + _GATHERED_NS * gathered
    if operation.depthwise:
        return total + _DEPTHWISE_PRODUCT_NS * gathered + _WEIGHT_NS * taps * depth
    weights = _WEIGHT_NS * taps * operation.ifm_depth * depth
    return total + _GATHERED_NS * gathered + _PRODUCT_NS * gathered * depth + weights


def _padded(operation: Windowed) -> int:
    padding = operation.padding
    height, width = operation.upscaled_size
    rows = max(0, padding.top + height + padding.bottom)
    return rows * max(0, padding.left + width + padding.right) * operation.ifm_depth
