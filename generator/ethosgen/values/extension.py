"""The instructions of a processor that decide between kernels."""

from enum import Enum


class Extension(Enum):
    """What a processor computes int8 with, besides the instructions that all have."""

    HELIUM = "helium"
    DSP = "dsp"
    NONE = "none"
    """None of Arm's for microcontrollers."""
