"""Inputs of a layer whose sums are largest and smallest, or at ties of rounding.

A sum times its factor, next to a tie, has different results if a high product is rounded once or
twice, up or away from zero, or down before a second rounding.
"""

import numpy as np

from ethosgen.samples.drawing import Array
from ethosgen.samples.spans import Span
from ethosgen.samples.windows import Windows
from ethosgen.values.network import Operator, Tensor

ROUNDS = 4
"""Samples with sums at ties: one for each kind of tie."""

_TYPES = frozenset({"int8", "uint8", "int16"})
_ACTIVATIONS = {"RELU": (0.0, np.inf), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}
_KINDS = (
    *((-1, 1, 1), (1, -1, 0), (-1, 1, 0), (-1, -1, 0)),
    *((1, 1, 0), (1, 1, 1), (1, -1, -1), (-1, -1, -1)),
)
"""(sign of the result, side of the tie, sums further): the sum next to a tie, or the one beyond.

The high product of the sum next to it is rounded to the tie itself."""
_RESULTS = 128
"""The results of a layer whose ties are tried."""
_NEAREST = 3
"""The ties of one kind that are tried for a sum."""
_TAPS = 64
"""The weights of a sum whose inputs are searched; those of the others are zero."""
_WINDOWS = 64
_MOVES = np.array([0, *(n * sign for n in range(1, 17) for sign in (1, -1))])
"""The changes of one value that are tried, so that another one divides the rest of a sum."""
_NONE = 1 << 61
"""A sum that no input reaches."""


def end_sums(windows: Windows, span: Span) -> tuple[Array, Array]:
    """Return inputs that follow the signs of the weights, so that sums become largest, smallest."""
    pattern = windows.lay((windows.weights >= 0)[np.newaxis], 0)
    high, low = np.asarray(span.high), np.asarray(span.low)
    return np.where(pattern, high, low), np.where(pattern, low, high)


def tie_sums(operator: Operator, y: Tensor, windows: Windows) -> list[Array]:
    """Return ROUNDS inputs of a layer that has this output; [] for other types."""
    windows = windows.thinned(_WINDOWS)
    x, bias, known = windows.source, windows.bias, windows.constant.quantization
    if not {x.dtype, y.dtype} <= _TYPES or (bias is not None and bias.data is None):
        return []
    if known is None or not all(t.quantization and t.quantization.scale[0] for t in (x, y)):
        return []
    factors = _factors(x, windows.constant, y)[windows.channels % len(known.scale)]
    targets = _targets(factors, *_result_bounds(operator, y))
    if bias is not None:
        targets -= bias.array().astype(np.int64).reshape(-1)[windows.channels][:, np.newaxis]
    info, point = np.iinfo(x.dtype), x.first_zero_point
    rounds = _inputs(windows.rows(), targets, (info.min - point, info.max - point))
    if not len(rounds):
        return []
    patterns = windows.patterns(rounds + point)
    turned = (np.roll(patterns, -turn, axis=0) for turn in range(ROUNDS))
    return [windows.lay(values, 7 * turn) for turn, values in enumerate(turned)]


def _factors(x: Tensor, weights: Tensor, y: Tensor) -> Array:
    """Return the factors of sums as layers round them: to 31 bits, or to 15 for int16."""
    assert x.quantization and weights.quantization and y.quantization
    scales = np.array(weights.quantization.scale, np.float64)
    mantissa, exponent = np.frexp(scales * x.quantization.scale[0] / y.quantization.scale[0])
    bits = 15 if x.dtype == "int16" else 31
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits))


def _result_bounds(operator: Operator, y: Tensor) -> tuple[int, int]:
    """Return the bounds of results without zero point and within the activation."""
    info, point = np.iinfo(y.dtype), y.first_zero_point
    scale = y.quantization.scale[0] if y.quantization else 1.0
    name = str(operator.options.get("fused_activation_function", "NONE"))
    low, high = _ACTIVATIONS.get(name, (-np.inf, np.inf))
    return int(max(info.min - point, low / scale)), int(min(info.max - point, high / scale))


