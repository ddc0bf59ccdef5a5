"""The cycles of the micro-kernels for int8, with Helium and in C.

The figures are least squares over instructions counted on QEMU: 219 layers on mps3-an547 (a
Cortex-M55 with Helium), and the same compiled for a Cortex-M33. `bench/layers.py` draws them,
evidence/choice.md has the errors. The estimates follow the loops of the C: rows, blocks of
channels, blocks of depth. `lines.py` and `strips.py` estimate convolutions.
"""

from ethosgen.aot.cost import TwoForms, per_element
from ethosgen.aot.libraries.framework.sizes import LayerSizes, estimate_of, rows_or_patches
from ethosgen.aot.libraries.helium.order import fits_eights
from ethosgen.values.multiples import pieces

LANES, BLOCK, HALF = 16, 4, 8
"""Bytes of a vector; channels of a block of the matrix kernel, and of an average pool."""


def multiplied(rows: int, depth: int, channels: int) -> float:
    """Return the estimate of the instructions for rows times weights with Helium.

    Those for a block are counts of the assembly, not least squares.
    """
    blocks, vectors = pieces(channels, BLOCK), pieces(depth, LANES)
    pairs, rest = divmod(rows, 2)
    if vectors == 1 and rows > 1:
        return 110 + blocks * (27 + 20.0 * rows)
    pair = 37.0 + 14 * vectors + (vectors - 2) // 2 * 2
    single = 31 + blocks * (26.6 + 9.83 * vectors)
    return 40 + (pairs and 110 + blocks * (20 + pairs * pair)) + rest * single


def row_of_eights(depth: int, channels: int) -> float:
    """Return the instructions for one row and one multiplier, 8 channels at a time.

    These are counts of the assembly, whose loop does 4 vectors per round; not least squares.
    """
    vectors = pieces(depth, LANES)
    return 40 + channels // HALF * (27.0 + 17 * vectors + 2 * pieces(vectors, 4))


def _rows(sizes: LayerSizes) -> float:
    """Rows that are contiguous in the input."""
    if sizes.pixels == 1 and fits_eights(sizes.depth, sizes.channels):
        return row_of_eights(sizes.depth, sizes.channels)
    if 0 < sizes.part < sizes.pixels:
        parts, rest = divmod(sizes.pixels, sizes.part)
        whole, last = (multiplied(n, sizes.depth, sizes.channels) for n in (sizes.part, rest))
        return parts * whole + (rest and last)
    return multiplied(sizes.pixels, sizes.depth, sizes.channels)


def _rows_in_c(sizes: LayerSizes) -> float:
    return sizes.pixels * (19.0 + sizes.channels * (50.0 + 10.0 * sizes.depth))


def _patches(sizes: LayerSizes) -> float:
    """Rows that are copies of windows."""
    blocks = pieces(sizes.channels // sizes.groups, BLOCK)
    products = blocks * (25.2 + 9.9 * pieces(sizes.taps * sizes.depth, LANES))
    copies = sizes.taps_y * (13.6 + 3.82 * pieces(sizes.taps_x * sizes.depth, LANES))
    return sizes.pixels * sizes.groups * (108.8 + products + copies)


def _patches_in_c(sizes: LayerSizes) -> float:
    row = LANES * pieces(sizes.taps * sizes.depth, LANES)
    products = sizes.channels // sizes.groups * (50.1 + 10.0 * row)
    copies = sizes.taps_y * (14.0 + 3.42 * sizes.taps_x * sizes.depth)
    return sizes.pixels * sizes.groups * (107.5 + products + copies)


MOST_TAPS = 256
"""The most int8 values whose sum always fits in 16 bits, as an average over a window needs."""


def _mean(sizes: LayerSizes) -> float:
    """An average over the whole picture, channel by channel."""
    return sizes.pixels * sizes.channels * (20.6 + 1.255 * sizes.taps)


def _window_averages(sizes: LayerSizes) -> float:
    return sizes.pixels * (39.4 + pieces(sizes.channels, HALF) * (55.7 + 6.42 * sizes.taps))


def is_mean(sizes: LayerSizes) -> bool:
    """Return whether channel by channel is the better form, or the only one."""
    if not sizes.is_whole or sizes.taps > MOST_TAPS:
        return sizes.is_whole
    return _mean(sizes) < _window_averages(sizes)


def _averages(sizes: LayerSizes) -> float:
    return _mean(sizes) if is_mean(sizes) else _window_averages(sizes)


def _averages_in_c(sizes: LayerSizes) -> float:
    if is_mean(sizes):
        return sizes.pixels * sizes.channels * (22.1 + 6.0 * sizes.taps)
    return sizes.pixels * (26.1 + sizes.channels * (25.9 + 9.02 * sizes.taps))


def _maxima(sizes: LayerSizes) -> float:
    """Two vectors of each pixel at a time, then one."""
    pairs, rest = divmod(sizes.channels, 2 * LANES)
    ones = pieces(rest, LANES) * (25 + 5.0 * sizes.taps)
    return sizes.pixels * (38 + pairs * (28 + 6.0 * sizes.taps) + ones)


def _maxima_in_c(sizes: LayerSizes) -> float:
    return sizes.pixels * (22.6 + sizes.channels * (21.0 + 11.0 * sizes.taps))


DENSE = TwoForms(estimate_of(_rows), estimate_of(_rows_in_c))
CONVOLUTION = TwoForms(
    estimate_of(rows_or_patches(_rows, _patches)),
    estimate_of(rows_or_patches(_rows_in_c, _patches_in_c)),
)
AVERAGES = TwoForms(estimate_of(_averages), estimate_of(_averages_in_c))
MAXIMA = TwoForms(estimate_of(_maxima), estimate_of(_maxima_in_c))
SUMS = TwoForms(per_element(4.3, broadcast=8.0), per_element(80.0))
PRODUCTS = TwoForms(per_element(3.3, broadcast=6.0), per_element(38.0))
SOFTMAX = TwoForms(per_element(9.0, row=141.0), per_element(34.0, row=117.0))
