"""Micro-kernels for microcontrollers without DSP instructions: Cortex-M0, M0+, M3.

Weights are packed for an architecture. The innermost loops are in assembly, with equivalents in C.
"""

from ethosgen.aot.libraries.framework.library import LibrarySource, MicroKernels


def _kernels(name: str, layers: str) -> MicroKernels:
    """Return the library of an architecture."""
    headers = ("ethosgen_thumb.h", "ethosgen_core.h", "ethosgen_thumb_math.h")
    source = LibrarySource(__name__, (layers,), "kernels/thumb", headers, shared="dsp")
    return MicroKernels(name, source, has_helium=False)


ARMV7M_KERNELS = _kernels("Armv7-M kernels", "layers:ARMV7M_LAYERS")
ARMV6M_KERNELS = _kernels("Armv6-M kernels", "layers:ARMV6M_LAYERS")
