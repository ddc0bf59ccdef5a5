"""The operators that have kernels for Armv6-M (Cortex-M0 and M0+)."""

from collections.abc import Sequence
from functools import partial

from ethosgen.aot.dsp.pad import estimate
from ethosgen.aot.dsp.recurrent import lstm_of, svdf_of
from ethosgen.aot.operators import Kernel
from ethosgen.aot.packed import packed
from ethosgen.aot.thumb import cost, depthwise, matrix, pad, transposed
from ethosgen.aot.thumb.matrix import ARMV6M
from ethosgen.aot.thumb.recurrent import SUMS
from ethosgen.values.network import Operator, Tensor


@packed("FULLY_CONNECTED", cycles=cost.DENSE)
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply rows by weights."""
    return matrix.dense(op, tensors, ARMV6M)


@packed("CONV_2D", cycles=cost.CONVOLUTION)
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the pixels under windows by weights."""
    return matrix.conv_2d(op, tensors, ARMV6M)


@packed("DEPTHWISE_CONV_2D", cycles=partial(depthwise.cycles, form=ARMV6M))
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the pixels under windows by weights, each channel by itself."""
    return depthwise.depthwise(op, tensors, ARMV6M)


@packed("TRANSPOSE_CONV")
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each phase of the strides.

    Without an estimate, since that of the plain kernel, half of what it takes here, is for Helium.
    """
    return transposed.transpose_conv(op, tensors, ARMV6M)


@packed("SVDF", cycles=cost.svdf)
def svdf(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute a row of features by one call."""
    return svdf_of(op, tensors, SUMS[ARMV6M])


@packed("UNIDIRECTIONAL_SEQUENCE_LSTM", cycles=cost.lstm)
def lstm(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all time steps of a batch by one call."""
    return lstm_of(op, tensors, SUMS[ARMV6M])


@packed("PAD", cycles=estimate(pad.moved_armv6m))
@packed("PAD", dtype="int16", cycles=estimate(pad.moved_armv6m))
def padding(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Copy rows, and fill the gaps between them."""
    return pad.pad(op, tensors)
