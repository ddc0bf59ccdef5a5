"""Conditions of errata on operators and their neighbours in a network."""

import math
from collections.abc import Callable

import numpy as np

from ethosgen.backend.ethosu.offload.rounding import (
    REDUCED,
    Array,
    differ,
    double_factor,
    single_factor,
)
from ethosgen.backend.ethosu.offload.site import (
    TABLES,
    OperatorSite,
    scale_of,
    stored_values,
    type_values,
)
from ethosgen.values.network import Operator

Condition = Callable[[OperatorSite], bool]

_BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
_REDUCTIONS = ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL")
_NATIVE_RANK = 4
_SMALL = ("ethos-u55-32", "ethos-u55-64")
_ROLLED_ROWS = 3
"""Number of rows that a rolling buffer of four rows never overwrites."""
_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
_LARGEST_16 = 1 << 15
_MOST_PRODUCTS = 1 << 24
"""Most products to check one by one, which takes a tenth of a second."""


def has(*codes: str, dtypes: tuple[str, ...] = ()) -> Condition:
    """Return a condition: the operator is one of these codes and computes in one of the dtypes."""

    def applies(site: OperatorSite) -> bool:
        return site.code in codes and (not dtypes or site.dtype in dtypes)

    return applies


def before_u85(condition: Condition) -> Condition:
    """Return a condition that holds on U55 and U65 only."""
    return lambda site: not is_u85(site) and condition(site)


def either(*conditions: Condition) -> Condition:
    """Return a condition that holds if one of these does."""
    return lambda site: any(condition(site) for condition in conditions)


def is_u85(site: OperatorSite) -> bool:
    """Return whether the NPU is an Ethos-U85."""
    return site.setting.npu.startswith("ethos-u85-")


def rescales(*codes: str, dtypes: tuple[str, ...] = ()) -> Condition:
    """Return a condition: the output of one of these operators has another quantization."""
    is_one = has(*codes, dtypes=dtypes)

    def applies(site: OperatorSite) -> bool:
        if not is_one(site):
            return False
        x, y = site.inputs[0], site.output
        return (scale_of(x), x.first_zero_point) != (scale_of(y), y.first_zero_point)

    return applies


def mirrors_elsewhere(site: OperatorSite) -> bool:
    """Return whether a MIRROR_PAD pads dimensions other than height and width."""
    if site.code != "MIRROR_PAD":
        return False
    rank = len(site.inputs[0].shape)
    amounts = site.constant(1)
    others = (a for a in range(rank) if a < rank - 3 or a == rank - 1)
    return any(amounts[2 * a] + amounts[2 * a + 1] for a in others)


def reduces_dropped_axis(site: OperatorSite) -> bool:
    """Return whether a reduction drops an axis that is not the first."""
    if site.code not in _REDUCTIONS or site.operator.options.get("keep_dims"):
        return False
    before = range(max(site.axes))
    return math.prod(site.inputs[0].shape[a] for a in before if a not in site.axes) > 1


def pads_groups_of_batches(site: OperatorSite) -> bool:
    """Return whether a grouped CONV_2D with padding has several batches."""
    if site.code != "CONV_2D" or site.operator.options.get("padding", "SAME") != "SAME":
        return False
    x, weights = site.inputs[:2]
    return x.shape[0] > 1 and weights.shape[3] < x.shape[3]


def multiplies_flattened_input(site: OperatorSite) -> bool:
    """Return whether a FULLY_CONNECTED with non-constant weights flattens its input."""
    if site.code != "FULLY_CONNECTED" or site.inputs[1].data is not None:
        return False
    x, weights = site.inputs[:2]
    read, written = (_filled(tensor.shape)[:-1] for tensor in (x, site.output))
    return x.shape[-1] != weights.shape[-1] or read != written


def sums_several_axes(site: OperatorSite) -> bool:
    """Return whether a SUM has more than one axis."""
    return site.code == "SUM" and len(site.axes) > 1


def sums_dropped_last_axis(site: OperatorSite) -> bool:
    """Return whether a SUM drops the last axis; on U55 and U65 only without a zero point."""
    if site.code != "SUM" or site.operator.options.get("keep_dims"):
        return False
    x = site.inputs[0]
    return len(x.shape) - 1 in site.axes and (is_u85(site) or not x.first_zero_point)


