"""Conditions of errata on functions that NPU and CPU look up in tables, or interpolate.

Vela fills a table of 8 bits in double precision, and rounds a value together with the zero point
(ConvertToLUT8): a tie below zero, away from zero. TFLite rounds the value, then adds the point, so
a tie rounds differently where value and sum have different signs.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from ethosgen.backend.ethosu.offload.rounding import Array
from ethosgen.backend.ethosu.offload.site import OperatorSite, scale_of
from ethosgen.values.network import Tensor

Curve = Callable[[OperatorSite, Array], Array]
"""A function of the real values of an operator's input, as Vela computes it."""

_RADIUS = 8.0
"""Half the input range of TFLite Micro's LOGISTIC and TANH: 4 integer bits."""
_LIMIT_32 = 2.0**31


def curves_otherwise(site: OperatorSite) -> bool:
    """Return whether the tables of an int8 LOGISTIC or TANH differ between NPU and CPU.

    The CPU's is TFLite Micro's, in fixed point.
    """
    return site.code in ("LOGISTIC", "TANH") and _tables_differ(site)


def gates_otherwise(site: OperatorSite) -> bool:
    """Return whether the tables of an int8 GELU differ between NPU and CPU.

    Vela fills the table in double precision (ConvertGeluToLUT), LiteRT in single.
    """
    return site.code == "GELU" and _tables_differ(site)


def rises_otherwise(site: OperatorSite) -> bool:
    """Return whether the tables of an int8 ELU differ between NPU and CPU."""
    return site.code == "ELU" and _tables_differ(site)


def grows_otherwise(site: OperatorSite) -> bool:
    """Return whether the tables of an int8 EXP or LOG differ between NPU and CPU."""
    return site.code in ("EXP", "LOG") and _tables_differ(site)


def overflows_curve(site: OperatorSite) -> bool:
    """Return whether the argument of an int16 LOGISTIC or TANH exceeds 32 bits in TFLite.

    It multiplies each input by a factor, the scale in units of 1 / (3 * 4096), in int32.
    """
    if site.code not in ("LOGISTIC", "TANH") or site.dtype != "int16":
        return False
    return scale_of(site.inputs[0]) * 4096.0 * 3.0 >= (1 << 16) + 1


def _tables_differ(site: OperatorSite) -> bool:
    """Return whether Vela's table of an int8 operator differs from the CPU's."""
    if site.dtype != "int8":
        return False
    ours = site.setting.table_of(site.operator, site.graph)
    if ours is None:
        return False
    x = site.inputs[0]
    reals = scale_of(x) * (np.arange(-128, 128) - x.first_zero_point).astype(np.float64)
    with np.errstate(over="ignore"):
        theirs = _table_of(_CURVES[site.code](site, reals), site.output)
    return not np.array_equal(theirs, ours)


def _table_of(curve: Array, output: Tensor) -> Array:
    """Return the int8 table that Vela fills with a curve (ConvertToLUT8)."""
    steps = output.first_zero_point + curve / scale_of(output)
    rounded = np.copysign(np.floor(abs(steps) + 0.5), steps)
    rounded = np.where(rounded < _LIMIT_32, rounded, -_LIMIT_32)  # as x86 converts it
    return np.asarray(np.clip(rounded, -128, 127).astype(np.int8))


def _clamped_sigmoid(_site: OperatorSite, reals: Array) -> Array:
    """Return the logistic function, clamped to 0 and 1 beyond ±8 (Regor's ClampSigmoid8)."""
    inside = 1 / (1 + np.exp(-np.clip(reals, -_RADIUS, _RADIUS)))
    return np.where(reals <= -_RADIUS, 0.0, np.where(reals >= _RADIUS, 1.0, inside))


def _gelu(site: OperatorSite, reals: Array) -> Array:
    if site.operator.options.get("approximate"):
        inner = math.sqrt(2 / math.pi) * (float(np.float32(0.044715)) * reals**3 + reals)
        return np.asarray(0.5 * reals * (1 + np.tanh(inner)))
    return np.asarray(reals * 0.5 * [math.erfc(-real / math.sqrt(2)) for real in reals])


def _elu(_site: OperatorSite, reals: Array) -> Array:
    below = np.array([math.exp(min(real, 0.0)) for real in reals]) - 1
    return np.where(reals > 0, reals, below)


def _exp(_site: OperatorSite, reals: Array) -> Array:
    """Return the exponential, of values and with results in single precision."""
    return np.exp(reals.astype(np.float32).astype(np.float64)).astype(np.float32)


def _log(site: OperatorSite, reals: Array) -> Array:
    """Return the logarithm in the same way; the lowest output at 0 and below."""
    y = site.output
    least = np.float32(-128 - y.first_zero_point) * np.float32(scale_of(y))
    singles = reals.astype(np.float32).astype(np.float64)
    known = np.log(np.where(reals > 0, singles, 1.0)).astype(np.float32)
    return np.where(reals > 0, known, least).astype(np.float64)


_CURVES: Mapping[str, Curve] = {
    "LOGISTIC": _clamped_sigmoid,
    "TANH": lambda _, reals: np.tanh(reals),
    "GELU": _gelu,
    "ELU": _elu,
    "EXP": _exp,
    "LOG": _log,
}
"""Functions by operator."""
