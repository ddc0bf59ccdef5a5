"""FFT2D and RFFT2D: Fourier transforms along the width, then along the height."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.scalar import Complex
from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Array, Nest, real
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor


@operator("TOSA_FFT2D", "TOSA_RFFT2D", dtypes=("float32",), ulp=LIBRARY_ULP)
def fft2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Transform each image; RFFT2D computes the columns that the others mirror."""
    sources = [tensors[i] for i in op.inputs]
    targets = [tensors[i] for i in op.outputs]
    batches, height, width = sources[0].shape
    columns = targets[0].shape[2]
    sign = 1.0 if op.options.get("inverse") else -1.0
    nest = Nest()
    inputs = [nest.read(name, t) for name, t in zip(("real", "imag"), sources, strict=False)]
    turns = [
        [nest.table(f"{side}_{part}", values) for part, values in _circle(count, sign)]
        for side, count in (("row", width), ("column", height))
    ]
    outputs = [
        nest.write(name, t) for name, t in zip(("real_out", "imag_out"), targets, strict=True)
    ]
    halfway = [nest.workspace(name, "float32", (height, columns)) for name in ("re", "im")]
    with nest.loop("n", batches) as n:
        with nest.loops((height, columns), "row column") as (row, column):

            def pixel(at: Any) -> Complex:
                first = inputs[0][n, row, at]
                return first, (inputs[1][n, row, at] if len(inputs) > 1 else real(0.0))

            _sum(nest, pixel, column, width, turns[0], [(v, (row, column)) for v in halfway])
        with nest.loops((height, columns), "row column") as (row, column):

            def between(at: Any) -> Complex:
                return halfway[0][at, column], halfway[1][at, column]

            _sum(nest, between, row, height, turns[1], [(y, (n, row, column)) for y in outputs])
    return nest.kernel()


def _circle(count: int, sign: float) -> list[tuple[str, Array]]:
    """Return the real and imaginary parts of the roots of 1, by name; 0 and 1 are exact."""
    angles = 2 * np.pi * np.arange(count) / count
    parts = np.cos(angles), sign * np.sin(angles)
    exact = [np.where(np.abs(part) < 1e-9 / count, 0.0, part) for part in parts]
    return [
        (name, part.astype(np.float32)) for name, part in zip(("cos", "sin"), exact, strict=True)
    ]


def _sum(
    nest: Nest,
    load: Any,
    frequency: Any,
    count: int,
    turn: Sequence[Any],
    places: Sequence[tuple[Any, tuple[Any, ...]]],
) -> None:
    """Store the sum of `count` numbers, each turned by its position times the frequency."""
    totals = [nest.local(name, real(0.0)) for name in ("total_re", "total_im")]
    with nest.loop("k", count) as k:
        re, im = (
            nest.let(name, part) for name, part in zip(("x_re", "x_im"), load(k), strict=True)
        )
        at = nest.let("at", tirx.truncmod(k * frequency, count))
        c, s = nest.let("cos", turn[0][at]), nest.let("sin", turn[1][at])
        nest.store(totals[0], (0,), totals[0][0] + (re * c - im * s))
        nest.store(totals[1], (0,), totals[1][0] + (re * s + im * c))
    for (view, place), total in zip(places, totals, strict=True):
        nest.store(view, place, total[0])
