"""Layers of int8 that have packed kernels, in groups, and those that have none."""

from collections.abc import Callable

import numpy as np

from tests.support.catalogue.products import product, transposed
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]


def shifts(net: NetworkBuilder, rows: int, depth: int, activation: str = "NONE") -> int:
    """Return a layer with multipliers from 1 to 2^-30, and outputs that vary with most of them."""
    scales = tuple(float(np.float32(0.93 * 2.0**-k)) for k in (*range(13), 18, 22, 23, 24, 30))
    x = net.input((rows, depth), scale=1.0)
    values = net.random_integers((len(scales), depth)) % 3 - 1
    values[len(scales) // 2 :] *= 40
    weights = net.constant(values.astype(np.int8), None, scales, (0,) * len(scales), 0)
    units = Spec((rows, len(scales)), "int8", 1.0, 3)
    return net.operator(
        "FULLY_CONNECTED", [x, weights], [units], {"fused_activation_function": activation}
    )[0]


def halves(net: NetworkBuilder, bits: int = 31, shape: tuple[int, int] = (1, 16)) -> int:
    """Return a layer whose sums are its biases, and whose multiplier is 1/8: halves everywhere."""
    x = net.input(shape, scale=0.5)
    biases = np.arange(-1100, 1100, dtype=np.int32)
    biases[:4] = [-(1 << bits) + 2, (1 << bits) - 1, -(1 << bits) + 1, -1]
    weights = net.constant(np.zeros((len(biases), shape[1]), np.int8), scale=0.25)
    bias = net.constant(biases, scale=0.125)
    return net.operator(
        "FULLY_CONNECTED",
        [x, weights, bias],
        [Spec((shape[0], len(biases)), "int8", 1.0, 0)],
        {"fused_activation_function": "NONE"},
    )[0]


def vectors(count: int) -> Build:
    """Return a layer of one row, which has so many vectors."""
    return lambda n: n.fully_connected(n.input((1, 16 * count)), 16, scale=0.02)


MATRIX: dict[str, Build] = {
    "shifts of all sizes": lambda n: shifts(n, 5, 35),
    "shifts of all sizes, bounds": lambda n: shifts(n, 7, 64, "RELU6"),
    "shifts of all sizes, short rows": lambda n: shifts(n, 5, 13),
    "short rows, bounds": lambda n: n.fully_connected(n.input((5, 12)), 9, activation="RELU"),
    "halves, pairs of rows": lambda n: halves(n, 31, (5, 32)),
    "halves, short rows": lambda n: halves(n, 31, (3, 16)),
    "dense, ends of vectors and blocks": lambda n: n.fully_connected(n.input((3, 35)), 7),
    "dense, one of each": lambda n: n.fully_connected(n.input((1, 1)), 1, per_channel=True),
    "dense, whole vectors, bounds": lambda n: n.fully_connected(
        n.input((2, 64)), 8, activation="RELU"
    ),
    "one row, a vector": lambda n: n.fully_connected(n.input((1, 16)), 8, activation="RELU6"),
    "one row, less than a vector": lambda n: n.fully_connected(n.input((1, 5)), 24, bias=False),
    "one row, 2 vectors": lambda n: n.fully_connected(n.input((1, 32)), 16),
    "one row, many scales": lambda n: n.fully_connected(n.input((1, 32)), 16, per_channel=True),
    "one row, odd vectors": lambda n: n.fully_connected(n.input((1, 80)), 40, activation="RELU"),
    # The loop starts at one of 8 places.
    **{f"one row, {count} vectors": vectors(count) for count in range(3, 10)},
    "one row, many vectors": lambda n: n.fully_connected(n.input((1, 640)), 8, scale=0.02),
    "one row, saturates": lambda n: n.fully_connected(n.input((1, 48)), 16, scale=1e-3),
    "one row, halves": lambda n: halves(n, 31, (1, 16)),
    "dense, no bias": lambda n: n.fully_connected(n.input((2, 17)), 4, bias=False),
    "pixels": lambda n: n.conv2d(n.input((2, 3, 5, 8)), 6, (1, 1), activation="RELU6"),
    "pixels, strided": lambda n: n.conv2d(n.input((1, 5, 6, 20)), 5, (1, 1), (2, 3)),
    "window, padded": lambda n: n.conv2d(n.input((1, 9, 7, 3)), 9, (3, 3), (2, 2)),
    "window over the borders": lambda n: n.conv2d(n.input((1, 4, 3, 1)), 4, (10, 8), (2, 2)),
    "window, valid": lambda n: n.conv2d(n.input((2, 6, 5, 4)), 5, (2, 3), padding="VALID"),
    "window, rows apart": lambda n: n.conv2d(n.input((1, 9, 7, 2)), 4, (3, 3), dilation=(2, 1)),
    "window, columns apart": lambda n: n.conv2d(n.input((1, 9, 7, 2)), 4, (2, 3), dilation=(1, 3)),
    "pixels, short and long rows": lambda n: n.conv2d(n.input((1, 5, 5, 3)), 5, (1, 1)),
    "pixels, two vectors": lambda n: n.conv2d(
        n.input((1, 3, 7, 32)), 12, (1, 1), activation="RELU"
    ),
    "pixels, many vectors": lambda n: n.conv2d(n.input((1, 4, 4, 100)), 10, (1, 1)),
    "pixels, strided rows": lambda n: n.conv2d(n.input((1, 7, 9, 16)), 8, (1, 1), (2, 2)),
    "columns as strips": lambda n: n.conv2d(n.input((1, 12, 1, 10)), 8, (5, 1)),
    "columns in place": lambda n: n.conv2d(n.input((2, 12, 1, 10)), 8, (5, 1), padding="VALID"),
    "rows in place": lambda n: n.conv2d(n.input((1, 3, 12, 6)), 4, (1, 3), (1, 2), "VALID"),
    "as wide as the input": lambda n: n.conv2d(n.input((1, 9, 3, 5)), 7, (4, 3), padding="VALID"),
    "groups of pixels": lambda n: n.conv2d(n.input((2, 5, 6, 20)), 12, (1, 1), groups=4),
    "groups of pixels, bounds": lambda n: n.conv2d(
        n.input((1, 5, 5, 40)), 10, (1, 1), groups=2, activation="RELU"
    ),
    "groups of strided pixels": lambda n: n.conv2d(
        n.input((1, 7, 6, 9)), 6, (1, 1), (2, 3), groups=3
    ),
    "groups of windows": lambda n: n.conv2d(n.input((2, 7, 9, 8)), 6, (3, 3), (2, 1), groups=2),
    "groups of rows": lambda n: n.conv2d(
        n.input((1, 4, 9, 6)), 9, (1, 3), groups=3, padding="VALID"
    ),
    "two channels": lambda n: n.conv2d(n.input((2, 9, 13, 21)), 2, (3, 5), (3, 4), "VALID"),
    "two channels, odd row": lambda n: n.conv2d(
        n.input((1, 7, 9, 16)), 2, (5, 5), (2, 2), "VALID", activation="RELU6"
    ),
    "one channel": lambda n: n.conv2d(n.input((2, 8, 9, 40)), 1, (3, 3), (2, 3), "VALID"),
    "one channel, rows apart": lambda n: n.conv2d(
        n.input((1, 9, 8, 20)), 1, (2, 4), (4, 2), "VALID", dilation=(3, 1)
    ),
    "two channels of pixels": lambda n: n.conv2d(n.input((1, 5, 7, 88)), 2, (1, 1)),
    "one channel of pixels": lambda n: n.conv2d(n.input((1, 5, 5, 64)), 1, (1, 1)),
    "strips in phases": lambda n: n.conv2d(n.input((1, 9, 11, 5)), 6, dilation=(2, 3)),
    "strips in pieces": lambda n: n.conv2d(n.input((1, 5, 90, 19)), 4, activation="RELU6"),
    "strip, slices of pixels": lambda n: n.conv2d(n.input((1, 6, 5, 40)), 8, (3, 3), (2, 1)),
    "window beyond the input": lambda n: n.conv2d(n.input((1, 2, 3, 8)), 8, (7, 5)),
    "depthwise of one channel": lambda n: n.depthwise(n.input((1, 9, 7, 1)), multiplier=8),
    "saturates": lambda n: n.conv2d(n.input((1, 5, 5, 4)), 6, scale=1e-3),
    "vanishes": lambda n: n.conv2d(n.input((1, 5, 5, 4), scale=1e-6), 6, scale=50.0),
}
DEPTHWISE: dict[str, Build] = {
    "whole blocks": lambda n: n.depthwise(n.input((1, 9, 7, 16)), activation="RELU6"),
    "end of a block": lambda n: n.depthwise(n.input((2, 5, 6, 13)), (3, 3), (2, 2)),
    "few channels": lambda n: n.depthwise(n.input((1, 5, 6, 3)), (3, 3), (1, 2)),
    "valid, input left over": lambda n: n.depthwise(
        n.input((1, 8, 8, 9)), (3, 3), (2, 2), padding="VALID"
    ),
    "any window": lambda n: n.depthwise(n.input((1, 9, 7, 10)), (5, 2), (1, 2)),
    "rows apart": lambda n: n.depthwise(n.input((1, 9, 7, 8)), dilation=(3, 1)),
    "columns apart": lambda n: n.depthwise(n.input((1, 9, 7, 8)), dilation=(1, 2)),
    "stride beyond the window": lambda n: n.depthwise(n.input((1, 9, 9, 8)), (2, 2), (3, 4)),
    "higher than the input": lambda n: n.depthwise(n.input((1, 2, 3, 8)), (5, 3)),
    "two outputs a channel": lambda n: n.depthwise(n.input((1, 5, 7, 7)), multiplier=2),
    "three outputs a channel": lambda n: n.depthwise(
        n.input((2, 6, 5, 3)), (2, 3), (2, 1), multiplier=3, activation="RELU"
    ),
    "two outputs a channel, one column": lambda n: n.depthwise(
        n.input((1, 12, 1, 6)), (5, 1), multiplier=2, activation="RELU6"
    ),
    "two outputs a channel, whole blocks": lambda n: n.depthwise(
        n.input((1, 9, 7, 8)), multiplier=2
    ),
    "five outputs a channel, far apart": lambda n: n.depthwise(
        n.input((1, 9, 9, 2)), (2, 2), (3, 4), multiplier=5
    ),
    "two outputs a channel, two vectors": lambda n: n.depthwise(
        n.input((1, 7, 8, 3)), (5, 5), multiplier=2
    ),
    "two outputs a channel, many vectors": lambda n: n.depthwise(
        n.input((1, 9, 10, 6)), (7, 7), multiplier=2
    ),
    "shared line, one column": lambda n: n.depthwise(
        n.input((1, 12, 1, 6)), (5, 1), multiplier=4, activation="RELU6"
    ),
    "shared line, one column, strided": lambda n: n.depthwise(
        n.input((2, 17, 1, 8)), (5, 1), (2, 1), multiplier=4
    ),
    "shared line, one column, far apart": lambda n: n.depthwise(
        n.input((1, 41, 1, 8)), (3, 1), (8, 1), multiplier=4
    ),
    "shared line, more than a vector": lambda n: n.depthwise(n.input((1, 9, 7, 9)), multiplier=4),
    "shared line, far apart": lambda n: n.depthwise(
        n.input((1, 10, 13, 2)), (2, 2), (3, 3), multiplier=12
    ),
    "shared line, two vectors": lambda n: n.depthwise(n.input((2, 7, 8, 3)), (5, 5), multiplier=4),
    "shared line, many vectors": lambda n: n.depthwise(
        n.input((1, 9, 10, 6)), (7, 7), multiplier=8
    ),
    "shared line, several blocks": lambda n: n.depthwise(n.input((1, 14, 15, 30)), multiplier=4),
    "shared line, unusual shifts": lambda n: n.depthwise(
        n.input((1, 9, 7, 3), scale=1.0), (5, 5), multiplier=4, scale=0.02
    ),
    "columns as lines": lambda n: n.depthwise(n.input((1, 12, 1, 12)), (5, 1), padding="VALID"),
    "one row, folded": lambda n: n.depthwise(n.input((2, 1, 28, 21)), (1, 5), padding="VALID"),
    "one column, folded": lambda n: n.depthwise(n.input((1, 24, 1, 40)), (10, 1), padding="VALID"),
    "one column, folded, strided": lambda n: n.depthwise(
        n.input((1, 24, 1, 17)), (4, 1), (2, 1), padding="VALID"
    ),
    "one row, folded, far apart": lambda n: n.depthwise(
        n.input((1, 1, 32, 12)), (1, 3), (3, 3), "VALID", activation="RELU6"
    ),
    "a high window, folded": lambda n: n.depthwise(
        n.input((1, 12, 3, 20)), (4, 3), padding="VALID"
    ),
    "one row of two vectors, folded": lambda n: n.depthwise(
        n.input((1, 1, 40, 9)), (1, 18), padding="VALID"
    ),
    "one row, few channels": lambda n: n.depthwise(n.input((1, 1, 32, 3)), (1, 9), padding="VALID"),
    "one row, folded, unusual shifts": lambda n: n.depthwise(
        n.input((1, 1, 32, 30), scale=1.0), (1, 7), padding="VALID", scale=0.02
    ),
    "columns as lines, strided": lambda n: n.depthwise(n.input((2, 17, 2, 8)), (5, 1), (2, 1)),
    "one column, strided": lambda n: n.depthwise(n.input((2, 17, 1, 8)), (5, 1), (2, 1)),
    "one column, far apart": lambda n: n.depthwise(n.input((1, 41, 1, 8)), (3, 1), (8, 1)),
    "two outputs a channel, one column, strided": lambda n: n.depthwise(
        n.input((2, 17, 1, 8)), (5, 1), (2, 1), multiplier=2
    ),
    "two outputs a channel, one column, far apart": lambda n: n.depthwise(
        n.input((1, 41, 1, 8)), (3, 1), (8, 1), multiplier=2
    ),
    "two pixels at a time": lambda n: n.depthwise(n.input((2, 7, 6, 8))),
    "two pixels at a time, strided": lambda n: n.depthwise(n.input((1, 7, 12, 8)), (3, 3), (2, 2)),
    "words, three apart": lambda n: n.depthwise(n.input((1, 13, 13, 21)), (3, 3), (3, 3)),
    "words, few channels": lambda n: n.depthwise(n.input((2, 6, 5, 5))),
    "words, two rows": lambda n: n.depthwise(n.input((1, 7, 9, 34)), (2, 3)),
    "words, one row": lambda n: n.depthwise(n.input((1, 8, 9, 18)), (1, 3), activation="RELU"),
    "words, four rows": lambda n: n.depthwise(n.input((1, 10, 9, 16)), (4, 4)),
    "words, two vectors": lambda n: n.depthwise(n.input((1, 10, 19, 18)), (3, 7)),
    "words, many vectors": lambda n: n.depthwise(n.input((1, 10, 19, 18)), (3, 11)),
    "lines in phases": lambda n: n.depthwise(n.input((1, 11, 9, 8)), (3, 3), dilation=(2, 3)),
    "unusual shifts": lambda n: n.depthwise(n.input((1, 9, 7, 12), scale=1.0), scale=0.02),
    "unusual shifts, two outputs a channel": lambda n: n.depthwise(
        n.input((1, 9, 7, 6), scale=1.0), (5, 5), multiplier=2, scale=0.02
    ),
    "two vectors": lambda n: n.depthwise(n.input((1, 7, 8, 20)), (5, 5)),
    "two vectors, strided": lambda n: n.depthwise(n.input((1, 9, 8, 12)), (5, 5), (2, 3)),
    "two vectors, apart": lambda n: n.depthwise(n.input((1, 12, 12, 8)), (5, 5), dilation=(2, 2)),
    "many vectors": lambda n: n.depthwise(n.input((1, 9, 10, 12)), (7, 7), activation="RELU6"),
    "many vectors, pairs of rows": lambda n: n.depthwise(n.input((1, 10, 10, 21)), (7, 7)),
    "as wide as the input": lambda n: n.depthwise(n.input((1, 9, 3, 40)), (4, 3), padding="VALID"),
    "the whole input": lambda n: n.depthwise(n.input((2, 5, 4, 10)), (5, 4), padding="VALID"),
    "several blocks": lambda n: n.depthwise(n.input((1, 14, 15, 30)), activation="RELU"),
    "windows of one pixel": lambda n: n.depthwise(n.input((1, 5, 6, 9)), (1, 1)),
    "lines in pieces": lambda n: n.depthwise(n.input((1, 700, 1, 5)), (9, 1), (1, 1)),
    "pieces of phases": lambda n: n.depthwise(n.input((1, 3, 400, 4)), (3, 3), dilation=(1, 2)),
    "one output": lambda n: n.depthwise(n.input((2, 3, 1, 22)), (3, 1), padding="VALID"),
    "one output of 20 taps": lambda n: n.depthwise(
        n.input((1, 20, 1, 3)), (20, 1), padding="VALID", activation="RELU6"
    ),
    "two outputs apart": lambda n: n.depthwise(n.input((1, 1, 9, 6)), (1, 2), (1, 7), "VALID"),
    "one row of four": lambda n: n.depthwise(n.input((1, 1, 9, 4)), (1, 4), padding="VALID"),
    "one scale": lambda n: n.depthwise(n.input((1, 5, 5, 11)), per_channel=False, bias=False),
}
OTHERS: dict[str, Build] = {
    "mean": lambda n: n.average_pool(n.input((2, 7, 5, 13)), (7, 5), activation="RELU"),
    "mean of few channels": lambda n: n.average_pool(n.input((2, 7, 5, 3)), (7, 5)),
    "mean of many pixels": lambda n: n.average_pool(n.input((1, 17, 16, 10)), (17, 16)),
    "averages": lambda n: n.average_pool(n.input((2, 7, 5, 21)), (3, 2), (2, 1), padding="SAME"),
    "averages of most": lambda n: n.average_pool(n.input((1, 17, 16, 9)), (16, 16), (1, 1)),
    "averages of one": lambda n: n.average_pool(n.input((1, 3, 2, 5)), (1, 1), activation="RELU"),
    "maxima": lambda n: n.max_pool(n.input((2, 7, 5, 21)), (2, 3), (1, 2), padding="SAME"),
    "sums": lambda n: n.add(
        n.input((1, 5, 7, 3)), n.input((1, 5, 7, 3), scale=0.011, zero_point=-7), activation="RELU"
    ),
    "differences": lambda n: n.sub(n.input((2, 16), scale=0.011), n.input((2, 16)), scale=0.05),
    "differences, first has less scale": lambda n: n.sub(
        n.input((3, 7), scale=0.01, zero_point=9), n.input((3, 7)), activation="RELU6"
    ),
    "differences, first has more scale": lambda n: n.sub(
        n.input((1, 47), scale=0.3), n.input((1, 47), scale=0.1), scale=0.25
    ),
    "sums of equal scales": lambda n: n.add(n.input((2, 9)), n.input((2, 9)), scale=0.11),
    "sums with channels": lambda n: n.add(
        n.input((2, 3, 19), zero_point=-128), n.input((19,), scale=0.011, zero_point=127)
    ),
    "sums with one": lambda n: n.add(
        n.input((1,), scale=0.3), n.input((2, 5, 9)), activation="RELU"
    ),
    "differences from pixels": lambda n: n.sub(n.input((3, 5, 11)), n.input((3, 5, 1), scale=0.2)),
    "products": lambda n: n.mul(n.input((1, 5, 7, 3)), n.input((1, 5, 7, 3), scale=0.011)),
    "products with channels": lambda n: n.mul(
        n.input((2, 1, 1, 13), scale=0.02, zero_point=-128), n.input((2, 3, 4, 13), zero_point=127)
    ),
    "products with one": lambda n: n.mul(n.input((2, 21)), n.input((2, 1)), activation="RELU6"),
    "softmax": lambda n: n.softmax(n.input((1, 12), scale=0.15)),
    "softmax of rows": lambda n: n.softmax(n.input((2, 3, 21), scale=0.04), beta=0.7),
    "flat softmax": lambda n: n.softmax(n.input((2, 400), scale=0.001)),
    "steep softmax": lambda n: n.softmax(n.input((5, 4), scale=1.5)),
    "softmax of one": lambda n: n.softmax(n.input((3, 1))),
    "padding of rows and columns": lambda n: n.pad(
        n.input((2, 5, 7, 9)), [(0, 0), (1, 2), (3, 0), (0, 0)]
    ),
    "padding of channels": lambda n: n.pad(n.input((1, 3, 4, 17)), [(0, 0)] * 3 + [(2, 35)]),
    "padding of short rows": lambda n: n.pad(n.input((6, 20)), [(0, 1), (0, 5)]),
    "padding of rows of one vector": lambda n: n.pad(n.input((6, 16)), [(1, 0), (1, 0)]),
    "padding of long rows": lambda n: n.pad(n.input((3, 5, 29)), [(0, 0), (2, 1), (0, 0)]),
    "padding before": lambda n: n.pad(n.input((1, 4, 5, 6)), [(0, 0), (2, 0), (0, 0), (0, 0)]),
    "padding of batches": lambda n: n.pad(n.input((2, 19)), [(1, 1), (0, 1)]),
    "maxima of many channels": lambda n: n.max_pool(
        n.input((1, 7, 5, 70)), (3, 2), (2, 1), padding="SAME"
    ),
    "maxima of a column": lambda n: n.max_pool(n.input((1, 9, 3, 52)), (4, 1), (1, 1)),
    "maxima in bounds": lambda n: n.max_pool(n.input((1, 4, 4, 16)), (2, 2), activation="RELU6"),
}
INT16: dict[str, Build] = {
    "dense": lambda n: n.fully_connected(n.input((2, 35), "int16"), 7),
    "dense, no bias": lambda n: n.fully_connected(n.input((1, 8), "int16"), 4, bias=False),
    "pixels": lambda n: n.conv2d(n.input((1, 3, 5, 9), "int16"), 5, (1, 1), activation="RELU"),
    "window": lambda n: n.conv2d(n.input((2, 6, 5, 3), "int16"), 4, (3, 2), (2, 1)),
    "depthwise": lambda n: n.depthwise(n.input((2, 6, 5, 10), "int16"), activation="RELU6"),
    "depthwise, apart": lambda n: n.depthwise(n.input((1, 9, 7, 4), "int16"), dilation=(2, 3)),
    "depthwise of one": lambda n: n.depthwise(n.input((1, 5, 6, 1), "int16"), multiplier=3),
    "padding": lambda n: n.pad(n.input((2, 5, 7, 3), "int16"), [(0, 0), (1, 2), (3, 1), (0, 0)]),
}
RECURRENT: dict[str, Build] = {
    "svdf": lambda n: svdf(n, n.input((1, 40), scale=0.02), 13, 9),
    "svdf, whole vectors": lambda n: svdf(n, n.input((1, 32), scale=0.02), 8, 17),
    "svdf, rank 2": lambda n: svdf(n, n.input((1, 20), scale=0.02), 7, 5, rank=2),
    "svdf, rank 3, batch": lambda n: svdf(n, n.input((2, 9), scale=0.02), 7, 6, rank=3),
    "svdf, one step": lambda n: svdf(n, n.input((1, 9), scale=0.02), 2, 1),
    "svdf, multiplier above 1, saturated": lambda n: svdf(n, n.input((1, 1)), 6, 4),
    "lstm": lambda n: lstm(n, n.input((1, 3, 40), scale=0.02), 19),
    "lstm, whole vectors": lambda n: lstm(n, n.input((1, 2, 16), scale=0.02), 32),
    "lstm, batch": lambda n: lstm(n, n.input((3, 2, 5), scale=0.02), 6, zero_point=-30),
    "lstm, by time, clipped": lambda n: lstm(
        n, n.input((4, 2, 5), scale=0.03), 6, by_time=True, cell_clip=0.6
    ),
    "lstm, cell of few bits": lambda n: lstm(n, n.input((1, 4, 9), scale=0.02), 7, cell_power=8),
    "lstm, cell of many bits": lambda n: lstm(n, n.input((1, 4, 9), scale=0.02), 7, cell_power=14),
    "lstm, cell of most bits": lambda n: lstm(n, n.input((1, 4, 9), scale=0.02), 7, cell_power=43),
    "lstm, multipliers above 1": lambda n: lstm(n, n.input((1, 2, 9), scale=9.0), 5),
}
TRANSPOSED: dict[str, Build] = {
    "phases": lambda n: transposed(n, n.input((1, 5, 4, 9)), (10, 8), 5, stride=(2, 2)),
    "phases, odd size": lambda n: transposed(n, n.input((2, 4, 5, 3)), (7, 9), 6, stride=(2, 2)),
    "adjacent outputs": lambda n: transposed(
        n, n.input((1, 6, 7, 16)), (12, 14), 8, (2, 2), (2, 2), activation="RELU"
    ),
    "adjacent outputs of few channels": lambda n: transposed(
        n, n.input((2, 4, 5, 3)), (8, 10), 3, (4, 4), (2, 2)
    ),
    "one phase": lambda n: transposed(n, n.input((1, 5, 6, 20)), (5, 6), 7, bias=False),
    "one row": lambda n: transposed(
        n, n.input((1, 1, 6, 24)), (3, 14), 8, (3, 4), (1, 2), padding="VALID"
    ),
    "one pixel": lambda n: transposed(
        n, n.input((1, 1, 1, 7)), (3, 4), 5, (3, 4), (2, 2), padding="VALID"
    ),
    "valid": lambda n: transposed(
        n, n.input((1, 3, 4, 8)), (8, 7), 4, (4, 4), (2, 1), padding="VALID"
    ),
    "outputs without inputs": lambda n: transposed(
        n, n.input((1, 3, 2, 5)), (12, 8), 4, (2, 1), (4, 4)
    ),
    "window left of the outputs": lambda n: transposed(
        n, n.input((1, 3, 3, 5)), (9, 9), 4, (3, 3), (4, 4), activation="RELU6"
    ),
    "windows beyond the outputs": lambda n: transposed(
        n, n.input((1, 4, 3, 5)), (7, 5), 4, (5, 6), (2, 2)
    ),
    "transposed, saturates": lambda n: transposed(n, n.input((1, 4, 4, 6)), (4, 4), 4, scale=1e-2),
}
PRODUCTS: dict[str, Build] = {
    "matrices": lambda n: product(n, n.input((2, 5, 9)), n.input((2, 9, 7))),
    "columns as rows": lambda n: product(n, n.input((3, 5, 20)), n.input((3, 6, 20)), adj_y=True),
    "rows as columns": lambda n: product(n, n.input((2, 19, 6)), n.input((2, 19, 4)), adj_x=True),
    "both turned": lambda n: product(n, n.input((33, 3)), n.input((5, 33)), adj_x=True, adj_y=True),
    "zero points at the ends": lambda n: product(
        n, n.input((4, 40), zero_point=-128), n.input((40, 8), zero_point=127)
    ),
    "second without a zero point": lambda n: product(
        n, n.input((4, 12), zero_point=5), n.input((12, 9), zero_point=0)
    ),
    "one matrix for all": lambda n: product(n, n.input((3, 2, 4, 10)), n.input((10, 6))),
    "one row for all": lambda n: product(n, n.input((1, 1, 10)), n.input((4, 10, 6))),
    "spread over two axes": lambda n: product(n, n.input((2, 1, 3, 8)), n.input((3, 8, 5))),
    "a constant": lambda n: product(
        n, n.input((3, 16)), n.constant(n.random_integers((16, 5)), None, 0.05, 3)
    ),
    "a column": lambda n: product(n, n.input((2, 6, 18)), n.input((2, 18, 1))),
    "product that saturates": lambda n: product(n, n.input((5, 9)), n.input((9, 5)), scale=0.01),
}
TURNED: dict[str, Build] = {
    "few rows": lambda n: n.transpose(n.input((2, 7, 24)), (0, 2, 1)),
    "few columns": lambda n: n.transpose(n.input((3, 40, 5)), (0, 2, 1)),
    "squares and rests": lambda n: n.transpose(n.input((10, 23)), (1, 0)),
    "all dimensions": lambda n: n.transpose(n.input((3, 4, 5, 6)), (3, 2, 1, 0)),
    "to channels first": lambda n: n.transpose(n.input((1, 6, 5, 9)), (0, 3, 1, 2)),
    "batches that move": lambda n: n.transpose(n.input((5, 3, 8)), (2, 0, 1)),
    "int16": lambda n: n.transpose(n.input((2, 9, 19), "int16"), (2, 1, 0)),
    "int16, few columns": lambda n: n.transpose(n.input((17, 3), "int16"), (1, 0)),
    "float32": lambda n: n.transpose(n.input((7, 2, 10), "float32", None), (2, 1, 0)),
    "float32, few columns": lambda n: n.transpose(n.input((13, 2), "float32", None), (1, 0)),
    "rows that move": lambda n: n.transpose(n.input((4, 5, 16)), (1, 0, 2)),
    "rows in blocks": lambda n: n.transpose(n.input((3, 4, 5, 17)), (2, 1, 0, 3)),
    "rows of int16": lambda n: n.transpose(n.input((2, 3, 4, 21), "int16"), (0, 2, 1, 3)),
    "joined float32": lambda n: n.concat(
        [n.input((4, 5), "float32", None), n.input((4, 6), "float32", None)], 1
    ),
    "rows of float32": lambda n: n.transpose(n.input((3, 2, 5), "float32", None), (1, 0, 2)),
}


def swapped(net: NetworkBuilder, shape: tuple[int, ...], axis: int, dtype: str = "int8") -> int:
    """Return the two halves of an input along an axis, the second one first."""
    first, second = net.apply_all("SPLIT", np.array(axis), net.input(shape, dtype), num_splits=2)
    return net.concat([second, first], axis)


JOINED: dict[str, Build] = {
    "blocks of words": lambda n: n.concat([n.input((3, 64)), n.input((3, 112))]),
    "words and bytes": lambda n: n.concat([n.input((2, 4, 37)), n.input((2, 4, 22))]),
    "with short rows": lambda n: n.concat([n.input((5, 3)), n.input((5, 47)), n.input((5, 1))]),
    "one row": lambda n: n.concat([n.input((1, 3, 20)), n.input((1, 2, 20))], 1),
    "joined int16": lambda n: n.concat(
        [n.input((2, 3, 9), "int16"), n.input((2, 3, 24), "int16")], 2
    ),
    "packed": lambda n: n.apply("PACK", n.input((3, 18)), n.input((3, 18)), axis=1, values_count=2),
    "halves swapped": lambda n: swapped(n, (3, 2, 86), 2),
    "halves of int16 swapped": lambda n: swapped(n, (2, 4, 5, 7), 1, "int16"),
}
GROUPS = {
    "matrix": MATRIX | {f"int16 {name}": build for name, build in INT16.items()},
    "depthwise": DEPTHWISE | OTHERS,
    "recurrent": RECURRENT,
    "transposed": TRANSPOSED,
    "products": PRODUCTS,
    "turned": TURNED,
    "joined": JOINED,
}
PLAIN: dict[str, Build] = {
    "multipliers above 1": lambda n: n.conv2d(n.input((1, 5, 5, 4), scale=9.0), 6, scale=0.01),
    "sums beyond 16 bits": lambda n: n.average_pool(n.input((1, 18, 18, 3)), (17, 17), (1, 1)),
    "padding of three dimensions": lambda n: n.pad(
        n.input((1, 2, 3, 4)), [(0, 0), (1, 0), (0, 1), (2, 0)]
    ),
    "one less a tensor": lambda n: n.sub(n.input((1,)), n.input((2, 16))),
    "short rows": lambda n: n.mul(n.input((5, 3)), n.input((3,))),
    "products above 1": lambda n: n.mul(n.input((2, 16), scale=3.0), n.input((2, 16)), scale=0.01),
    "lstm, cell beyond 16 bits": lambda n: lstm(n, n.input((1, 2, 9)), 7, cell_power=-3),
    "svdf, state of int8": lambda n: svdf(n, n.input((1, 9)), 5, 4, state="int8"),
    "product above 1": lambda n: product(
        n, n.input((5, 9), scale=2.0), n.input((9, 5), scale=2.0), scale=0.5
    ),
    "many phases": lambda n: transposed(n, n.input((1, 2, 2, 3)), (68, 68), 2, (2, 2), (34, 34)),
    "short rows that move": lambda n: n.transpose(n.input((4, 5, 15)), (1, 0, 2)),
    "short rows that are joined": lambda n: n.concat([n.input((4, 12)), n.input((4, 3))]),
    "small matrices": lambda n: n.transpose(n.input((8, 3, 2)), (0, 2, 1)),
    "rows far apart": lambda n: n.transpose(n.input((2, 9363)), (1, 0)),
}
