"""Micro-kernels for the DSP instructions of Cortex-M4, M7 and M33.

Weights are packed for them alone, so a library is made for a processor. The C also has a form
without DSP instructions, with equal results.
"""

from ethosgen.aot.libraries.framework.library import LibrarySource, MicroKernels

_OF_INT16 = tuple(
    f"{family}_s16"
    for family in ("curve", "depthwise", "matrix", "pool", "product", "recurrent", "softmax")
)

DSP_KERNELS = MicroKernels(
    "DSP kernels",
    LibrarySource(
        package=__name__,
        families=(
            "depthwise",
            "matrix",
            "pad",
            "pool",
            "product",
            "recurrent",
            "transposed",
            *_OF_INT16,
        ),
        folder="kernels/dsp",
        headers=("ethosgen_dsp.h", "ethosgen_core.h", "ethosgen_dsp_s16.h", "ethosgen_dsp_math.h"),
    ),
    has_helium=False,
)
