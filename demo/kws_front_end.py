"""Writes demo/kws_front_end.tflite: 30 ms of sound to 40 features, as a network.

    .venv/bin/python demo/kws_front_end.py            # write the file
    .venv/bin/python demo/kws_front_end.py --check    # compare it with the committed one

The operators, their order and their constants are those of TensorFlow Lite Micro's micro_speech
(audio_preprocessor.py there), so networks trained for that front end work behind this one. All
arithmetic is in integers: a window, a Fourier transform, energies in 40 mel bands, subtraction of
the noise, automatic gain (PCAN), a logarithm, and a scale to int8. The estimate of the noise is a
state: sound has to come in order, hop by hop.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from rich.console import Console

from ethosgen.frontend.tflite.writer import write_network
from ethosgen.values.dialect import OPS
from ethosgen.values.network import Graph, Network, Operator, Tensor

Array = np.ndarray[Any, Any]

FILE = Path(__file__).parent / "kws_front_end.tflite"
RATE = 16000
"""Samples of sound in a second."""
WINDOW = 480
"""Samples in a window: 30 ms."""
HOP = 320
"""Samples from one window to the next: 20 ms. Not in the file: whoever feeds it hops."""
CHANNELS = 40
"""Mel bands, and features of one hop."""

_TRANSFORM = 512
_LOWEST, _HIGHEST = 125.0, 7500.0
"""The limits of the bands in Hz."""
_WINDOW_BITS = 12
_WEIGHT_BITS = 12
_BLOCK = 4
"""Weights of a band begin at, and fill, multiples of these many bytes and weights."""
_CORRECTION_BITS = 9 - _WEIGHT_BITS // 2
"""By how many bits the bands' roots are too large: 9 is log2 of the transform's length."""
_SUBTRACTION_BITS = 14
_GAIN_BITS, _GAIN_SNR_BITS = 21, 12
_GAIN_INPUT_BITS = 10 - _CORRECTION_BITS
"""Bits behind the binary point of the noise that selects a gain: smoothing gives it 10."""
_GAIN_STRENGTH, _GAIN_OFFSET = 0.95, 80.0

console = Console()


@dataclass
class Draft:
    """A network in the making: tensors and operators are added in order."""

    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)

    def tensor(self, name: str, shape: Sequence[int], dtype: str, data: Any = None) -> int:
        """Add a tensor; return its index."""
        constant = None if data is None else np.asarray(data, dtype).tobytes()
        index = len(self.tensors)
        self.tensors.append(Tensor(index, name, tuple(shape), dtype, data=constant))
        return index

    def constant(self, name: str, data: Any, dtype: str) -> int:
        """Add a constant; return its index."""
        return self.tensor(name, np.shape(data), dtype, data)

    def signal(
        self, kind: str, inputs: Sequence[int], outputs: Sequence[int], **options: Any
    ) -> None:
        """Add an operator of the signal library."""
        packed = bytes(flexbuffers.Dumps(options)) if options else b""
        self._add("CUSTOM", inputs, outputs, custom_code=f"Signal{kind}", custom_options=packed)

    def operator(self, code: str, inputs: Sequence[int], output: int, **options: Any) -> None:
        """Add a builtin operator."""
        if code == "CAST":
            types = self.tensors[inputs[0]].dtype, self.tensors[output].dtype
            options = dict(zip(("in_data_type", "out_data_type"), types, strict=True))
        self._add(code, inputs, [output], options=OPS[code].defaults() | options)

    def _add(self, code: str, inputs: Sequence[int], outputs: Sequence[int], **more: Any) -> None:
        index = len(self.operators)
        self.operators.append(Operator(index, code, tuple(inputs), tuple(outputs), **more))


def front_end() -> bytes:
    """Return the file: int16 [1, 480] in, int8 [40] out."""
    net = Draft()
    audio = net.tensor("audio", (1, WINDOW), "int16")
    bands, bits = _spectrum(net, audio)
    features = _scaled(net, _levels(net, bands, bits))
    graph = Graph("main", tuple(net.tensors), tuple(net.operators), (audio,), (features,))
    return write_network(Network("kws_front_end", (graph,)))


def _spectrum(net: Draft, audio: int) -> tuple[int, int]:
    """Add what turns sound into energies of bands; return them, and the bits of their scale."""
    windowed = net.tensor("windowed", (1, WINDOW), "int16")
    flat = net.tensor("flat", (WINDOW,), "int16")
    scaled, bits = net.tensor("scaled", (WINDOW,), "int16"), net.tensor("bits", (), "int32")
    transform = net.tensor("transform", (_TRANSFORM + 2,), "int16")
    bins = _TRANSFORM // 2 + 1
    bank = filter_bank()
    flat_shape = net.constant("flat_shape", [WINDOW], "int32")
    energy = net.tensor("energy", (bins,), "uint32")
    net.signal("Window", [audio, net.constant("hann", hann_window(), "int16")], [windowed],
               shift=_WINDOW_BITS)  # fmt: skip
    net.operator("RESHAPE", [windowed, flat_shape], flat)
    net.signal("FftAutoScale", [flat], [scaled, bits])
    net.signal("Rfft", [scaled], [transform], T=7, fft_length=_TRANSFORM)  # T 7 is int16
    net.signal("Energy", [transform], [energy], start_index=bank.start, end_index=bank.end)
    bands = net.tensor("bands", (CHANNELS,), "uint64")
    tables = [
        net.constant("band_weights", bank.weights, "int16"),
        net.constant("band_unweights", bank.unweights, "int16"),
        net.constant("band_starts", bank.starts, "int16"),
        net.constant("band_weight_starts", bank.weight_starts, "int16"),
        net.constant("band_widths", bank.widths, "int16"),
    ]
    inside = _zeros_outside(net, energy, bank.start, bank.end)
    net.signal("FilterBank", [inside, *tables], [bands], num_channels=CHANNELS)
    return bands, bits


def _zeros_outside(net: Draft, energy: int, start: int, end: int) -> int:
    """Add what sets bins outside start..end to 0, where TFLM's SignalEnergy writes nothing."""
    bins = net.tensors[energy].elements
    signed = net.tensor("energy_int32", (bins,), "int32")
    middle = net.tensor("energy_inside", (end - start,), "int32")
    whole = net.tensor("energy_whole", (bins,), "int32")
    result = net.tensor("energy_uint32", (bins,), "uint32")
    limits = [net.constant(f"slice_{n}", [n], "int32") for n in (start, end, 1)]
    ends = [net.constant(f"zeros_{n}", [0] * n, "int32") for n in (start, bins - end)]
    net.operator("CAST", [energy], signed)
    net.operator("STRIDED_SLICE", [signed, *limits], middle)
    net.operator("CONCATENATION", [ends[0], middle, ends[1]], whole, axis=0)
    net.operator("CAST", [whole], result)
    return result


