"""The instructions of a processor that decide between kernels."""

from enum import Enum


class Extension(Enum):
    """A processor's extension for int8, besides the common instructions."""

    HELIUM = "helium"
    DSP = "dsp"
    THUMB2 = "thumb2"
    """Armv7-M without DSP instructions: a Cortex-M3."""
    THUMB = "thumb"
    """Armv6-M: a Cortex-M0 or M0+."""
    NONE = "none"
    """None of Arm's for microcontrollers: a processor for Linux."""
