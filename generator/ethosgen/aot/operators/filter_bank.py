"""The filter bank of TFLite Micro's signal library and the stages after it, one value per channel.

SignalFilterBank, SignalFilterBankSquareRoot, SignalFilterBankSpectralSubtraction, SignalPCAN and
SignalFilterBankLog, from signal/src.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.unsigned import (
    above,
    bit_length,
    square_root,
    square_root_64,
    unsigned,
)
from ethosgen.aot.graph.custom_options import read_integers
from ethosgen.aot.graph.states import SPECTRAL_SUBTRACTION
from ethosgen.aot.operators import operator
from ethosgen.aot.operators.signal import expect, read_ends
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Array, Nest, int32
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Operator, Tensor

INT16_MAX = (1 << 15) - 1
INT32_MAX = (1 << 31) - 1
GAINS = 125
"""Entries of SignalPCAN's table: 4 for each bit length up to 32, except the first."""
SNR_BITS, OUTPUT_BITS = 12, 6
"""Fraction bits of SignalPCAN's signal-to-noise ratio and output (pcan_argc_fixed.h)."""
LOG_SEGMENTS, LOG_SCALE_BITS = 128, 16
"""Segments of the logarithm's table, and the scale of its values (log.cc)."""


# ---- SignalFilterBank ----------------------------------------------------------------------------


