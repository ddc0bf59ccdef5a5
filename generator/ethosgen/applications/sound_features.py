"""The features of MLPerf Tiny's streaming wake words, as features.c computes them, bit for bit.

The steps and constants are those of the benchmark's reference firmware. Where that takes the
logarithm of a power and converts it to int8, here the power is compared with the levels at which
the result changes; features too large for int8, which overflow there, are 127.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.values.network import Tensor

Array = np.ndarray[Any, Any]

RATE = 16000
FRAME, FEATURES = 512, 40
"""Samples of a frame, and features of a window, which is two frames."""
_WINDOW = 2 * FRAME
_EMPHASIS, _EMPHASIS_BEFORE, _FULL_SCALE = 32, 31, np.float32(1 << 20)
_HAMMING, _HAMMING_COSINE = np.float32(0.54), np.float32(0.46)
_MEL_HERTZ = 700.0
_DECIBELS, _OFFSET = 64.0, 52.0
"""A feature is 0 at -52 dB, and 1 at 64 dB more."""
_INT8 = np.iinfo(np.int8)


def cosines() -> Array:
    """Return the cosines of the first quarter of a turn, in steps of one in a window."""
    values = np.cos(2 * np.pi * np.arange(FRAME // 2 + 1) / _WINDOW)
    values[-1] = 0.0
    return values.astype(np.float32)


def places() -> Array:
    """Return the position of each frequency bin among the bands, on the mel scale."""
    frequencies = np.arange(FRAME) * (RATE / _WINDOW)
    top = np.log1p(RATE / 2 / _MEL_HERTZ)
    positions: Array = np.log1p(frequencies / _MEL_HERTZ) / top * (FEATURES + 1)
    return positions.astype(np.float32)


def levels(tensor: Tensor) -> Array:
    """Return the least power of each feature above the least, for a network's input."""
    assert tensor.quantization is not None
    scale, zero = tensor.quantization.scale[0], tensor.quantization.zero_point[0]
    features = np.arange(_INT8.min + 1, _INT8.max + 1)
    quotients = np.where(features <= 0, features - 1, features)  # a conversion in C goes towards 0
    ones = (quotients - zero) * scale
    powers = 10 ** ((ones * _DECIBELS - _OFFSET) / 10) * _WINDOW
    is_least = (ones < 0) | ((ones == 0) & (features > 0))
    return np.where(is_least, 0, np.where(ones > 1, np.inf, powers)).astype(np.float32)


@dataclass(frozen=True)
class SoundTables:
    """The constants of features.c, as C writes them."""

    cosines: Sequence[str]
    places: Sequence[str]
    levels: Sequence[str]
    frame: int = FRAME
    features: int = FEATURES
    least: int = _INT8.min


def tables(tensor: Tensor) -> SoundTables:
    """Return the constants for a network's input."""
    return SoundTables(_texts(cosines()), _texts(places()), _texts(levels(tensor)))


def _texts(values: Array) -> list[str]:
    return [f"{value:.8e}f" if np.isfinite(value) else "INFINITY" for value in values]


def features_of(sound: Array, tensor: Tensor) -> Array:
    """Return the features of each frame of a stream: int8 [frames, FEATURES]."""
    count = len(sound) // FRAME
    padded = np.concatenate([np.zeros(FRAME + 1), sound[: count * FRAME]]).astype(np.int64)
    changes = _EMPHASIS * padded[1:] - _EMPHASIS_BEFORE * padded[:-1]
    starts = np.arange(count)[:, None] * FRAME
    faded = changes[starts + np.arange(_WINDOW)].astype(np.float32) / _FULL_SCALE * _weights()
    powers = _powers(_transform(faded))
    bands = _bands(powers)
    steps = np.searchsorted(levels(tensor), bands, side="right")
    return (steps + _INT8.min).astype(np.int8)


def _cosine(steps: Array) -> Array:
    step = steps % _WINDOW
    folded = np.where(step > FRAME, _WINDOW - step, step)
    first = cosines()
    half = np.concatenate([first, -first[-2::-1]])
    turn: Array = half[folded]
    return turn


def _weights() -> Array:
    return _HAMMING - _HAMMING_COSINE * _cosine(np.arange(_WINDOW))


def _transform(windows: Array) -> tuple[Array, Array]:
    """Return the real and the imaginary parts, by the firmware's operations in its order."""
    bits = _WINDOW.bit_length() - 1
    order = [int(f"{index:0{bits}b}"[::-1], 2) for index in range(_WINDOW)]
    real, imaginary = windows[:, order], np.zeros_like(windows)
    size = 2
    while size <= _WINDOW:
        steps = np.arange(size // 2) * (_WINDOW // size)
        turn_real, turn_imaginary = _cosine(steps), _cosine(steps + FRAME // 2)
        parts = [
            part.reshape(len(windows), _WINDOW // size, 2, size // 2) for part in (real, imaginary)
        ]
        (a, c), (b, d) = ((part[:, :, 0], part[:, :, 1]) for part in parts)
        turned_real = turn_real * c - turn_imaginary * d
        turned_imaginary = turn_real * d + turn_imaginary * c
        real = np.stack([a + turned_real, a - turned_real], axis=2).reshape(windows.shape)
        imaginary = np.stack([b + turned_imaginary, b - turned_imaginary], axis=2)
        imaginary = imaginary.reshape(windows.shape)
        size *= 2
    return real, imaginary


def _powers(spectra: tuple[Array, Array]) -> Array:
    real, imaginary = spectra
    powers: Array = real * real + imaginary * imaginary
    return powers


def _bands(powers: Array) -> Array:
    """Return the sums of the bands, added in the order of the frequencies."""
    at = places()
    bands = np.zeros((len(powers), FEATURES), np.float32)
    for index in range(1, FRAME):
        band = int(at[index])
        share = at[index] - np.float32(band)
        if band < FEATURES:
            bands[:, band] += powers[:, index] * share
        if band > 0:
            bands[:, band - 1] += powers[:, index] * (np.float32(1) - share)
    return bands
