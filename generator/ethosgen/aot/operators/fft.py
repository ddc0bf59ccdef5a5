"""SignalRfft and SignalIrfft: TFLite Micro's Fourier transforms, from kissfft (v130).

A transform of n real numbers is a transform of n / 2 complex numbers and a step that separates or
combines the spectra of even and odd samples (kiss_fftr.c).
"""

from collections.abc import Sequence
from typing import Any

from ethosgen.aot.arithmetic.butterflies import Load, Pointers, Store, Transform
from ethosgen.aot.arithmetic.scalar import Complex
from ethosgen.aot.graph.custom_options import read_integers
from ethosgen.aot.operators import operator
from ethosgen.aot.operators.signal import read_ends
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

RFFT, IRFFT = "SignalRfft", "SignalIrfft"
LONGEST = 1 << 16
_TYPES = {"float32": 0, "int32": 2, "int16": 7}
"""Values of the option T, from TFLite's schema."""
SPLIT, JOIN = "ethosgen_fft_split_s16", "ethosgen_fft_join_s16"
"""Micro-kernels in templates/kernels/ethosgen_fft_s16.c."""


def _read_ends(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor, int]:
    """Return the input, the output and the number of real values."""
    source, target = read_ends(op, tensors, 1, 1)
    options = read_integers(op, T=(0, 32), fft_length=(4, LONGEST))
    length = options["fft_length"]
    if options["T"] != _TYPES[source.dtype] or target.dtype != source.dtype:
        raise UnsupportedError("its option T is not the type of its input and its output")
    if length % 2:
        raise UnsupportedError(f"its fft_length is {length}, which is odd")
    return source, target, length


def _check_shapes(spectrum: Tensor, signal: Tensor, length: int, *, padded: bool) -> None:
    """Refuse tensors whose bounds TFLite Micro would exceed."""
    bins = length + 2
    last = signal.shape[-1] if signal.shape else 0
    fits = (0 < last <= length if padded else last == length) and spectrum.shape[-1:] == (bins,)
    if not fits or spectrum.shape[:-1] != signal.shape[:-1]:
        raise UnsupportedError(
            f"the shapes {list(signal.shape)} and {list(spectrum.shape)} of signal and spectrum do "
            f"not fit its fft_length {length}: their last dimensions must be {length} and {bins}"
        )


