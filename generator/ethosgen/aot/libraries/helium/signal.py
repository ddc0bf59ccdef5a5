"""The signal library, of int16: 8 values at a time, and 4 in stages of factor 4 of a transform."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ethosgen.aot.arithmetic.butterflies import find_stages, is_by_fours
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.operators.fft import IRFFT, RFFT, irfft_kernel, rfft_kernel
from ethosgen.aot.operators.signal import read_auto_scale, read_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

SIGNAL = frozenset({"ethosgen_signal_s16.c"})
FFT = frozenset({"ethosgen_fft_s16.c"})


@packed("SignalWindow", dtype="int16")
def packed_window(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Return the packed form of a SignalWindow."""
    signal = read_window(op, tensors)
    nest, rows = Nest(), (signal.rows, signal.size)
    x, w = nest.read("input", signal.source, rows), nest.read("window", signal.weights)
    y = nest.write("output", signal.target, rows)
    with nest.loop("row", signal.rows) as row:
        ends = tirx.address_of(y[row, 0]), tirx.address_of(x[row, 0]), w.data
        nest.call("ethosgen_window_s16", *ends, signal.size, signal.shift)
    return nest.kernel(SIGNAL)


@packed("SignalFftAutoScale", dtype="int16")
def packed_auto_scale(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Return the packed form of a SignalFftAutoScale."""
    source, target, bits = read_auto_scale(op, tensors)
    nest = Nest()
    x, y, places = (
        nest.read("input", source),
        nest.write("output", target),
        nest.write("bits", bits),
    )
    nest.call("ethosgen_auto_scale_s16", y.data, places.data, x.data, source.elements)
    return nest.kernel(SIGNAL)


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