def _targets(factors: Array, low: int, high: int) -> Array:
    """Return sums with their bias by (kind, row, try), the nearest to a tie first."""
    results = np.unique(np.linspace(low, max(high - 1, low), _RESULTS).astype(np.int64))
    ties = np.clip((results + 0.5) / np.maximum(factors, 2.0**-60)[:, np.newaxis], -_NONE, _NONE)
    targets = []
    for sign, side, further in _KINDS:
        beside = np.floor(ties) if side < 0 else np.ceil(ties)
        distance = np.where((results < 0) == (sign < 0), abs(beside - ties), np.inf)
        places = np.arange(_NEAREST) % len(results)
        nearest = np.argsort(distance, axis=1, kind="stable")[:, places]
        is_one = np.take_along_axis(distance, nearest, axis=1) < 1
        sums = np.take_along_axis(beside, nearest, axis=1).astype(np.int64) + further
        targets.append(np.where(is_one, sums, _NONE))
    return np.array(targets)


def _inputs(rows: Array, targets: Array, bounds: tuple[int, int]) -> Array:
    """Return values by (round, row, weight) with these sums; a row that reaches none has zeros.

    A round is a kind that some row reaches; a row that does not reach it has another kind's values.
    """
    order = np.argsort(-abs(rows), axis=1, kind="stable")
    counts = (rows != 0).sum(axis=1)
    taps = min(_TAPS, rows.shape[1])
    spread = np.linspace(np.zeros(len(rows)), np.maximum(counts - 1, 0), taps, axis=1)
    places = np.where(counts[:, np.newaxis] > taps, spread.astype(np.int64), np.arange(taps))
    used = np.take_along_axis(order, places, axis=1)
    weights = np.take_along_axis(rows, used, axis=1)
    last = np.clip(counts - 1, 0, taps - 1)
    values, is_reached = _solved(weights, last, targets, bounds)
    first = is_reached.argmax(axis=2)[..., np.newaxis]
    chosen = np.take_along_axis(values, first[..., np.newaxis], axis=2)[:, :, 0]
    has_any = np.asarray(is_reached.any(axis=2))
    stand_in = np.where(has_any, np.arange(len(chosen))[:, np.newaxis], has_any.argmax(axis=0))
    filled = np.take_along_axis(chosen, stand_in[..., np.newaxis], axis=0)
    filled = np.where(np.any(has_any, axis=0)[:, np.newaxis], filled, 0)[np.any(has_any, axis=1)]
    whole = np.zeros((len(filled), *rows.shape), np.int32)
    np.put_along_axis(whole, np.broadcast_to(used, filled.shape), filled, axis=2)
    return whole


def _solved(
    weights: Array, last: Array, targets: Array, bounds: tuple[int, int]
) -> tuple[Array, Array]:
    """Return values by (kind, row, try, weight), and a mask of the sums that hit the targets.

    The largest weights come first, and each takes as much of the remainder as it can. The `last` of
    each row takes the rest, which another weight's value makes divisible by it.
    """
    row = np.arange(len(weights))
    divisor, others = weights[row, last], weights.copy()
    others[row, last] = 0
    left, values = targets.copy(), np.zeros((*targets.shape, weights.shape[1]), np.int32)
    for tap in range(weights.shape[1]):
        weight = others[:, tap, np.newaxis]
        whole = np.sign(left * np.sign(weight)) * (abs(left) // np.maximum(abs(weight), 1))
        values[..., tap] = np.clip(whole, *bounds)
        left -= values[..., tap] * weight
    common = np.where(others == 0, _NONE, np.gcd(others, divisor[:, np.newaxis]))
    helper = common.argmin(axis=1)
    by_row = np.s_[:, np.newaxis, np.newaxis, np.newaxis]  # row, kind, try, move
    moved = values[:, row, :, helper][..., np.newaxis] - _MOVES
    rest = left.swapaxes(0, 1)[..., np.newaxis] + _MOVES * others[row, helper][by_row]
    taken = rest // np.where(divisor == 0, 1, divisor)[by_row]
    is_right = (taken * divisor[by_row] == rest) & _is_within(taken, bounds)
    is_right &= _is_within(moved, bounds)
    best = is_right.argmax(axis=3)[..., np.newaxis]
    values[:, row, :, helper] = np.take_along_axis(moved, best, axis=3)[..., 0]
    values[:, row, :, last] = np.take_along_axis(taken, best, axis=3)[..., 0]
    return values, is_right.any(axis=3).swapaxes(0, 1)


def _is_within(values: Array, bounds: tuple[int, int]) -> Array:
    return np.asarray((values >= bounds[0]) & (values <= bounds[1]))
