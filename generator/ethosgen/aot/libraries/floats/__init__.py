"""Kernels for float32: for Helium's floating point, for a Cortex-M's FPU, and in plain C.

Lanes are output channels, and a product is rounded before it is added. So each output is the sum of
the same roundings as in TFLite Micro's reference kernels on a computer, bit for bit; only numbers
that are subnormal in float32 are zero for Helium (docs/builds.md).
"""

from ethosgen.aot.libraries.framework.library import LibrarySource, MicroKernels

_SOURCE = LibrarySource(
    package=__name__,
    families=(
        "binary",
        "conversion",
        "depthwise",
        "matrix",
        "pool",
        "product",
        "recurrent",
        "resize",
    ),
    folder="kernels/floats",
    headers=("ethosgen_floats.h", "ethosgen_floats_math.h", "ethosgen_matrix_fpu.h"),
)
FLOAT_KERNELS = MicroKernels("float kernels", _SOURCE)
FLOAT_KERNELS_IN_C = MicroKernels("float kernels without Helium", _SOURCE, has_helium=False)
"""The same for other microcontrollers."""
PORTABLE_FLOAT_KERNELS = MicroKernels("portable float kernels", _SOURCE, is_portable=True)
"""The same for other processors."""
