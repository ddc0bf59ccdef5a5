"""Sounds (.wav) as samples: 16 bits, one channel."""

import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.samples.quantizing import quantized
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Tensor

Array = np.ndarray[Any, Any]

SUFFIX = ".wav"
_FULL_SCALE = 32768
_BYTES = 2


@dataclass(frozen=True)
class Sound:
    """A sound's values, int16, and their number per second."""

    values: Array
    rate_hz: int


def read_sound(path: Path) -> Sound:
    """Read a file; InputError names it if it is not a sound of 16 bits and one channel."""
    try:
        with wave.open(str(path), "rb") as file:
            kind = file.getnchannels(), file.getsampwidth()
            rate_hz, data = file.getframerate(), file.readframes(file.getnframes())
    except (OSError, EOFError, wave.Error, RuntimeError, MemoryError):
        raise InputError(f"{path}: not a readable .wav file of plain PCM") from None
    if kind != (1, _BYTES):
        channels, size = counted(kind[0], "channel"), 8 * kind[1]
        raise InputError(
            f"{path}: has {channels} of {counted(size, 'bit')}; save it with one of 16 bits"
        )
    return Sound(np.frombuffer(data, "<i2", len(data) // _BYTES).astype(np.int16), rate_hz)


def as_steps(path: Path, sound: Sound, tensor: Tensor, is_sequence: bool, pad: bool) -> Array:
    """Return a sound in an input's type, (steps, *the input's shape).

    A sequence has as many steps as the sound fills, otherwise there is one step, and the sound must
    have its length. With `pad`, silence follows a sound that is too short, and the end of one that
    is too long is cut off.
    """
    values, size = sound.values, tensor.elements
    steps = (pieces(len(values), size) if pad else len(values) // size) if is_sequence else 1
    if pad:
        values = np.pad(values, (0, max(0, steps * size - len(values))))
    if not steps or (len(values) < size) or (len(values) != size and not (is_sequence or pad)):
        raise InputError(
            f"{path}: has {counted(len(values), 'value')}, but the input needs {size:,}; cut it as "
            "for training, or add silence or cut off the end with --pad"
        )
    whole = values[: steps * size].reshape(steps, *tensor.shape)
    return quantized(whole.astype(np.float32) / _FULL_SCALE, tensor) if _scales(tensor) else whole


def meaning(tensor: Tensor, rate_hz: int) -> str:
    """Return a sentence about the conversion of a sound's values."""
    what = f"v / {_FULL_SCALE:,} as {tensor.dtype}" if _scales(tensor) else "v as int16"
    return f"{rate_hz:,} Hz, {what}"


def _scales(tensor: Tensor) -> bool:
    """Return whether values become numbers from -1 to 1, and are then quantized."""
    return tensor.dtype != "int16"
