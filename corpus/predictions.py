"""What the NPU must yield where Vela asks it for something else: worked out with numpy alone.

Each function says whether all outputs are as predicted. Predictions are for networks of the one
operator; others cannot be refuted so, and are taken.
"""

import math
from collections.abc import Iterator

import numpy as np

from corpus.conditions import axes, constant
from corpus.evidence import Array, Evidence
from ethosgen.model import Operator, Tensor

_LAST_SEGMENT = 128
"""Of a 16-bit table: 512 segments over 65,536 values."""


def _only(found: Evidence, *codes: str) -> Operator | None:
    """Return the network's operator if it is its only one, and of these kinds."""
    if len(found.graph.operators) == 1 and found.graph.operators[0].code in codes:
        return found.graph.operators[0]
    return None


def _cases(found: Evidence, op: Operator) -> Iterator[tuple[list[Array], Array, Array]]:
    """Yield each sample's inputs of an operator, its output, and what the oracle says."""
    tensors = found.graph.tensors
    for sample, output, golden in zip(found.samples, found.outputs, found.golden, strict=True):
        inputs = [
            tensors[i].array() if tensors[i].data is not None else sample[tensors[i].name]
            for i in op.inputs
        ]
        yield inputs, output[tensors[op.outputs[0]].name], golden[0]


def _parameters(tensor: Tensor) -> tuple[float, int]:
    known = tensor.quantization
    if known is None or not known.scale:
        return 1.0, 0
    return float(known.scale[0]), int(known.zero_point[0])


def transposed_below_128(found: Evidence) -> bool:
    """A uint8 transposition: values from 128 on become 0."""
    op = _only(found, "TRANSPOSE")
    return op is None or all(
        np.array_equal(out, np.where(golden > 127, 0, golden))
        for _, out, golden in _cases(found, op)
    )


def shifted_product(found: Evidence) -> bool:
    """A 32-bit product: shifted right by 30, half up."""
    op = _only(found, "MUL")
    if op is None:
        return True
    return all(
        np.array_equal(out, x.astype(np.int64) * y.astype(np.int64) + (1 << 29) >> 30)
        for (x, y), out, _ in _cases(found, op)
    )


def mirrored_in_plane(found: Evidence) -> bool:
    """A mirrored tensor: height and width are padded, and the rest is at offset 0."""
    op = _only(found, "MIRROR_PAD")
    if op is None:
        return True
    rank = len(found.graph.tensors[op.inputs[0]].shape)
    amounts = np.reshape(constant(found.graph, op, 1), (rank, 2)).tolist()
    plane = [amounts[a] if a in (rank - 3, rank - 2) else [0, 0] for a in range(rank)]
    mode = "reflect" if op.options.get("mode", "REFLECT") == "REFLECT" else "symmetric"
    for (x, *_), out, _golden in _cases(found, op):
        wanted = np.pad(x, plane, mode)  # type: ignore[call-overload]
        if not np.array_equal(out[tuple(slice(n) for n in wanted.shape)], wanted):
            return False
    return True


def summed(found: Evidence) -> bool:
    """A SUM: over the first axis only, as many as there is room for, rounded once, half up."""
    op = _only(found, "SUM")
    if op is None:
        return True
    x, y = found.graph.tensors[op.inputs[0]], found.graph.tensors[op.outputs[0]]
    (scale, point), (out_scale, out_point) = _parameters(x), _parameters(y)
    factor, shift = _factor(scale / out_scale)
    info = np.iinfo(y.dtype)
    for (values, *_), out, _golden in _cases(found, op):
        sums = (values.astype(np.int64) - point).sum(axis=axes(found.graph, op)[0]).reshape(-1)
        steps = [
            int(total) * factor + (1 << shift - 1) >> shift if shift > 0 else int(total) * factor
            for total in sums[: out.size]
        ]
        if not np.array_equal(
            out.reshape(-1), np.clip(np.add(steps, out_point), info.min, info.max)
        ):
            return False
    return True


def _factor(real: float) -> tuple[int, int]:
    """Return a factor of 31 bits and a shift, as Vela writes scales."""
    mantissa, exponent = math.frexp(real)
    factor = round(mantissa * (1 << 31))
    return (factor, 31 - exponent) if factor < 1 << 31 else (factor // 2, 30 - exponent)


def slid(found: Evidence) -> bool:
    """A reduction that drops its axis: windows that begin at each of the output's columns.

    The output's shape, filled up to the input's rank, is taken apart around the reduced axis into
    rows, columns and the rest, the input likewise. A window is as wide as the axis; it ends with
    the row, and is empty behind that.
    """
    op = _only(found, "REDUCE_MAX", "REDUCE_MIN")
    if op is None:
        return True
    *before, axis = sorted(axes(found.graph, op))
    reduce = np.maximum if op.code == "REDUCE_MAX" else np.minimum
    for (x, *_), out, _golden in _cases(found, op):
        info = np.iinfo(x.dtype)
        empty = info.min if op.code == "REDUCE_MAX" else info.max
        kept = reduce.reduce(x, axis=tuple(before), keepdims=True) if before else x
        shape = (1,) * (x.ndim - out.ndim) + out.shape
        rest = math.prod(kept.shape[axis + 1 :])
        data = kept.reshape(-1, kept.shape[axis], rest)
        rows, columns = math.prod(shape[:axis]), shape[axis]
        wanted = np.full((rows, columns, rest), empty, x.dtype)
        for column in range(min(columns, data.shape[1])):
            wanted[:, column] = reduce.reduce(data[:rows, column:], axis=1)
        if not np.array_equal(out.reshape(-1), wanted.reshape(-1)):
            return False
    return True


def first_slice(found: Evidence) -> bool:
    """A PACK of seven dimensions: the first of the outermost slices is right."""
    op = _only(found, "PACK")
    return op is None or all(
        np.array_equal(out[0], golden[0]) for _, out, golden in _cases(found, op)
    )


def saturated_squares(found: Evidence) -> bool:
    """A squared difference: only what exceeds 32 bits differs, and the NPU saturates there."""
    op = _only(found, "SQUARED_DIFFERENCE")
    if op is None:
        return True
    tensors = found.graph.tensors
    scales = [_parameters(tensors[i])[0] for i in op.inputs]
    out_scale, _ = _parameters(tensors[op.outputs[0]])
    unit = (2 * max(scales)) ** 2
    power = 2.0 ** math.frexp(unit / out_scale)[1]  # TFLite Micro's left shift of the square
    high = int(np.iinfo(tensors[op.outputs[0]].dtype).max)
    for (x, y), out, golden in _cases(found, op):
        square = (x * scales[0] - y * scales[1]) ** 2 / unit
        if not np.all((out == golden) | ((square * power > 0.999 * 2**31) & (out == high))):
            return False
    return True


def only_in_last_segment(found: Evidence) -> bool:
    """A 16-bit table: only inputs of its last segment differ."""
    op = _only(found, "LOG")
    return op is None or all(
        np.all((out == golden) | (x >= 32768 - _LAST_SEGMENT))
        for (x, *_), out, golden in _cases(found, op)
    )
