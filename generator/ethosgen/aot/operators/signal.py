"""The stages around a Fourier transform in TFLite Micro's signal library: SignalWindow,
SignalFftAutoScale and SignalEnergy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.aot.graph.custom_options import read_integers
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, int32
from ethosgen.aot.tir.quantization import clamp, limits
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Operator, Tensor


def read_ends(op: Operator, tensors: Sequence[Tensor], inputs: int, outputs: int) -> list[Tensor]:
    """Return an operator's inputs and outputs; UnsupportedError if their count is wrong."""
    if (len(op.inputs), len(op.outputs)) != (inputs, outputs) or ABSENT in op.inputs:
        raise UnsupportedError(
            f"it has {counted(len(op.inputs), 'input')} and {counted(len(op.outputs), 'output')} "
            f"instead of {inputs} and {outputs}"
        )
    return [tensors[i] for i in (*op.inputs, *op.outputs)]


def expect(tensor: Tensor, dtype: str, shape: Sequence[int]) -> None:
    """Refuse a tensor of another dtype or shape."""
    if tensor.dtype != dtype or tensor.shape != tuple(shape):
        raise UnsupportedError(
            f"'{tensor.name}' is {tensor.dtype} {list(tensor.shape)} instead of {dtype} "
            f"{list(shape)}"
        )


@dataclass(frozen=True)
class SignalWindow:
    """A checked SignalWindow: `rows` rows of the window's length."""

    source: Tensor
    weights: Tensor
    target: Tensor
    rows: int
    size: int
    shift: int


def read_window(op: Operator, tensors: Sequence[Tensor]) -> SignalWindow:
    """Return a SignalWindow; UnsupportedError if TFLite Micro would read past its end."""
    source, weights, target = read_ends(op, tensors, 2, 1)
    shift = read_integers(op, shift=(0, 31))["shift"]
    size = weights.elements
    expect(weights, "int16", (size,))
    expect(target, "int16", source.shape)
    if not source.shape or not size or source.elements % size:
        raise UnsupportedError(
            f"its input {list(source.shape)} is not a multiple of the window of "
            f"{counted(size, 'sample')}, so TFLite Micro reads past its end"
        )
    return SignalWindow(source, weights, target, source.elements // size, size, shift)


def read_auto_scale(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the checked input and outputs of a SignalFftAutoScale."""
    source, target, bits = read_ends(op, tensors, 1, 2)
    expect(source, "int16", (source.elements,))
    expect(target, "int16", (source.elements,))
    expect(bits, "int32", ())
    return source, target, bits


@operator("SignalWindow", dtypes=("int16",))
def window(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x w >> shift, saturated, for each row of the window's length (window.cc)."""
    signal = read_window(op, tensors)
    nest = Nest()
    rows = (signal.rows, signal.size)
    x, w = nest.read("input", signal.source, rows), nest.read("window", signal.weights)
    y = nest.write("output", signal.target, rows)
    with nest.loops(rows) as (row, i):
        product = nest.let("product", int32(x[row, i]) * int32(w[i]) >> signal.shift)
        nest.store(y, (row, i), clamp(product, *limits("int16")))
    return nest.kernel()


@operator("SignalFftAutoScale", dtypes=("int16",))
def auto_scale(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Shift left as far as the largest amplitude allows; output the shift (fft_auto_scale.cc).

    The original computes the amplitude of -32768 as -32768, which any later value exceeds.
    """
    source, target, bits = read_auto_scale(op, tensors)
    nest, size = Nest(), source.elements
    x, y, scale = nest.read("input", source), nest.write("output", target), nest.write("bits", bits)
    most = _amplitude(nest, x, size)
    shift = nest.local("shift", int32(0))
    with nest.when(most[0] > 0):
        for step in (8, 4, 2, 1):
            with nest.when(most[0] < 1 << (15 - step)):
                nest.store(most, (0,), most[0] << step)
                nest.store(shift, (0,), shift[0] + step)
    factor = nest.let("factor", int32(1) << shift[0])
    nest.store(scale, (0,), shift[0])
    with nest.loop("i", size) as i:
        nest.store(y, (i,), int32(x[i]) * factor)
    return nest.kernel()


def _amplitude(nest: Nest, x: Any, size: int) -> Any:
    """Return a variable with the largest amplitude of int16 samples."""
    high, low = nest.local("high", int32(0)), nest.local("low", int32(0))
    with nest.loop("i", size) as i:
        value = nest.let("value", int32(x[i]))
        before, lowest = nest.let("before", high[0]), nest.let("lowest", low[0])
        nest.store(high, (0,), tirx.max(value, before))
        nest.store(low, (0,), tirx.min(value, lowest))
    negative = nest.let("negative", int32(0) - low[0])
    most = nest.local("most", tirx.max(nest.let("highest", high[0]), negative))
    with nest.when(negative > limits("int16")[1]):
        nest.store(most, (0,), int32(0))
        with nest.loop("i", size) as i:
            value, so_far = nest.let("value", int32(x[i])), nest.let("so_far", most[0])
            flipped = nest.let("flipped", int32(0) - value)
            with nest.when(value > so_far):
                nest.store(most, (0,), value)
            with nest.when(tirx.all(value <= so_far, flipped > so_far)):
                nest.store(most, (0,), int32(tirx.Cast("int16", flipped)))
    return most


@operator("SignalEnergy", dtypes=("int16",))
def energy(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute re^2 + im^2 of the bins from start_index to end_index - 1 (energy.cc).

    The other bins are 0; TFLite Micro leaves them uninitialized.
    """
    source, target = read_ends(op, tensors, 1, 1)
    bins = target.elements
    expect(target, "uint32", (bins,))
    expect(source, "int16", (2 * bins,))
    options = read_integers(op, start_index=(0, bins), end_index=(0, bins))
    start, end = options["start_index"], max(options["end_index"], options["start_index"])
    nest = Nest()
    x, y = nest.read("input", source, (bins, 2)), nest.write("output", target)
    for first, behind in ((0, start), (end, bins)):
        if first < behind:
            with nest.loop("i", behind - first) as i:
                nest.store(y, (i + first,), tirx.const(0, "uint32"))
    if start < end:
        with nest.loop("i", end - start) as i:
            re, im = (nest.let(n, int32(x[i + start, k])) for k, n in enumerate(("re", "im")))
            squares = (tirx.Cast("uint32", part * part) for part in (re, im))
            nest.store(y, (i + start,), next(squares) + next(squares))
    return nest.kernel()
