"""The output stage: zero point, clipping, activation functions, and the write."""

import dataclasses
from collections.abc import Callable

import numpy as np

from ethosgen.errors import NpuFault
from ethosgen.npu import feature_map
from ethosgen.npu.isa import ActivationClipRange, ActivationFunction, OfmScaleMode
from ethosgen.npu.operation import Activation, Output
from ethosgen.npu.ops import curves
from ethosgen.npu.ops.context import Context
from ethosgen.npu.scaling import Ints, rescale

_FORCED = {
    ActivationClipRange.FORCE_UINT8: (0, 255),
    ActivationClipRange.FORCE_INT8: (-128, 127),
    ActivationClipRange.FORCE_INT16: (-32768, 32767),
}
_CURVES = {ActivationFunction.TANH: curves.tanh, ActivationFunction.SIGMOID: curves.sigmoid}
_LUT8_ENTRIES = 256
_LUT16_ENTRIES = 512
_LUT16_FRACTION_BITS = 7
_CHUNK_ELEMENTS = 1 << 15


def scale_globally(values: Ints, ofm: Output) -> Ints:
    """Apply OFM_SCALE where the operation asks for it."""
    if ofm.scale_mode is not OfmScaleMode.GLOBAL or (ofm.scale.scale, ofm.scale.shift) == (1, 0):
        return values
    return rescale(values, ofm.scale.scale, ofm.scale.shift, ofm.rounding)


def finish(context: Context, ofm: Output, values: Ints) -> None:
    """Add the zero point to scaled values, activate, and write the OFM."""
    zero_point = effective_zero_point(ofm)
    shifted = values + zero_point if zero_point else values
    activated = activate(context, ofm, shifted)
    data = activated.astype(ofm.fm.dtype)
    feature_map.write(context.bus, ofm.fm, context.base(ofm.fm.region), data)


def finish_rows(context: Context, ofm: Output, scaled: Callable[[slice], Ints]) -> None:
    """Finish as `finish` does, some rows at a time: in int64 all of them take much memory."""
    height, width, depth = ofm.shape
    zero_point = effective_zero_point(ofm)
    data = np.empty(ofm.shape, ofm.fm.dtype)
    step = max(1, _CHUNK_ELEMENTS // (width * depth))
    for top in range(0, height, step):
        rows = slice(top, top + step)
        values = scaled(rows)
        data[rows] = activate(context, ofm, values + zero_point if zero_point else values)
    feature_map.write(context.bus, ofm.fm, context.base(ofm.fm.region), data)


def effective_zero_point(ofm: Output) -> int:
    """Return what is added to results: OFM_ZERO_POINT, but nothing to 32 bits without a look-up.

    Regor demands 0 there (SupportedZeroPoint, ethos_u55_constraints.cpp). Velas up to 4.2, and
    Regor's predecessor in 5.2, leave a softmax's zero point in it and rely on it being ignored.
    """
    wide = np.dtype(ofm.fm.dtype).itemsize == 4
    is_plain = ofm.activation.function == ActivationFunction.RELU
    return 0 if wide and is_plain else ofm.fm.zero_point


def clip_limits(ofm: Output) -> tuple[int, int]:
    """Return the range that ACTIVATION, ACTIVATION_MIN and ACTIVATION_MAX leave.

    ACTIVATION_MIN and MAX have 16 bits, so a 32-bit OFM is clipped by them only if the clip range
    is forced.
    """
    info = np.iinfo(ofm.fm.dtype)
    low, high = int(info.min), int(info.max)
    activation = ofm.activation
    if activation.clip_range is ActivationClipRange.OFM_PRECISION:
        if info.bits == 32:
            return low, high
    else:
        forced = _FORCED[activation.clip_range]
        low, high = max(low, forced[0]), min(high, forced[1])
    return (
        min(max(low, activation.minimum), high),
        max(min(high, activation.maximum), low),
    )


def activate(context: Context, ofm: Output, values: Ints) -> Ints:
    """Apply the activation function, and clip; a table is indexed by clipped values."""
    curve = _CURVES.get(ActivationFunction(ofm.activation.function))
    if curve is not None:
        if np.dtype(ofm.fm.dtype) != np.int16:
            raise NpuFault("parse", "TANH and SIGMOID are modelled for 16-bit signed OFMs only")
        values = curve(values)
    low, high = clip_limits(ofm)
    clipped = np.minimum(np.maximum(values, low), high)
    slot = ofm.activation.table
    return clipped if slot is None else _look_up(context, ofm, slot, clipped)


def _look_up(context: Context, ofm: Output, slot: int, values: Ints) -> Ints:
    low, high = _index_range(ofm)
    entries, dtype = table_format(ofm)
    if entries == _LUT8_ENTRIES:
        index = values + 128 if low < 0 else values
        result: Ints = context.table(slot, entries, dtype)[index]
        return result
    if np.dtype(ofm.fm.dtype) != np.int16:
        raise NpuFault("parse", f"a table cannot be indexed by a range of {low}..{high}")
    return _interpolate(context.table(slot, entries, dtype), values)


def table_format(ofm: Output) -> tuple[int, str]:
    """Return the number of entries of an operation's table, and their dtype."""
    low, high = _index_range(ofm)
    if high - low < _LUT8_ENTRIES:
        return _LUT8_ENTRIES, ofm.fm.dtype
    return _LUT16_ENTRIES, "<u4"


def _index_range(ofm: Output) -> tuple[int, int]:
    return clip_limits(dataclasses.replace(ofm, activation=_unlimited(ofm.activation)))


def _unlimited(activation: Activation) -> Activation:
    return dataclasses.replace(activation, minimum=-(1 << 16), maximum=1 << 16)


def _interpolate(table: Ints, values: Ints) -> Ints:
    """Look 16-bit values up: an entry is a base in its low and a slope in its high half."""
    offset = values + 32768
    entry = table[offset >> _LUT16_FRACTION_BITS]
    base = (entry & 0xFFFF ^ 0x8000) - 0x8000
    slope = (entry >> 16 ^ 0x8000) - 0x8000
    fraction = offset & (1 << _LUT16_FRACTION_BITS) - 1
    result: Ints = base + (slope * fraction + 64 >> _LUT16_FRACTION_BITS)
    return result
