"""TOPK_V2: the largest elements of each row, and their indices."""

import math
from collections.abc import Sequence
from typing import Any

from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, int32
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

NUMBERS = ("int8", "uint8", "int16", "int32", "int64", "float32")


@operator("TOPK_V2", dtypes=NUMBERS, litert=True)
def top_k(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Store the k largest elements of each row in descending order, equal ones by index.

    NaN comes last (topk_v2.cc). Each of the k iterations searches for the largest element after the
    previous one, so it needs neither sorting nor memory.
    """
    source, values, places = (tensors[i] for i in (op.inputs[0], *op.outputs))
    size, count = source.shape[-1], values.shape[-1]
    if places.dtype not in ("int16", "int32"):
        raise UnsupportedError(f"its indices are {places.dtype}; only int16 and int32 are covered")
    if values.shape != places.shape or values.shape[:-1] != source.shape[:-1] or count > size:
        raise UnsupportedError(
            f"its outputs of shape {list(values.shape)} do not fit an input of {list(source.shape)}"
        )
    rows = math.prod(source.shape[:-1])
    nest = Nest()
    x = nest.read("input", source, (rows, size))
    top = nest.write("values", values, (rows, count))
    where = nest.write("places", places, (rows, count))
    is_float = source.dtype == "float32"
    with nest.loop("row", rows) as row:
        last = nest.local("last", int32(-1))
        with nest.loop("k", count) as k:
            before = nest.let("before", last[0])
            limit = nest.let("limit", x[row, tirx.max(before, 0)])
            best = nest.local("best", int32(-1))
            with nest.loop("i", size) as i:
                so_far = nest.let("so_far", best[0])
                element = nest.let("element", x[row, i])
                greatest = nest.let("greatest", x[row, tirx.max(so_far, 0)])
                tied = tirx.all(tirx.Not(_exceeds(element, limit, is_float)), i > before)
                is_left = tirx.any(before < 0, _exceeds(limit, element, is_float), tied)
                is_better = tirx.any(so_far < 0, _exceeds(element, greatest, is_float))
                with nest.when(tirx.all(is_left, is_better)):
                    nest.store(best, (0,), int32(i))
            chosen = nest.let("chosen", best[0])
            nest.store(top, (row, k), x[row, chosen])
            nest.store(where, (row, k), chosen)
            nest.store(last, (0,), chosen)
    return nest.kernel()


def _exceeds(a: Any, b: Any, is_float: bool) -> Any:
    """Return whether one element ranks before another, regardless of index."""
    return tirx.any(a > b, tirx.all(tirx.NE(b, b), tirx.EQ(a, a))) if is_float else a > b