def averages_beyond_four_dimensions(site: OperatorSite) -> bool:
    """Return whether a MEAN of more than four dimensions reduces axes besides height and width.

    Vela checks whether the fourth dimension from the end is 1 and ignores the preceding ones. To
    reduce the depth it drops a dimension by its index from the front.
    """
    if site.code != "MEAN":
        return False
    shape = site.inputs[0].shape
    rank = len(shape)
    kept = (rank - 3, rank - 2)
    return rank > _NATIVE_RANK and any(shape[a] > 1 for a in site.axes if a not in kept)


def squares_beyond_32_bits(site: OperatorSite) -> bool:
    """Return whether the largest squared difference, in output steps, exceeds an int32."""
    if site.code != "SQUARED_DIFFERENCE":
        return False
    x, y = site.inputs
    if site.dtype not in ("int8", "uint8", "int16"):
        return False
    info = np.iinfo(site.dtype)
    steps = int(info.max) - int(info.min)
    return (steps * (scale_of(x) + scale_of(y))) ** 2 / scale_of(site.output) > 1 << 31


def sum_bounds(site: OperatorSite) -> tuple[Array, Array, Array] | None:
    """Return bias, bound of the sum and factor of each channel; None for sums of 32 bits.

    Without a bias the sum has 64 bits, too.
    """
    if site.code not in _WEIGHTED or site.dtype != "int16":
        return None
    weights = site.inputs[1]
    bias = next(iter(site.inputs[3 if site.code == "TRANSPOSE_CONV" else 2 :]), None)
    if weights.data is None or (bias and (bias.dtype != "int64" or bias.data is None)):
        return None
    axis = -1 if site.code == "DEPTHWISE_CONV_2D" else 0
    channels = weights.shape[axis]
    is_complete = bias is None or math.prod(bias.shape) == channels
    if not channels or not is_complete or len(weights.scales) not in (1, channels):
        return None
    rows = np.moveaxis(weights.array(), axis, 0).reshape(channels, -1)
    reach = _LARGEST_16 * abs(rows.astype(np.int64)).sum(axis=1)
    x = site.inputs[2 if site.code == "TRANSPOSE_CONV" else 0]
    factor = scale_of(x) / scale_of(site.output) * REDUCED * np.array(weights.scales, np.float64)
    biases = np.zeros_like(reach) if bias is None else bias.array().reshape(-1)
    return biases, reach, np.broadcast_to(factor, reach.shape)


def rescales_beyond_32_bits(site: OperatorSite) -> bool:
    """Return whether a 64-bit sum, in output steps, can exceed an int32."""
    bounds = sum_bounds(site)
    if bounds is None:
        return False
    bias, reach, factor = bounds
    steps = (abs(bias.astype(np.float64)) + reach) * factor
    return bool((steps >= (1 << 31) - 1).any())


def transposes_uint8(site: OperatorSite) -> bool:
    """Return whether Vela transposes uint8: for a TRANSPOSE, or for a depthwise multiplier."""
    if site.dtype != "uint8":
        return False
    several = site.operator.options.get("depth_multiplier", 1) > 1
    split = site.code == "DEPTHWISE_CONV_2D" and several and site.inputs[0].shape[3] > 1
    return site.code == "TRANSPOSE" or split


def clips_cells_at_a_fraction(site: OperatorSite) -> bool:
    """Return whether an LSTM's cell clip is not an integer."""
    clip = site.operator.options.get("cell_clip", 0.0)
    return site.code == "UNIDIRECTIONAL_SEQUENCE_LSTM" and clip != int(clip)


def steps_once_with_batches(site: OperatorSite) -> bool:
    """Return whether a time-major LSTM has one step and several batches.

    Two batches are right with Vela 5.2, three and more are not.
    """
    if site.code != "UNIDIRECTIONAL_SEQUENCE_LSTM" or not site.operator.options.get("time_major"):
        return False
    steps, batches = site.inputs[0].shape[:2]
    return steps == 1 and batches > 1


