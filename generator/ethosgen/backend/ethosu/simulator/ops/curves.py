"""The built-in activation functions TANH and SIGMOID, on 16-bit results.

Their input is in units of 1 / (3 * 4096), their output in units of 1 / 32768. Arm publishes the
scales but not the bits; the model computes like TFLite's int16 kernels, which interpolate linearly
in a table of sigmoid(i / 24). Hardware has more intermediate precision (according to a comment in
Regor's lstm.cpp), so its results can differ in the last bits.
"""

from functools import cache

import numpy as np

from ethosgen.backend.ethosu.simulator.scaling import Ints

_ENTRIES = 256
_STEPS_PER_UNIT = 24


@cache
def sigmoid_table() -> Ints:
    """Return 65536 * sigmoid(i / 24), each raised by half of the interpolation error.

    A chord of f over a step h lies up to f'' h**2 / 8 below f. This reproduces TFLite's table; its
    last entry is the largest 16-bit value.
    """
    curve = 1 / (1 + np.exp(-np.arange(_ENTRIES) / _STEPS_PER_UNIT))
    bend = curve * (1 - curve) * (1 - 2 * curve) / _STEPS_PER_UNIT**2
    table: Ints = np.round(65536 * (curve - bend / 16)).astype(np.int64)
    table[-1] = 65535
    return table


def _interpolate(values: Ints, bits: int, limit: int) -> Ints:
    """Look up |value| in the table; the low `bits` are the fraction."""
    table = sigmoid_table()
    magnitude = np.abs(values)
    index = np.minimum(magnitude >> bits, _ENTRIES - 2)
    fraction = magnitude & (1 << bits) - 1
    inside = (table[index] << bits) + fraction * (table[index + 1] - table[index])
    result: Ints = np.where(magnitude >> bits >= _ENTRIES - 1, limit, inside)
    return result


def sigmoid(values: Ints) -> Ints:
    """Return the logistic function in units of 1 / 32768, of values in units of 1 / 12288."""
    curve = _interpolate(values, 9, 0x7FFF << 10)
    result: Ints = np.where(values >= 0, curve + 512, (1 << 25) - curve + 511) >> 10
    return result


def tanh(values: Ints) -> Ints:
    """Return the hyperbolic tangent in units of 1 / 32768, of values in units of 1 / 12288."""
    curve = _interpolate(values, 8, 0xFFFF << 8) - (1 << 23)
    result: Ints = np.where(values >= 0, curve + 128, 127 - curve) >> 8
    return result
