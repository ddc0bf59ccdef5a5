"""Micro-kernels for microcontrollers without DSP instructions: Cortex-M0, M0+, M3.

Weights are packed for them alone. On Armv7-M the innermost loops are in assembly; Armv6-M has the
same library with loops of its own.
"""

from ethosgen.aot.packed import MicroKernels, Source

THUMB_KERNELS = MicroKernels(
    "Thumb kernels",
    Source(
        package=__name__,
        families=("depthwise", "matrix"),
        folder="kernels/thumb",
        headers=("ethosgen_thumb.h", "ethosgen_thumb_math.h"),
    ),
    has_helium=False,
)
