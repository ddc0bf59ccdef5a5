"""Conditions for operators that a known difference covers: the errata's, and those of oracles."""

import numpy as np

from ethosgen.backend.ethosu.offload.errata_conditions import (
    Condition,
    before_u85,
    clips_cells_at_a_fraction,
    enlarges_one_column,
    has,
    mirrors_elsewhere,
    packs_seven_dimensions,
    pads_groups_of_batches,
    reduces_dropped_axis,
    rescales,
    rescales_beyond_32_bits,
    squares_beyond_32_bits,
    steps_through_operand_of_lower_rank,
    sums_dropped_last_axis,
    sums_several_axes,
    table_after_transposition,
    table_after_transposition_of_uint8,
    table_beyond_shram,
    takes_other_pixels,
    transposes_into_part,
    transposes_uint8,
    transposition_before,
)
from ethosgen.backend.ethosu.offload.errata_u85 import (
    compares_otherwise,
    divides_stored_values,
    scales_16_bits,
)
from ethosgen.values.plan import IoStyle
from tests.corpus.rounding import factor_of
from tests.corpus.settings import Setting
from tests.corpus.site import OperatorSite, scale_of

__all__ = [
    "Condition",
    "before_u85",
    "clips_a_transposition_of_uint8",
    "clips_cells_at_a_fraction",
    "compares_otherwise",
    "divides_stored_values",
    "enlarges_one_column_in_a_cascade",
    "has",
    "mirrors_elsewhere",
    "multiplies_int32_with_scale",
    "packs_seven_dimensions",
    "pads_groups_of_batches",
    "reduces_dropped_axis",
    "rescales",
    "rescales_beyond_32_bits",
    "rounds_a_hidden_state",
    "rounds_a_product",
    "rounds_a_quotient",
    "rounds_once",
    "saturates_at_once",
    "scales_16_bits",
    "squares_beyond_32_bits",
    "steps_through_operand_of_lower_rank",
    "sums_dropped_last_axis",
    "sums_several_axes",
    "sums_several_axes_for_caller",
    "table_after_transposition",
    "table_after_transposition_of_uint8",
    "table_beyond_shram",
    "takes_other_pixels",
    "transposes_into_part",
    "transposes_uint8",
]

_CLIPS = ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")
_CONVOLUTIONS = {"CONV_2D": (0, 1), "DEPTHWISE_CONV_2D": (0, 1), "TRANSPOSE_CONV": (2, 1)}
"""The inputs that are the image and the weights."""

_RADIUS = 8.0
"""Half the range of values that TFLite Micro's LOGISTIC and TANH compute with: 4 integer bits."""


def clips_a_transposition_of_uint8(site: OperatorSite) -> bool:
    """Return whether an activation is fused with a transposition of uint8, as its limits."""
    if site.code not in _CLIPS or site.dtype != "uint8" or rescales(site.code)(site):
        return False
    return transposition_before(site) is not None


def enlarges_one_column_in_a_cascade(site: OperatorSite) -> bool:
    """Return whether Vela may cascade earlier operators with the steps that enlarge a column."""
    setting = site.setting
    if not isinstance(setting, Setting) or site.operator.inputs[0] in site.graph.inputs:
        return False
    is_tight = setting.optimise == "Size" or setting.arena_bytes is not None
    return is_tight and enlarges_one_column(site)


def rounds_a_quotient(site: OperatorSite) -> bool:
    """Return whether a factor computed in float differs from the one in double."""
    scales = [scale_of(tensor) for tensor in site.inputs]
    factors = {
        "MUL": [scales],
        "RELU": [scales],
        "LEAKY_RELU": [scales, [*scales, float(site.operator.options.get("alpha", 0.0))]],
        "PRELU": [scales[:1], scales],
    }.get(site.code, [])
    return any(_quotient(np.float32, *f, by=site) != _quotient(float, *f, by=site) for f in factors)


def _quotient(kind: type, *factors: float, by: OperatorSite) -> float:
    """Return a product of scales divided by the output's scale, all in one type."""
    product = kind(1)
    for factor in factors:
        product *= kind(factor)
    return float(product / kind(scale_of(by.output)))


def rounds_a_product(site: OperatorSite) -> bool:
    """Return whether a uint8 convolution's factor differs if scales are multiplied in float."""
    if site.code not in _CONVOLUTIONS or site.inputs[1].dtype != "uint8":
        return False
    first, second = (np.float32(scale_of(site.inputs[i])) for i in _CONVOLUTIONS[site.code])
    products = float(first * second), float(first) * float(second)
    in_float, in_double = (factor_of(product / scale_of(site.output)) for product in products)
    return in_float != in_double


def sums_several_axes_for_caller(site: OperatorSite) -> bool:
    """Return whether a SUM over more than one axis is written to the caller's buffer."""
    to_caller = bool(set(site.graph.outputs) & set(site.operator.outputs))
    return site.setting.io is IoStyle.CALLER and to_caller and sums_several_axes(site)


def rounds_a_hidden_state(site: OperatorSite) -> bool:
    """Return whether the factor of an LSTM's hidden state differs between float and double."""
    if site.code != "UNIDIRECTIONAL_SEQUENCE_LSTM" or site.dtype != "int16":
        return False
    return _quotient(np.float32, 2.0**-30, by=site) != _quotient(float, 2.0**-30, by=site)


def multiplies_int32_with_scale(site: OperatorSite) -> bool:
    """Return whether a 32-bit MUL has a scale, which TFLite ignores."""
    return site.code == "MUL" and site.dtype == "int32" and site.output.quantization is not None


def saturates_at_once(site: OperatorSite) -> bool:
    """Return whether one step of the input of LOGISTIC or TANH exceeds their range."""
    eight = site.dtype in ("int8", "uint8")
    return site.code in ("LOGISTIC", "TANH") and eight and scale_of(site.inputs[0]) >= _RADIUS


def rounds_once(site: OperatorSite) -> bool:
    """Return whether LiteRT rounds a result once, and TFLite Micro has the operator."""
    is_one = has("FULLY_CONNECTED", "UNIDIRECTIONAL_SEQUENCE_LSTM")(site)
    return is_one and not has("FULLY_CONNECTED", dtypes=("uint8",))(site)
