"""Inputs of operators without weights whose results are as near as possible to a tie of rounding.

There the kinds of rounding differ: once or twice, up or away from zero, down before a second
rounding.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ethosgen.samples.drawing import Array
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor

_TYPES = frozenset({"int8", "uint8", "int16"})
_COMBINE: Mapping[str, Callable[[Array, Array], Array]] = {
    "ADD": np.add.outer,
    "SUB": np.subtract.outer,
    "MUL": np.multiply.outer,
}
"""Operators of two inputs whose real result is that of a function of the real inputs."""
_RESCALE = frozenset({"QUANTIZE", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "ABS"})
_FINE = 512
"""Most values of one input that are tried."""
_PAIRS = _FINE**2
"""Most pairs that are tried: a tie of int16 is missed by a few millionths of a step."""
_RANKS = 16
"""The values of one input that are used beside one value of the other."""


def tie_inputs(operator: Operator, graph: Graph, inputs: Sequence[Tensor]) -> list[Array]:
    """Return values of the inputs, [] for other operators and types."""
    operands = [graph.tensors[i] for i in dict.fromkeys(operator.inputs) if i != ABSENT]
    y = graph.tensors[operator.outputs[0]]
    known = {t.dtype for t in (*operands, y)} <= _TYPES and all(map(_is_scaled, (*operands, y)))
    if not known or not all(t.elements for t in (*operands, y)):
        return []
    if operator.code in _RESCALE and len(operands) == len(inputs) == 1:
        return [_rescaled(operands[0], y)]
    if operator.code in _COMBINE and len(operands) == 2:
        return _combined(_COMBINE[operator.code], operands, y)
    return []


def _is_scaled(tensor: Tensor) -> bool:
    known = tensor.quantization
    return known is not None and known.is_per_tensor and bool(known.zero_point) and all(known.scale)


def _rescaled(x: Tensor, y: Tensor) -> Array:
    info = np.iinfo(x.dtype)
    values = np.arange(info.min, info.max + 1)
    nearest = np.argsort(_distance(_real(x, values), y), kind="stable")
    return np.resize(values[nearest], x.shape)


def _combined(
    combine: Callable[[Array, Array], Array], operands: Sequence[Tensor], y: Tensor
) -> list[Array]:
    """Choose values of the larger operand for those of the other, which may be constant."""
    first, second = operands
    is_swapped = first.data is not None or (
        second.data is None and first.elements < second.elements
    )
    free, beside = (second, first) if is_swapped else (first, second)
    most = min(_FINE, beside.elements)
    theirs = _candidates(beside, most) if beside.data is None else np.unique(beside.array())
    if len(theirs) > _FINE:
        return []
    ours = _candidates(free, _PAIRS // len(theirs))
    reals = _real(free, ours), _real(beside, theirs)
    combined = combine(*reals[::-1]).T if is_swapped else combine(*reals)
    distance = _distance(combined, y)
    best = np.argsort(distance, axis=0, kind="stable")[:_RANKS]
    if beside.data is None:
        order = np.argsort(distance.min(axis=0), kind="stable")
        places = np.resize(order, beside.elements).reshape(beside.shape)
    else:
        places = np.searchsorted(theirs, beside.array())
    chosen = ours[_partners(best, distance, places, free, y)].astype(free.dtype)
    pair = [chosen] if beside.data is not None else [chosen, theirs[places].astype(beside.dtype)]
    return pair[::-1] if is_swapped else pair


def _partners(best: Array, distance: Array, places: Array, free: Tensor, y: Tensor) -> Array:
    """Return the indices of the free operand's values, by the index of the other's."""
    beside = np.broadcast_to(places, y.shape)
    shape = (1,) * (len(y.shape) - len(free.shape)) + free.shape
    beside = beside[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)].reshape(-1)
    rank = np.arange(len(beside)) // min(distance.shape[1], places.size) % len(best)
    partners = best[rank, beside]
    is_in_range = distance[partners, beside] < 1
    chosen = np.where(is_in_range, partners, best[0, beside])
    return np.asarray(chosen.reshape(free.shape))


def _candidates(tensor: Tensor, most: int) -> Array:
    """Return all values of 8 bits, or a limited number at uneven distances."""
    info = np.iinfo(tensor.dtype)
    values = np.arange(info.min, info.max + 1)
    if len(values) <= max(most, 1 << 8):
        return values
    steps = np.linspace(info.min, info.max, most)
    uneven = np.random.default_rng(0).integers(-32, 32, most)
    return np.asarray(np.clip(np.rint(steps).astype(np.int64) + uneven, info.min, info.max))


def _real(tensor: Tensor, values: Array) -> Array:
    known = tensor.quantization
    assert known is not None
    return np.asarray(known.scale[0] * (values.astype(np.int64) - known.zero_point[0]))


def _distance(reals: Array, y: Tensor) -> Array:
    """Return the distance of values to a tie of rounding; 1 outside the output's range."""
    known, info = y.quantization, np.iinfo(y.dtype)
    assert known is not None
    steps = reals / known.scale[0]
    distance = abs(steps - np.floor(steps) - 0.5)
    moved = steps + known.zero_point[0]
    distance[(moved < info.min) | (moved > info.max)] = 1
    return np.asarray(distance)
