"""SignalRfft and SignalIrfft of int16; stages of factor 4 process four numbers at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ethosgen.aot.arithmetic.butterflies import find_stages, is_by_fours
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.operators.fft import IRFFT, RFFT, irfft_kernel, rfft_kernel
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

FFT = frozenset({"ethosgen_fft_s16.c"})


@packed(RFFT, dtype="int16")
def packed_rfft(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Return a transform with micro-kernels, None if no stage has one."""
    return _packed(rfft_kernel, op, tensors)


@packed(IRFFT, dtype="int16")
def packed_irfft(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Return an inverse transform with micro-kernels, None if no stage has one."""
    return _packed(irfft_kernel, op, tensors)


def _packed(build: Callable[..., Kernel], op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    kernel = build(op, tensors, by_fours=True)
    stages = find_stages(int(op.options["fft_length"]) // 2)
    if not any(is_by_fours(stage, stages) for stage in stages):
        return None
    return replace(kernel, sources=FFT)