def _levels(net: Draft, bands: int, bits: int) -> int:
    """Add what turns energies into logarithms of levels above the noise; return them."""
    roots, clean, noise, even = (
        net.tensor(name, (CHANNELS,), "uint32") for name in ("roots", "clean", "noise", "even")
    )
    levels = net.tensor("levels", (CHANNELS,), "int16")
    net.signal("FilterBankSquareRoot", [bands, bits], [roots])
    unit = 1 << _SUBTRACTION_BITS
    slow, fast = int(0.025 * unit), int(0.06 * unit)
    net.signal("FilterBankSpectralSubtraction", [roots], [clean, noise], num_channels=CHANNELS,
               smoothing=slow, one_minus_smoothing=unit - slow, alternate_smoothing=fast,
               alternate_one_minus_smoothing=unit - fast, min_signal_remaining=int(0.05 * unit),
               smoothing_bits=10, spectral_subtraction_bits=_SUBTRACTION_BITS,
               clamping=False)  # fmt: skip
    gains = net.constant("gains", gain_table(), "int16")
    shift = _GAIN_BITS - _CORRECTION_BITS - _GAIN_SNR_BITS
    net.signal("PCAN", [clean, noise, gains], [even], snr_shift=shift)
    net.signal("FilterBankLog", [even], [levels], output_scale=64,
               input_correction_bits=_CORRECTION_BITS)  # fmt: skip
    return levels