def resizes_to_more_channels(site: OperatorSite) -> bool:
    """Return whether a resized output has more batches or channels than the input."""
    if site.code not in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"):
        return False
    before, after = site.inputs[0].shape, site.output.shape
    return after[0] > before[0] or after[3] > before[3]


def takes_other_pixels(site: OperatorSite) -> bool:
    """Return whether U85 resizes to the nearest pixels as Regor counts them, and TFLite does not.

    TFLite (reference/resize_nearest_neighbor.h) divides the sizes in single precision, and only
    shifts by half a pixel if asked to.
    """
    if site.code != "RESIZE_NEAREST_NEIGHBOR" or not is_u85(site):
        return False
    options = site.operator.options
    aligned, centred = (bool(options.get(n)) for n in ("align_corners", "half_pixel_centers"))
    sizes = zip(site.inputs[0].shape[1:3], site.output.shape[1:3], strict=True)
    return any(
        not np.array_equal(
            regors_nearest(before, after, aligned), _nearest(before, after, aligned, centred)
        )
        for before, after in sizes
    )


def regors_nearest(before: int, after: int, aligned: bool) -> Array:
    """Return the position of each resized pixel's source along one axis (ConvertResize).

    Pixels have their centres at half positions, unless the corners are aligned.
    """
    at = np.arange(after, dtype=np.int64)
    if not aligned:
        return np.asarray((2 * at + 1) * before // (2 * after))
    if before == 1:
        return np.zeros_like(at)
    return np.asarray((2 * at * (before - 1) + (after - 1)) // (2 * max(after - 1, 1)))


def _nearest(before: int, after: int, aligned: bool, centred: bool) -> Array:
    """Return the same for TFLite (GetNearestNeighbor)."""
    spans = (before - 1, after - 1) if aligned and after > 1 else (before, after)
    scaled = (np.arange(after) + np.float32(0.5 * centred)).astype(np.float32) * (
        np.float32(spans[0]) / np.float32(spans[1])
    )
    places = np.floor(scaled + np.float32(0.5)) if aligned else np.floor(scaled)
    return np.asarray(np.minimum(places.astype(np.int64), before - 1))


def enlarges_one_column(site: OperatorSite) -> bool:
    """Return whether a column of more than three rows is resized in steps that Vela can cascade.

    Vela assumes that a twofold upscaling with a 2x1 stripe also reads 2x1, so it writes to the
    rolling buffer that it still reads. With aligned corners, and when interpolating, the last step
    is a different operation, and the step before it writes to another buffer.
    """
    if site.code not in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"):
        return False
    (_, before, width, _), (_, after, width_after, _) = site.inputs[0].shape, site.output.shape
    if width != 1 or width_after != 1 or before <= _ROLLED_ROWS:
        return False
    aligned = site.operator.options.get("align_corners", False)
    factor = (after - 1) // (before - 1) if aligned else after // before
    return factor >= (8 if aligned or site.code == "RESIZE_BILINEAR" else 2)


def transposition_before(site: OperatorSite) -> Operator | None:
    """Return the TRANSPOSE that wrote the operator's first input, if nothing else reads it."""
    transposed = site.operator.inputs[0]
    alone = len(site.graph.readers(transposed)) == 1 and transposed not in site.graph.outputs
    writer = site.graph.writer(transposed)
    return writer if alone and writer is not None and writer.code == "TRANSPOSE" else None


def table_after_transposition(site: OperatorSite) -> bool:
    """Return whether a table is fused with a transposition."""
    return site.code in TABLES and transposition_before(site) is not None


def table_after_transposition_of_uint8(site: OperatorSite) -> bool:
    """Return whether a table is fused with a transposition of uint8."""
    return site.dtype == "uint8" and table_after_transposition(site)


def table_beyond_shram(site: OperatorSite) -> bool:
    """Return whether a table is fused with a transposition, on an NPU without reserved SHRAM."""
    return site.setting.npu in _SMALL and table_after_transposition(site)


def transposes_into_part(site: OperatorSite) -> bool:
    """Return whether a PAD widens the rows that a transposition with a table writes."""
    if site.code not in ("PAD", "PADV2"):
        return False
    before = site.graph.writer(site.operator.inputs[0])
    table = None if before is None else OperatorSite(site.graph, before, site.setting)
    order = transposition_before(table) if table and table.code in TABLES else None
    if order is None:
        return False
    swaps_rows = OperatorSite(site.graph, order, site.setting).constant(1) == [0, 2, 1, 3]
    amounts = site.constant(1)
    return any(amounts[4:6]) if swaps_rows else any(amounts[4:])


def rounds_by_single_factor(site: OperatorSite) -> bool:
    """Return whether a single-precision factor changes an operator's result for some input."""
    same = site.dtype in ("int8", "int16") and site.inputs[0].dtype == site.dtype
    tests = _BY_SINGLE_FACTOR.get(site.code, ()) if same else ()
    return any(differs(site) for differs in tests)


def _centred(site: OperatorSite) -> Array:
    x = site.inputs[0]
    return type_values(x.dtype) - x.first_zero_point


def _most(site: OperatorSite) -> int:
    """Return the magnitude above which every result is clamped."""
    return 2 * (int(np.iinfo(site.dtype).max) + 1)


def _identity_differs(site: OperatorSite) -> bool:
    """Return whether the quotient of two scales, in single precision, changes a result."""
    x, y = scale_of(site.inputs[0]), scale_of(site.output)
    factors = double_factor(x, over=y), single_factor(x, over=y)
    return x != y and differ(_centred(site), *factors, _most(site))


def _slope_differs(site: OperatorSite) -> bool:
    x, y = scale_of(site.inputs[0]), scale_of(site.output)
    slope = float(site.operator.options.get("alpha", 0.0))
    if slope == 0 or not math.isfinite(slope):
        return False
    factors = double_factor(x, slope, over=y), single_factor(x, slope, over=y)
    return differ(_centred(site), *factors, _most(site))


def _product_differs(site: OperatorSite) -> bool:
    """Return whether some product of two inputs is rounded differently; one can be constant."""
    x, other = site.inputs
    scales, over = (scale_of(x), scale_of(other)), scale_of(site.output)
    factors = double_factor(*scales, over=over), single_factor(*scales, over=over)
    if factors[0] == factors[1]:
        return False
    values = [stored_values(tensor) - tensor.first_zero_point for tensor in (x, other)]
    if values[0].size * values[1].size > _MOST_PRODUCTS:
        return True
    return differ(np.outer(*values), *factors, _most(site))


def _hidden_differs(site: OperatorSite) -> bool:
    """Return whether an LSTM's hidden state is rescaled by a different factor."""
    if site.dtype != "int16":
        return False
    scale = scale_of(site.output)
    unit = 2.0**-15
    return double_factor(unit, unit, over=scale) != single_factor(unit, unit, over=scale)


_BY_SINGLE_FACTOR: dict[str, tuple[Condition, ...]] = {
    "MUL": (_product_differs,),
    "RELU": (_identity_differs,),
    "LEAKY_RELU": (_identity_differs, _slope_differs),
    "PRELU": (_identity_differs, _product_differs),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (_hidden_differs,),
}
"""Operators for which Vela computes factors in single precision, and their checks."""


def steps_through_operand_of_lower_rank(site: OperatorSite) -> bool:
    """Return whether an operand of lower rank has a size above 1 along a wrong stepping axis.

    At that point, tensors of fewer than four dimensions have been padded to four.
    """
    if site.code not in _BINARY:
        return False
    rank = len(site.output.shape)
    for shape in (tensor.shape for tensor in site.inputs):
        filled = _filled(shape)
        if len(filled) < rank and any(extent > 1 for extent in filled[: rank - 3]):
            return True
    return False


def _filled(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape extended to four dimensions by leading ones."""
    return (1,) * (_NATIVE_RANK - len(shape)) + tuple(shape)


def packs_seven_dimensions(site: OperatorSite) -> bool:
    """Return whether a PACK's output has seven dimensions and several outermost slices."""
    shape = site.output.shape
    return site.code == "PACK" and len(shape) > 6 and shape[0] > 1
