"""SignalWindow and SignalFftAutoScale, 8 values at a time."""

from collections.abc import Sequence

from tvm import tirx

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.operators.signal import read_auto_scale, read_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor

SIGNAL = frozenset({"ethosgen_signal_s16.c"})


@packed("SignalWindow", dtype="int16")
def packed_window(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Return the packed form of a SignalWindow."""
    found = read_window(op, tensors)
    nest, rows = Nest(), (found.rows, found.size)
    x, w = nest.read("input", found.source, rows), nest.read("window", found.weights)
    y = nest.write("output", found.target, rows)
    with nest.loop("row", found.rows) as row:
        ends = tirx.address_of(y[row, 0]), tirx.address_of(x[row, 0]), w.data
        nest.call("ethosgen_window_s16", *ends, found.size, found.shift)
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
