"""Reads sound from WAV files."""

import wave
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted

Array = np.ndarray[Any, Any]

RATE = 16000
"""Samples a second of sound for keyword spotting."""
_BYTES = 2
"""The width of a sample."""


def load_sound(path: Path) -> Array:
    """Return the samples of a WAV file, int16 [n].

    InputError for a file that is none, or is not 16-bit PCM with one channel at RATE.
    """
    try:
        with wave.open(str(path), "rb") as file:
            facts = (file.getframerate(), file.getnchannels(), file.getsampwidth())
            data = file.readframes(file.getnframes())
    except (OSError, EOFError, wave.Error, RuntimeError, MemoryError) as error:  # by a wrong header
        reason = getattr(error, "strerror", None) or str(error) or "the file ends early"
        raise InputError(f"cannot read '{path}' as a WAV file of PCM: {reason}") from None
    if facts != (RATE, 1, _BYTES):
        rate, channels, width = facts
        raise InputError(
            f"'{path}' has {counted(rate, 'sample')} a second, {counted(channels, 'channel')} and "
            f"{counted(8 * width, 'bit')}, but the application hears {RATE:,}, 1 and 16; convert "
            f"it with: sox {path.name} -r {RATE} -c 1 -b 16 mono.wav"
        )
    if not data:
        raise InputError(f"'{path}' has no samples")
    return np.frombuffer(data[: len(data) // _BYTES * _BYTES], "<i2")