@operator(RFFT, dtypes=("int16", "int32", "float32"))
def rfft(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute n / 2 + 1 bins of n real values, zero-padded; fixed point scales by 1 / n.

    Intermediate results use the bins' memory.
    """
    return rfft_kernel(op, tensors, by_fours=False)


def rfft_kernel(op: Operator, tensors: Sequence[Tensor], *, by_fours: bool) -> Kernel:
    """Return the kernel of a SignalRfft; `by_fours` uses micro-kernels where they exist."""
    source, target, length = _read_ends(op, tensors)
    _check_shapes(target, source, length, padded=True)
    work = Transform(source.dtype, length, inverse=False, by_fours=by_fours)
    nest, count, size = work.nest, work.count, source.shape[-1]
    rows = source.elements // size
    x = nest.read("input", source, (rows, size))
    work.declare_tables()
    bins = nest.write("output", target, (rows, count + 1, 2))
    with nest.loop("row", rows) as row:

        def sample(index: Any) -> Any:
            value = work.scalar.load(x[row, index])
            if size == length:
                return value
            return tirx.if_then_else(index < size, value, work.scalar.number(0))

        def load(index: Any) -> Complex:
            return sample(index * 2), sample(index * 2 + 1)

        read, write = work.reader(bins, row), work.writer(bins, row)
        memory = Pointers(tirx.address_of(x[row, 0]), size, tirx.address_of(bins[row, 0, 0]))
        work.transform(load, read, write, memory)
        _split(work, read, write, memory.target)
    return nest.kernel()


def _split(work: Transform, read: Load, write: Store, bins: Any) -> None:
    """Separate the spectra of even and odd samples (kiss_fftr); `bins` points to them."""
    nest, scalar, count = work.nest, work.scalar, work.count
    constant = work.shrunk("constant", read(0), 2)
    write(0, (scalar.plus(*constant), scalar.number(0)))
    write(count, (scalar.minus(*constant), scalar.number(0)))
    if work.by_fours:
        nest.call(SPLIT, bins, work.halves_view.data, count)
        return
    with nest.loop("k", count // 2, 1) as k:
        total, gap = _folded(work, read(k), read(count - k))
        turned = scalar.multiply(gap, work.bound("factor", work.pair(work.halves_view, k - 1)))
        turned = work.kept("turned", (scalar.wrap(turned[0]), scalar.wrap(turned[1])))
        whole = scalar.add(total, turned)
        mirrored = scalar.minus(total[0], turned[0]), scalar.minus(turned[1], total[1])
        write(k, (scalar.half(whole[0]), scalar.half(whole[1])))
        write(count - k, (scalar.half(mirrored[0]), scalar.half(mirrored[1])))


def _folded(work: Transform, near: Complex, far: Complex) -> tuple[Complex, Complex]:
    """Return the sum and difference of a bin and its conjugate, each halved in fixed point."""
    scalar = work.scalar
    near, far = work.bound("near", near), work.bound("far", far)
    a = work.shrunk("a", near, 2)
    b = work.shrunk("b", (far[0], scalar.wrap(scalar.negative(far[1]))), 2)
    return work.bound("total", scalar.add(a, b)), work.bound("gap", scalar.subtract(a, b))


@operator(IRFFT, dtypes=("int16", "int32", "float32"))
def irfft(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute n values from n / 2 + 1 bins; float32 is divided by n, like fixed point."""
    return irfft_kernel(op, tensors, by_fours=False)


def irfft_kernel(op: Operator, tensors: Sequence[Tensor], *, by_fours: bool) -> Kernel:
    """Return the kernel of a SignalIrfft; `by_fours` uses micro-kernels where they exist."""
    source, target, length = _read_ends(op, tensors)
    _check_shapes(source, target, length, padded=False)
    work = Transform(source.dtype, length, inverse=True, by_fours=by_fours)
    nest, count, rows = work.nest, work.count, target.elements // length
    bins = nest.read("input", source, (rows, count + 1, 2))
    work.declare_tables()
    y = nest.write("output", target, (rows, count, 2))
    room = nest.workspace("room", source.dtype, (count, 2))
    with nest.loop("row", rows) as row:
        places = tirx.address_of(room[0, 0]), tirx.address_of(bins[row, 0, 0])
        _join(work, work.reader(bins, row), work.writer(room), places)
        read, write = work.reader(y, row), work.writer(y, row)
        memory = Pointers(places[0], length, tirx.address_of(y[row, 0, 0]))
        work.transform(work.reader(room), read, write, memory)
        if source.dtype == "float32":
            with nest.loop("i", count) as i:
                re, im = (tirx.div(part, work.scalar.number(length)) for part in read(i))
                write(i, (re, im))
    return nest.kernel()


def _join(work: Transform, read: Load, write: Store, places: tuple[Any, Any]) -> None:
    """Combine the spectra of even and odd samples (kiss_fftri).

    `places` are pointers to the result and to the bins.
    """
    nest, scalar, count = work.nest, work.scalar, work.count
    ends = [nest.let("end", read(place)[0]) for place in (0, count)]
    first = scalar.wrap(scalar.plus(*ends)), scalar.wrap(scalar.minus(*ends))
    write(0, work.shrunk("first", first, 2))
    if work.by_fours:
        nest.call(JOIN, *places, work.halves_view.data, count)
        return
    with nest.loop("k", count // 2, 1) as k:
        even, gap = _folded(work, read(k), read(count - k))
        factor = work.bound("factor", work.pair(work.halves_view, k - 1))
        odd = work.kept("odd", scalar.multiply(gap, factor))
        write(k, scalar.add(even, odd))
        mirrored = scalar.subtract(even, odd)
        write(count - k, (mirrored[0], scalar.negative(mirrored[1])))
