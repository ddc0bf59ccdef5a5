"""Synthesizes the vibration of a motor, sound or with a damaged bearing.

    .venv/bin/python demo/vibration.py motor.csv    # a minute's signal; the damage is in the middle

A motor turns some 50 times a second, slower under load. Its acceleration has that frequency and two
harmonics, whose strengths depend on the load too, and noise. At each pass of a ball a damaged
bearing adds a short ringing, which is small beside the rest.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

RATE = 2000
"""Samples in a second."""
WINDOW = 128
"""Samples that the network sees at a time: 64 ms."""
DAMAGE = 0.35
"""The ringing's strength beside the fundamental's, which is about 1."""

_TURNS_HZ, _SLIP_HZ = 50.0, 1.5
_STRENGTHS = (1.0, 0.4, 0.2)
_NOISE = 0.03
_PASSES_HZ, _RINGING_HZ, _DECAY_S = 179.0, 710.0, 0.002
_MINUTE_S, _FROM_S, _TO_S = 60.0, 25.0, 40.0


def signal(seconds: float, rng: np.random.Generator, damage: float = 0.0) -> Array:
    """Return the acceleration in g, float32 [seconds * RATE], at one load that `rng` draws."""
    time = np.arange(round(seconds * RATE)) / RATE
    load = rng.uniform()
    turns = (_TURNS_HZ - _SLIP_HZ * load) * time + rng.uniform()
    total = rng.normal(0, _NOISE, len(time))
    for order, strength in enumerate(_STRENGTHS, 1):
        total += strength * (0.7 + 0.3 * load) * np.sin(2 * np.pi * order * turns + order)
    since = (time + rng.uniform()) % (1 / _PASSES_HZ)
    total += damage * np.exp(-since / _DECAY_S) * np.sin(2 * np.pi * _RINGING_HZ * since)
    return total.astype(np.float32)


def windows(count: int, seed: int, damage: float = 0.0) -> Array:
    """Return windows at loads of their own, float32 [count, WINDOW]."""
    rng = np.random.default_rng(seed)
    return np.stack([signal(WINDOW / RATE, rng, damage) for _ in range(count)])


def minute(seed: int) -> Array:
    """Return a minute's signal whose bearing is damaged from second 25 to second 40."""
    parts = ((_FROM_S, 0.0), (_TO_S - _FROM_S, DAMAGE), (_MINUTE_S - _TO_S, 0.0))
    rng = np.random.default_rng(seed)
    return np.concatenate([signal(seconds, rng, damage) for seconds, damage in parts])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a minute of a motor's vibration.")
    parser.add_argument("file", type=Path, help="the .csv file")
    place = parser.parse_args().file
    np.savetxt(place, minute(1), "%.4f", header="acceleration_g", comments="")
