"""LOGISTIC, TANH and SOFTMAX of int16."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.dsp.shapes import DspCurveS16, DspSoftmaxS16
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.libraries.framework.recurrent import MOST_FACTOR, multiplier_of
from ethosgen.aot.operators.activation import argument_scale, sigmoid_table
from ethosgen.aot.operators.softmax import read_softmax_s16
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.quantization import scale_of
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

CURVE = frozenset({"ethosgen_dsp_curve_s16.c"})
LINES = 256
"""Lines on each side of the middle; the last is level."""
SOFTMAX = frozenset({"ethosgen_dsp_softmax_s16.c"})
MOST_DISTANCE = (1 << 16) - 1
MOST_DEPTH = 1 << 16
"""Exponentials whose sum fits into 32 bits."""


def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    return 11.5 + 40 / max(tensors[op.outputs[0]].elements, 1)


@packed("LOGISTIC", "TANH", dtype="int16", cycles=cycles)
def curves(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Evaluate each element's line."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    factor, shift = argument_scale(op.code, scale_of(source))
    if not 0 < factor <= MOST_FACTOR or target.dtype != "int16" or source.shape != target.shape:
        return None
    heights, slopes = signed_lines(op.code)
    is_tanh = int(op.code == "TANH")
    curve = DspCurveS16(factor=factor, half=1 << shift >> 1, shift=shift, is_tanh=is_tanh)
    nest = Nest()
    x = nest.read("input", source, (source.elements,))
    tables = [
        nest.table("heights", heights),
        nest.table("slopes", slopes),
        nest.table("shape", curve),
    ]
    y = nest.write("output", target, (source.elements,))
    places = tirx.address_of(y[0]), tirx.address_of(x[0])
    data = (table.data for table in tables)
    nest.call("ethosgen_dsp_curve_s16", *places, source.elements, *data)
    return nest.kernel(CURVE)


def signed_lines(code: str) -> tuple[Array, Array]:
    """Return the heights at 0 and the slopes of the lines of a curve, from the lowest argument.

    For an argument x, whose bits number the line and the place in it, height + x * slope is the
    value that TFLite Micro shifts to an output, plus half a unit. Its curve has only lines above 0
    and mirrors them; here there are lines below 0, too.
    """
    is_tanh = code == "TANH"
    bits, down = (8, 8) if is_tanh else (9, 10)
    whole = 1 << (16 + bits)
    half, lowered = 1 << (down - 1), whole >> 1 if is_tanh else 0
    table = sigmoid_table().astype(np.int64)
    slopes = np.append(np.diff(table), 0)
    above = (table << bits) - (np.arange(LINES) << bits) * slopes
    above[-1] = 0xFFFF << 8 if is_tanh else 0x7FFF << 10
    below = whole - above[::-1] + half - 1
    # At its lowest argument this line has the value of the level one before, which differs.
    if not is_tanh:
        below[1] += 1
    heights = np.concatenate([below - lowered, above + half - lowered])
    return heights.astype(np.int32), np.concatenate([slopes[::-1], slopes]).astype(np.int16)


def softmax_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    return 34.0 + 80 / max(tensors[op.outputs[0]].shape[-1], 1)


@packed("SOFTMAX", dtype="int16", cycles=softmax_cycles)
def softmax(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all rows by one call."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    parameters = read_softmax_s16(op, tensors)
    rows, depth = parameters.shape
    scale = multiplier_of(parameters.multiplier, MOST_DISTANCE)
    if scale is None or not 0 < depth <= MOST_DEPTH:
        return None
    nest = Nest()
    x = nest.read("input", source, (source.elements,))
    tables = [
        nest.table("exponentials", parameters.exponentials),
        nest.table("reciprocals", parameters.reciprocals),
        nest.table("shape", DspSoftmaxS16(depth=depth, scale=scale)),
    ]
    y = nest.write("output", target, (source.elements,))
    places = tirx.address_of(y[0]), tirx.address_of(x[0])
    nest.call("ethosgen_dsp_softmax_s16", *places, rows, *(table.data for table in tables))
    return nest.kernel(SOFTMAX)
