"""Micro-kernels for Helium; the C has a form for other processors, too."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.library import LibrarySource, MicroKernels
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

_FAMILIES = (
    "elementwise",
    "depthwise",
    "matrix",
    "pad",
    "pool",
    "product",
    "recurrent",
    "signal",
    "softmax",
    "transpose",
    "transposed",
    "depthwise_s16",
    "matrix_s16",
)
"""Modules of this package. Importing one imports tvm, so the first lookup does it."""
_FOLDER = "kernels"
_HEADERS = (
    "ethosgen_kernels.h",
    "ethosgen_kernels_s16.h",
    "ethosgen_bytes.h",
    "ethosgen_requantize.h",
)
"""The headers of all C files; the first declares their functions."""


class HeliumKernels(MicroKernels):
    """The library, which can also add to a convolution's output some rows at a time."""

    def in_bands(
        self,
        layer: tuple[Operator, Kernel],
        addition: tuple[Operator, Kernel],
        tensors: Sequence[Tensor],
    ) -> Kernel | None:
        """Return the kernel of a CONV_2D and the ADD of its output, band by band."""
        from ethosgen.aot.libraries.helium import banded_sum

        return banded_sum.in_bands(layer, addition, tensors)


_SOURCE = LibrarySource(__name__, _FAMILIES, _FOLDER, _HEADERS)
MICRO_KERNELS = HeliumKernels("micro-kernels", _SOURCE)
MICRO_KERNELS_IN_C = HeliumKernels("micro-kernels in C", _SOURCE, has_helium=False)
"""The same for processors with DSP instructions."""
PORTABLE_MICRO_KERNELS = HeliumKernels("portable micro-kernels", _SOURCE, is_portable=True)
"""The same for processors with neither."""
