"""NPU_OP_RESIZE: TOSA's RESIZE with a shift of the result."""

import numpy as np

from ethosgen.backend.ethosu.isa_u85 import ResizeMode
from ethosgen.backend.ethosu.simulator.feature_map import Placed, check_size
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.ops.output import OutputTarget, finisher
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale
from ethosgen.backend.ethosu.simulator.u85.operation import Resize, ResizeAxis
from ethosgen.values.errors import NpuFault

_FRACTION_BITS = 16
"""OFM_SCALE shifts the result by so many bits more than TOSA's RESIZE needs."""


def prepare(context: Context, operation: Resize, ofm: OutputTarget) -> Action:
    """Return a function that resizes."""
    if operation.mode is ResizeMode.REPLICATE:
        raise NpuFault("parse", "RESIZE with mode REPLICATE is not modelled for Ethos-U85")
    scale = operation.ofm.scale
    if scale.scale != 1 or scale.shift < _FRACTION_BITS:
        raise NpuFault("parse", "RESIZE needs OFM_SCALE to be a shift of at least 16 bits")
    before, after = operation.ifm_shape[2], operation.ofm.shape[2]
    if before != after:
        raise NpuFault("parse", f"RESIZE cannot have IFM and OFM depths {before} and {after}")
    fm = operation.ifm
    placed = Placed(context.bus, fm, context.base(fm.region), operation.ifm_shape)
    rescale = Rescale(1, scale.shift - _FRACTION_BITS, operation.ofm.rounding)
    finish = finisher(context, operation.ofm, ofm)
    height, width, depth = operation.ofm.shape
    check_size((height, operation.ifm_shape[1], depth))  # between the two axes
    rows = _taps(operation.vertical, height, operation.ifm_shape[0], operation.mode)
    columns = _taps(operation.horizontal, width, operation.ifm_shape[1], operation.mode)

    def run() -> None:
        values = placed.read().astype(np.int64) - fm.zero_point
        tall = _combine(values, *rows, axis=0)
        finish(rescale(_combine(tall, *columns, axis=1)))

    return run


def _taps(
    axis: ResizeAxis, size: int, limit: int, mode: ResizeMode
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return two positions of the IFM for each of the OFM, and their weights."""
    at = np.arange(size, dtype=np.int64) * axis.step + axis.offset
    low, rest = at // axis.scale, at % axis.scale
    if mode is ResizeMode.NEAREST:
        nearest = np.clip(np.where(2 * rest >= axis.scale, low + 1, low), 0, limit - 1)
        return nearest, nearest, np.ones_like(at), np.zeros_like(at)
    first, second = np.clip(low, 0, limit - 1), np.clip(low + 1, 0, limit - 1)
    return first, second, axis.scale - rest, rest


def _combine(values: Ints, first: Ints, second: Ints, weight: Ints, other: Ints, axis: int) -> Ints:
    shape = (-1, 1, 1) if axis == 0 else (1, -1, 1)
    lower = values.take(first, axis) * weight.reshape(shape)
    result: Ints = lower + values.take(second, axis) * other.reshape(shape)
    return result
