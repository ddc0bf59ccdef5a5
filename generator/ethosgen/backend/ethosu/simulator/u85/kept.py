"""The results that U85's operations leave in the NPU for later ones, and constants, for a trace."""

import math
from collections import Counter

import numpy as np

from ethosgen.backend.ethosu.isa_u85 import AccInput
from ethosgen.backend.ethosu.simulator.operation import Operation
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.u85.operation import (
    Chained,
    ScalarOperand,
    Scaled,
    U85Convolution,
    U85Dma,
    U85Elementwise,
    U85Output,
    U85Pool,
)
from ethosgen.backend.ethosu.simulator.u85.ops.dma import chosen_rows
from ethosgen.backend.ethosu.simulator.u85.weights import decode_records
from ethosgen.backend.trace import Arrays

CHAIN = "chain"
"""Stands for the chaining buffers in place of a region's number."""


def sizes(operation: Operation, writes: bool) -> Counter[str]:
    """Return the bytes that an operation reads from chaining buffers, or writes to them."""
    ofm = operation.ofm
    if not isinstance(ofm, U85Output):
        return Counter()
    if writes:
        shapes = [(ofm.shape, ofm.fm.dtype)] if ofm.chain is not None and ofm.enabled else []
    else:
        chained = [(access, access.operand) for access in _operands(operation).values()]
        shapes = [
            (access.shape(ofm.shape), operand.dtype)
            for access, operand in chained
            if isinstance(operand, Chained)
        ]
    total = sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in shapes)
    return Counter({CHAIN: total} if total else {})


def arrays(context: Context, operation: Operation) -> Arrays:
    """Return the operands that are not in feature maps in memory."""
    kept: Arrays = {}
    for name, operand in _operands(operation).items():
        if isinstance(operand.operand, Chained) and operand.operand.buffer in context.inner.buffers:
            kept[name] = context.inner.buffers[operand.operand.buffer].copy()
        if isinstance(operand.operand, ScalarOperand):
            kept[name] = np.array(operand.operand.value)
    if isinstance(operation, U85Convolution | U85Pool):
        started = context.inner.accumulators
        if operation.accumulators.source is AccInput.KEEP and started is not None:
            kept["accumulators"] = started.copy()
    if isinstance(operation, U85Pool) and operation.scales:
        data, ofm = context.read_stream(operation.scales[0]), operation.ofm
        kept |= decode_records(data, ofm.shape[2], bool(ofm.acc_format)).arrays
    if isinstance(operation, U85Dma):
        rows = chosen_rows(context, operation)
        if rows is not None:
            kept["indices"] = rows.copy()
    return kept


def _operands(operation: Operation) -> dict[str, Scaled]:
    return operation.operands if isinstance(operation, U85Elementwise) else {}
