"""Which operators a known difference concerns: conditions on the operator and where it stands."""

import math
from collections.abc import Callable

import numpy as np

from corpus.site import Site, point_of, scale_of
from ethosgen.model import Operator
from ethosgen.plan import IoStyle

Condition = Callable[[Site], bool]

_TABLES = ("HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "TANH", "ELU", "GELU", "EXP", "LOG", "RSQRT")
_BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
_NATIVE_RANK = 4
_RADIUS = 8.0
"""Half the range of reals in which TFLite Micro's LOGISTIC and TANH compute: 4 integer bits."""


def has(*codes: str, dtypes: tuple[str, ...] = ()) -> Condition:
    """Say whether an operator is one of these, computing in one of the dtypes."""

    def applies(site: Site) -> bool:
        return site.code in codes and (not dtypes or site.dtype in dtypes)

    return applies


def rescales(code: str) -> Condition:
    """Say whether an operator's output is quantized otherwise than its input."""

    def applies(site: Site) -> bool:
        if site.code != code:
            return False
        x, y = site.inputs[0], site.output
        return (scale_of(x), point_of(x)) != (scale_of(y), point_of(y))

    return applies


def rounds_a_quotient(site: Site) -> bool:
    """Say whether a factor is another one if computed in float than in double."""
    scales = [scale_of(tensor) for tensor in site.inputs]
    factors = {
        "MUL": [scales],
        "RELU": [scales],
        "LEAKY_RELU": [scales, [*scales, float(site.operator.options.get("alpha", 0.0))]],
        "PRELU": [scales[:1], scales],
    }.get(site.code, [])
    return any(_quotient(np.float32, *f, by=site) != _quotient(float, *f, by=site) for f in factors)


def _quotient(kind: type, *factors: float, by: Site) -> float:
    """Return a product of scales by that of the output, all in one type."""
    product = kind(1)
    for factor in factors:
        product *= kind(factor)
    return float(product / kind(scale_of(by.output)))


def mirrors_elsewhere(site: Site) -> bool:
    """Say whether a MIRROR_PAD pads another dimension than height and width."""
    if site.code != "MIRROR_PAD":
        return False
    rank = len(site.inputs[0].shape)
    amounts = site.constant(1)
    others = (a for a in range(rank) if a < rank - 3 or a == rank - 1)
    return any(amounts[2 * a] + amounts[2 * a + 1] for a in others)


def reduces_dropped_axis(site: Site) -> bool:
    """Say whether an axis is dropped, and another one lies before it."""
    if site.code not in ("REDUCE_MAX", "REDUCE_MIN") or site.operator.options.get("keep_dims"):
        return False
    before = range(max(site.axes))
    return math.prod(site.inputs[0].shape[a] for a in before if a not in site.axes) > 1


def pads_groups_of_batches(site: Site) -> bool:
    """Say whether a CONV_2D of groups pads several batches."""
    if site.code != "CONV_2D" or site.operator.options.get("padding", "SAME") != "SAME":
        return False
    x, weights = site.inputs[:2]
    return x.shape[0] > 1 and weights.shape[3] < x.shape[3]


def sums_several_axes(site: Site) -> bool:
    """Say whether a SUM has more than one axis."""
    return site.code == "SUM" and len(site.axes) > 1


def sums_several_axes_for_caller(site: Site) -> bool:
    """Say whether a SUM of more than one axis is written to the caller's buffer."""
    to_caller = bool(set(site.graph.outputs) & set(site.operator.outputs))
    return site.setting.io is IoStyle.CALLER and to_caller and sums_several_axes(site)


def sums_dropped_last_axis(site: Site) -> bool:
    """Say whether a SUM without zero point drops the last axis."""
    if site.code != "SUM" or site.operator.options.get("keep_dims"):
        return False
    x = site.inputs[0]
    return len(x.shape) - 1 in site.axes and not point_of(x)


def squares_beyond_32_bits(site: Site) -> bool:
    """Say whether the largest squared difference, in steps of the output, exceeds an int32."""
    if site.code != "SQUARED_DIFFERENCE":
        return False
    x, y = site.inputs
    info = np.iinfo(site.dtype)
    steps = int(info.max) - int(info.min)
    return (steps * (scale_of(x) + scale_of(y))) ** 2 / scale_of(site.output) > 1 << 31


def transposes_uint8(site: Site) -> bool:
    """Say whether Vela transposes uint8: where it is asked to, or for a depthwise multiplier."""
    if site.dtype != "uint8":
        return False
    several = site.operator.options.get("depth_multiplier", 1) > 1
    split = site.code == "DEPTHWISE_CONV_2D" and several and site.inputs[0].shape[3] > 1
    return site.code == "TRANSPOSE" or split


def clips_cells_at_a_fraction(site: Site) -> bool:
    """Say whether an LSTM's cell clip is no integer."""
    clip = site.operator.options.get("cell_clip", 0.0)
    return site.code == "UNIDIRECTIONAL_SEQUENCE_LSTM" and clip != int(clip)


def _transposed(site: Site) -> Operator | None:
    """Return the TRANSPOSE that wrote the operator's first input, for it alone."""
    made = site.operator.inputs[0]
    readers = [op for op in site.graph.operators if made in op.inputs]
    alone = len(readers) == 1 and made not in site.graph.outputs
    writers = (op for op in site.graph.operators if made in op.outputs)
    return next((op for op in writers if op.code == "TRANSPOSE" and alone), None)


def table_after_transposition(site: Site) -> bool:
    """Say whether a table is fused with a transposition."""
    return site.code in _TABLES and _transposed(site) is not None


def table_after_transposition_of_uint8(site: Site) -> bool:
    """Say whether a table is fused with a transposition of uint8."""
    return site.dtype == "uint8" and table_after_transposition(site)


def table_beyond_shram(site: Site) -> bool:
    """Say whether a table is fused with a transposition, on an NPU without reserved room."""
    return site.setting.npu in ("ethos-u55-32", "ethos-u55-64") and table_after_transposition(site)


def transposes_into_part(site: Site) -> bool:
    """Say whether a PAD gets its input from a transposition of the last axes, or such a table."""
    if site.code not in ("PAD", "PADV2"):
        return False
    before = next(
        (op for op in site.graph.operators if site.operator.inputs[0] in op.outputs), None
    )
    if before is not None and before.code in _TABLES:
        before = _transposed(Site(site.graph, before, site.setting))
    if before is None or before.code != "TRANSPOSE":
        return False
    return bool(np.array_equal(site.graph.tensors[before.inputs[1]].array(), [0, 1, 3, 2]))


def rounds_a_hidden_state(site: Site) -> bool:
    """Say whether the factor of an LSTM's hidden state is another one in float than in double."""
    if site.code != "UNIDIRECTIONAL_SEQUENCE_LSTM" or site.dtype != "int16":
        return False
    return _quotient(np.float32, 2.0**-30, by=site) != _quotient(float, 2.0**-30, by=site)


def multiplies_int32_with_scale(site: Site) -> bool:
    """Say whether a MUL of 32 bits has a scale, which TFLite ignores."""
    return site.code == "MUL" and site.dtype == "int32" and site.output.quantization is not None


def saturates_at_once(site: Site) -> bool:
    """Say whether one step of an input of LOGISTIC or TANH is beyond their range."""
    eight = site.dtype in ("int8", "uint8")
    return site.code in ("LOGISTIC", "TANH") and eight and scale_of(site.inputs[0]) >= _RADIUS


def steps_through_operand_of_lower_rank(site: Site) -> bool:
    """Say whether an operand has an extent where the output has another axis to step along.

    Tensors of fewer than four dimensions have been filled up to four by then.
    """
    if site.code not in _BINARY:
        return False
    rank = len(site.output.shape)
    for shape in (tensor.shape for tensor in site.inputs):
        filled = (1,) * (_NATIVE_RANK - len(shape)) + tuple(shape)
        if len(filled) < rank and any(extent > 1 for extent in filled[: rank - 3]):
            return True
    return False


def packs_seven_dimensions(site: Site) -> bool:
    """Say whether the output of a PACK has seven dimensions, and several outermost slices."""
    shape = site.output.shape
    return site.code == "PACK" and len(shape) > 6 and shape[0] > 1