def _scaled(net: Draft, levels: int) -> int:
    """Add what scales levels to int8: 256 / (25.6 * 26), as micro_speech was trained."""
    current = net.tensor("levels_int32", (CHANNELS,), "int32")
    net.operator("CAST", [levels], current)
    steps = (("MUL", 256), ("ADD", 333), ("DIV", 666), ("ADD", -128), ("MINIMUM", 127),
             ("MAXIMUM", -128))  # fmt: skip
    for number, (code, value) in enumerate(steps):
        result = net.tensor(f"scale_{number}", (CHANNELS,), "int32")
        net.operator(code, [current, net.constant(f"by_{number}", value, "int32")], result)
        current = result
    features = net.tensor("features", (CHANNELS,), "int8")
    net.operator("CAST", [current], features)
    return features


def hann_window() -> Array:
    """Return the Hann window [480], scaled by 4096."""
    angles = 2 * np.pi / WINDOW * (np.arange(WINDOW) + 0.5)
    weights: Array = np.round((0.5 - 0.5 * np.cos(angles)) * (1 << _WINDOW_BITS))
    return weights.astype(np.int16)


def gain_table() -> Array:
    """Return PCAN's gain by level [125]: for each power of two a parabola's 3 terms and a 0."""

    def gain(level: int) -> int:
        value = 2.0**_GAIN_BITS * (level / 2.0**_GAIN_INPUT_BITS + _GAIN_OFFSET) ** -_GAIN_STRENGTH
        return min(int(value + 0.5), 32767)

    table = [gain(0), gain(1)]
    for bits in range(1, 32):
        low = 1 << bits
        high = 2 * low if bits < 31 else 2 * low - 1
        first, middle, last = gain(low), gain(low + low // 2), gain(high)
        linear = 4 * (middle - first) - (last - first)
        table += [first, linear, last - first - linear, 0]
    return np.array(table[:125], np.int16)


@dataclass(frozen=True)
class FilterBank:
    """Mel bands as SignalFilterBank has them: each bin counts in two adjacent bands.

    `start` and `end` limit the bins that count; the other fields are int16 arrays.
    """

    start: int
    end: int
    weights: Array
    unweights: Array
    starts: Array
    weight_starts: Array
    widths: Array


def filter_bank() -> FilterBank:
    """Return the bands, in TFLM's arithmetic of 32-bit floats (filter_bank_ops.py there)."""
    width_hz = RATE / _TRANSFORM
    low, high = _mel(_LOWEST), _mel(_HIGHEST)
    spacing = (high - low) / np.float32(CHANNELS + 1)
    centers = low + spacing * np.arange(1, CHANNELS + 2, dtype=np.float32)
    start = current = round(1 + _LOWEST / width_hz)
    aligned = _BLOCK // np.dtype(np.int16).itemsize
    weights: list[int] = []
    unweights: list[int] = []
    starts, weight_starts, widths = [], [], []
    for channel, center in enumerate(centers):
        below = centers[channel - 1] if channel else low
        begin = current // aligned * aligned
        starts.append(begin)
        weight_starts.append(len(weights))
        row = [0] * (current - begin)
        other = row.copy()
        while _mel(current * width_hz) <= center:
            share = (center - _mel(current * width_hz)) / (center - below)
            row.append(int(share * (1 << _WEIGHT_BITS)))
            other.append(int((1 - share) * (1 << _WEIGHT_BITS)))
            current += 1
        padding = [0] * (-len(row) % _BLOCK)
        weights += row + padding
        unweights += other + padding
        widths.append(len(row + padding))
    tables = (weights, unweights, starts, weight_starts, widths)
    return FilterBank(start, current, *(np.array(table, np.int16) for table in tables))


def _mel(frequency: float) -> np.float32:
    """Return a frequency in Hz on the mel scale (O'Shaughnessy), rounded as TFLM rounds it."""
    ratio = np.float32(frequency) / np.float32(700)
    return np.float32(np.float32(1127) * np.float32(np.log1p(np.float64(ratio))))


def main() -> int:
    """Write or compare the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    data = front_end()
    if parser.parse_args().check:
        same = data == FILE.read_bytes()
        console.print(f"{FILE.name}: {'the same bytes' if same else 'other bytes'}")
        return 0 if same else 1
    FILE.write_bytes(data)
    console.print(f"{len(data):,} B, {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
