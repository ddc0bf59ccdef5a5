"""Micro-kernels for the DSP instructions of Cortex-M4, M7 and M33.

Weights are packed only for them, so each library is for one processor. The C also has a form
without DSP instructions, with equal results.
"""

from ethosgen.aot.libraries.framework.library import LibrarySource, MicroKernels

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
            *("curve_s16", "layers_s16"),
        ),
        folder="kernels/dsp",
        headers=("ethosgen_dsp.h", "ethosgen_core.h", "ethosgen_dsp_s16.h", "ethosgen_dsp_math.h"),
    ),
    has_helium=False,
)
