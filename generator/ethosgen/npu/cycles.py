"""A documented estimate of cycles.

Per operation the larger of two times: multiplications at the accelerator's MACs a cycle (one input
and one output micro-block at a time, so depths count in full micro-blocks), and one element a cycle
for each output element and 8 bytes a cycle for copies. It leaves out memory latency and what the
hardware overlaps, so it is a guide to where time goes, not a measurement.
"""

from ethosgen.accelerator import Accelerator
from ethosgen.npu.operation import Convolution, Dma, Operation

_BYTES_PER_CYCLE = 8
_UBLOCK_DEPTH = 8


def estimate(accelerator: Accelerator, operation: Operation) -> int:
    """Return the estimated cycles of one operation."""
    if isinstance(operation, Dma):
        return -(-operation.length // _BYTES_PER_CYCLE)
    height, width, depth = operation.ofm.shape
    elements = height * width * depth
    if not isinstance(operation, Convolution):
        return elements
    kernel = operation.kernel.size[0] * operation.kernel.size[1]
    padded = -(-depth // _UBLOCK_DEPTH) * _UBLOCK_DEPTH
    inputs = 1 if operation.depthwise else -(-operation.ifm_depth // _UBLOCK_DEPTH) * _UBLOCK_DEPTH
    macs = height * width * padded * kernel * inputs
    rate = accelerator.macs // (_UBLOCK_DEPTH if operation.depthwise else 1)
    return max(-(-macs // rate), elements // _UBLOCK_DEPTH)
