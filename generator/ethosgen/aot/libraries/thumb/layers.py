"""The operators that have kernels for Armv6-M (Cortex-M0 and M0+) and for Armv7-M (Cortex-M3)."""

from collections.abc import Callable
from functools import partial

from ethosgen.aot.libraries.framework.library import Packed, packed
from ethosgen.aot.libraries.framework.padding import estimate, moved
from ethosgen.aot.libraries.framework.products import product_kernel
from ethosgen.aot.libraries.framework.recurrent import lstm_of, svdf_of
from ethosgen.aot.libraries.thumb import cost, depthwise, matrix, pad, transposed
from ethosgen.aot.libraries.thumb.matrix import ARMV6M, ARMV7M, Form
from ethosgen.aot.libraries.thumb.recurrent import SUMS


def layers_of(form: Form, moving: Callable[[int, bool], float]) -> tuple[Packed, ...]:
    """Declare the operators of an architecture; `moving` estimates the cycles of moving bytes."""
    depthwise_cycles = partial(depthwise.cycles, form=form)
    pad_cycles = estimate(moving)
    pads = packed("PAD", cycles=pad_cycles)(pad.pad)
    return (
        packed("FULLY_CONNECTED", cycles=cost.DENSE)(partial(matrix.dense, form=form)),
        packed("CONV_2D", cycles=cost.CONVOLUTION)(partial(matrix.conv_2d, form=form)),
        packed("DEPTHWISE_CONV_2D", cycles=depthwise_cycles)(
            partial(depthwise.depthwise, form=form)
        ),
        # Without an estimate: that of the plain kernel, half of what it takes here, is for Helium.
        packed("TRANSPOSE_CONV")(partial(transposed.transpose_conv, form=form)),
        packed("SVDF", cycles=cost.svdf)(partial(svdf_of, sums=SUMS[form])),
        packed("UNIDIRECTIONAL_SEQUENCE_LSTM", cycles=cost.lstm)(partial(lstm_of, sums=SUMS[form])),
        packed("PAD", dtype="int16", cycles=pad_cycles)(pads),
        packed("BATCH_MATMUL", cycles=cost.matrix_product)(product_kernel),
    )


ARMV7M_LAYERS = layers_of(ARMV7M, moved)
ARMV6M_LAYERS = layers_of(ARMV6M, pad.moved_armv6m)
