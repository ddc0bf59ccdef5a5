"""Bounds of the simulator's own time for U85's operations; see simulator/effort.py."""

import math

from ethosgen.backend.ethosu.simulator.effort import (
    BYTE_NS,
    GATHERED_NS,
    READ_NS,
    RESULT_NS,
    nanoseconds,
    padded_elements,
)
from ethosgen.backend.ethosu.simulator.u85.operation import (
    Resize,
    U85Dma,
    U85Elementwise,
    U85Pool,
)


@nanoseconds.register
def _(operation: U85Dma) -> float:
    return BYTE_NS * operation.bytes


@nanoseconds.register
def _(operation: U85Elementwise | Resize) -> float:
    return RESULT_NS * math.prod(operation.ofm.shape)


@nanoseconds.register
def _(operation: U85Pool) -> float:
    height, width, _ = operation.ofm.shape
    gathered = height * width * math.prod(operation.kernel.size) * operation.ifm_depth
    results = RESULT_NS * math.prod(operation.ofm.shape)
    return results + READ_NS * padded_elements(operation) + GATHERED_NS * gathered