@operator("SignalFilterBank", dtypes=("uint32",))
def filter_bank(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Sum each band's weighted energies; the band below gets the complement (filter_bank.cc)."""
    source, weights, unweights, starts, places, widths, target = read_ends(op, tensors, 6, 1)
    channels = read_integers(op, num_channels=(1, INT16_MAX))["num_channels"]
    expect(source, "uint32", (source.elements,))
    expect(weights, "int16", (weights.elements,))
    expect(unweights, "int16", weights.shape)
    expect(target, "uint64", (channels,))
    _check_bands(source, weights, [starts, places, widths], channels)
    nest = Nest()
    x = nest.read("input", source)
    views = [
        nest.read(name, tensor)
        for name, tensor in zip(
            ("weights", "unweights", "band_starts", "weight_starts", "band_widths"),
            (weights, unweights, starts, places, widths),
            strict=True,
        )
    ]
    y = nest.write("output", target)
    sums = _sum_dtype(weights, unweights)
    zero = tirx.const(0, sums)
    total, other = nest.local("total", zero), nest.local("other", zero)
    with nest.loop("channel", channels + 1) as channel:
        start, place, width = (nest.let("band", int32(view[channel])) for view in views[2:])
        with nest.loop("i", width) as i:
            energy = nest.let("energy", tirx.Cast(sums, x[start + i]))
            for view, total_of in zip(views, (total, other), strict=False):
                weight = unsigned(view[place + i]) if sums == "uint64" else view[place + i]
                nest.store(total_of, (0,), total_of[0] + tirx.Cast(sums, weight) * energy)
        with nest.when(int32(channel) > 0):
            nest.store(y, (int32(channel) - 1,), total[0])
        nest.store(total, (0,), other[0])
        nest.store(other, (0,), zero)
    return nest.kernel()


def _sum_dtype(*weights: Tensor) -> str:
    """Return an unsigned type in which no sum wraps; Arm has one instruction for the product."""
    negative = any(t.data is None or t.array().min(initial=0) < 0 for t in weights)
    return "int64" if negative else "uint64"


def _check_bands(source: Tensor, weights: Tensor, bands: Sequence[Tensor], channels: int) -> None:
    """Refuse bands outside the tensors, which TFLite Micro does not check."""
    for band in bands:
        if band.data is None or band.dtype != "int16" or band.shape != (band.elements,):
            raise UnsupportedError(f"'{band.name}' is not a constant list of int16")
        if band.elements <= channels:
            raise UnsupportedError(
                f"'{band.name}' has {counted(band.elements, 'element')}, and "
                f"{channels + 1} are needed"
            )
    starts, places, widths = (band.array().astype(np.int32)[: channels + 1] for band in bands)
    used = widths > 0
    for first, whole in ((starts, source), (places, weights)):
        if (first[used] < 0).any() or (first[used] + widths[used] > whole.elements).any():
            raise UnsupportedError(f"a band exceeds the bounds of '{whole.name}'")


# ---- SignalFilterBankSquareRoot ------------------------------------------------------------------


@operator("SignalFilterBankSquareRoot", dtypes=("uint64",))
def filter_bank_square_root(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the rounded square root, shifted right by the second input (square_root_64.cc).

    The root of a 32-bit value saturates at 65535. Shift counts are modulo 32, as on the computers
    on which TFLite Micro is tested.
    """
    source, shift, target = read_ends(op, tensors, 2, 1)
    expect(source, "uint64", (source.elements,))
    expect(shift, "int32", ())
    expect(target, "uint32", source.shape)
    nest = Nest()
    x, bits = nest.read("input", source), nest.read("bits", shift)
    y = nest.write("output", target)
    places = nest.let("places", unsigned(bits[0] & 31))
    with nest.loop("channel", source.elements) as channel:
        value = nest.let("value", x[channel])
        small = nest.let("small", value < unsigned(1 << 32, 64))
        with nest.when(small):
            root = square_root(nest, nest.let("low", unsigned(value)))
            nest.store(y, (channel,), root >> places)
        with nest.when(tirx.Not(small)):
            root = square_root_64(nest, value)
            nest.store(y, (channel,), root >> places)
    return nest.kernel()


# ---- SignalFilterBankSpectralSubtraction ---------------------------------------------------------


@operator(SPECTRAL_SUBTRACTION, dtypes=("uint32",))
def spectral_subtraction(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Subtract a running noise estimate, which is the second output.

    Odd channels have separate coefficients (filter_bank_spectral_subtraction.cc).
    """
    options = _subtraction_options(op)
    source, state, target, estimate = read_ends(op, tensors, 2, 2)
    shape = (options["num_channels"],)
    for tensor in (source, target, estimate):
        expect(tensor, "uint32", shape)
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    copy = nest.write("estimate", estimate)
    noise = nest.variable("noise", state)
    up = unsigned(options["smoothing_bits"])
    down = unsigned(options["spectral_subtraction_bits"], 64)
    names = ("smoothing", "one_minus_smoothing")
    table = [[options[f"{which}{name}"] for name in names] for which in ("", "alternate_")]
    factors = nest.table("factors", np.array(table, np.uint32))
    with nest.loop("channel", source.elements) as channel:
        value = nest.let("value", x[channel])
        signal = nest.let("signal", value << up)
        odd = nest.let("odd", int32(channel) & 1)
        new, old = (
            unsigned(a, 64) * unsigned(factors[odd, k], 64)
            for k, a in enumerate((signal, noise[channel]))
        )
        level = nest.local("level", unsigned((new + old) >> down))
        kept = nest.let("kept", level[0])
        with nest.when(above(kept, signal)):
            nest.store(level, (0,), signal)
        known = level[0] if options["clamping"] else kept
        nest.store(noise, (channel,), known)
        nest.store(copy, (channel,), known)
        least = unsigned(options["min_signal_remaining"], 64)
        floor = nest.let("least", unsigned((unsigned(value, 64) * least) >> down))
        rest = nest.let("rest", (signal - level[0]) >> up)
        nest.store(y, (channel,), tirx.Select(above(rest, floor), rest, floor))
    return nest.kernel()


def _subtraction_options(op: Operator) -> dict[str, int]:
    coefficient = (0, INT32_MAX)
    return read_integers(
        op, alternate_one_minus_smoothing=coefficient, alternate_smoothing=coefficient,
        clamping=(0, 1), min_signal_remaining=coefficient, num_channels=coefficient,
        one_minus_smoothing=coefficient, smoothing=coefficient, smoothing_bits=(0, 31),
        spectral_subtraction_bits=(0, 63),
    )  # fmt: skip


# ---- SignalPCAN ----------------------------------------------------------------------------------


@operator("SignalPCAN", dtypes=("uint32",))
def pcan(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply by a gain that depends on the noise, and compress (pcan_argc_fixed.cc)."""
    source, noise, gains, target = read_ends(op, tensors, 3, 1)
    shift = read_integers(op, snr_shift=(0, 63))["snr_shift"]
    for tensor in (source, noise, target):
        expect(tensor, "uint32", (source.elements,))
    expect(gains, "int16", (max(gains.elements, GAINS),))
    nest = Nest()
    x, estimates = nest.read("input", source), nest.read("noise", noise)
    table, y = nest.read("gains", gains), nest.write("output", target)
    with nest.loop("channel", source.elements) as channel:
        level = nest.let("level", estimates[channel])
        gain = nest.local("gain", int32(0))
        with nest.when(tirx.Not(above(level, 2))):
            nest.store(gain, (0,), int32(table[tirx.Cast("int32", level)]))
        with nest.when(above(level, 2)):
            nest.store(gain, (0,), _gain(nest, level, table))
        wide = unsigned(x[channel], 64) * unsigned(unsigned(gain[0]), 64)
        ratio = nest.let("ratio", unsigned(wide >> unsigned(shift, 64)))
        squared = ratio * ratio >> unsigned(2 + 2 * SNR_BITS - OUTPUT_BITS)
        straight = (ratio >> unsigned(SNR_BITS - OUTPUT_BITS)) - unsigned(1 << OUTPUT_BITS)
        low = above(2 << SNR_BITS, ratio)
        nest.store(y, (channel,), tirx.Select(low, squared, straight))
    return nest.kernel()


def _gain(nest: Nest, level: Any, table: Any) -> Any:
    """Return the int16 gain for a level above 2: one parabola for each bit length."""
    length = bit_length(nest, level)
    place = nest.let("place", length * 4 - 6)
    aligned = nest.local("aligned", level)
    with nest.when(length < 11):
        nest.store(aligned, (0,), level << unsigned(11 - length))
    with nest.when(length > 11):
        nest.store(aligned, (0,), level >> unsigned(length - 11))
    rest = nest.let("rest_of_level", int32(aligned[0] & unsigned(0x3FF)))
    bend = nest.let("bend", int32(table[place + 2]) * rest >> 5)
    slope = nest.let("slope", tirx.Cast("int64", bend + int32(table[place + 1]) * 32))
    raised = nest.let("raised", int32(slope * tirx.Cast("int64", rest) + (1 << 14)))
    return int32(tirx.Cast("int16", (raised >> 15) + int32(table[place])))


# ---- SignalFilterBankLog -------------------------------------------------------------------------


@operator("SignalFilterBankLog", dtypes=("uint32",))
def filter_bank_log(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the natural logarithm times a scale, at most 32767; 0 for inputs below 2 (log.cc)."""
    source, target = read_ends(op, tensors, 1, 1)
    options = read_integers(op, input_correction_bits=(0, 31), output_scale=(0, INT32_MAX))
    expect(source, "uint32", (source.elements,))
    expect(target, "int16", source.shape)
    nest = Nest()
    x, table = nest.read("input", source), nest.table("curve", logarithm_table())
    y = nest.write("output", target)
    half = 1 << (LOG_SCALE_BITS - 1)
    scale = unsigned(options["output_scale"], 64)
    with nest.loop("channel", source.elements) as channel:
        value = nest.let("value", x[channel] << unsigned(options["input_correction_bits"]))
        result = nest.local("result", unsigned(0))
        with nest.when(above(value, 1)):
            binary = nest.let("binary", _binary_logarithm(nest, value, table))
            wide = unsigned(binary, 64) * unsigned(_LN_2, 64) + unsigned(half, 64)
            natural = nest.let("natural", unsigned(wide >> unsigned(LOG_SCALE_BITS, 64)))
            scaled = nest.let(
                "scaled", unsigned(unsigned(natural, 64) * scale + unsigned(half, 64))
            )
            logarithm = nest.let("made", scaled >> unsigned(LOG_SCALE_BITS))
            most = unsigned(INT16_MAX)
            nest.store(result, (0,), tirx.Select(above(most, logarithm), logarithm, most))
        nest.store(y, (channel,), result[0])
    return nest.kernel()


_LN_2 = round(np.log(2) * (1 << LOG_SCALE_BITS))


def logarithm_table() -> Array:
    """Return log2(1 + x) - x at the segment boundaries, in units of 1 / 65536."""
    x = np.arange(LOG_SEGMENTS + 1) / LOG_SEGMENTS
    return np.round((np.log2(1 + x) - x) * (1 << LOG_SCALE_BITS)).astype(np.uint16)


def _binary_logarithm(nest: Nest, value: Any, table: Any) -> Any:
    """Return log2 of a uint32 above 1 with 16 fraction bits, interpolated in the table."""
    whole = nest.let("whole", bit_length(nest, value) - 1)
    part = nest.local("part", value - (unsigned(1) << unsigned(whole)))
    with nest.when(whole < LOG_SCALE_BITS):
        nest.store(part, (0,), part[0] << unsigned(LOG_SCALE_BITS - whole))
    with nest.when(whole > LOG_SCALE_BITS):
        nest.store(part, (0,), part[0] >> unsigned(whole - LOG_SCALE_BITS))
    fraction = nest.let("fraction", int32(part[0]))
    segment_bits = LOG_SCALE_BITS - LOG_SEGMENTS.bit_length() + 1
    segment = nest.let("segment", fraction >> segment_bits)
    low = nest.let("low", int32(table[segment]))
    high = nest.let("high", int32(table[segment + 1]))
    along = nest.let("along", fraction & ((1 << segment_bits) - 1))
    bent = fraction + low + ((high - low) * along >> LOG_SCALE_BITS)
    return unsigned((whole << LOG_SCALE_BITS) + bent)
