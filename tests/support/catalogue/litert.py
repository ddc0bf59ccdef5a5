"""Cases of operators and types that LiteRT supports and TFLite Micro lacks."""

from collections.abc import Sequence

import numpy as np

from tests.support.catalogue.bench import PLAIN, Bench, Build
from tests.support.networks import Spec


def floor_by(code: str) -> Build:
    """Return a case with divisors on both sides of 0, and dividends at both ends of their type."""

    def build(net: Bench, dtype: str) -> Sequence[int]:
        return [
            net.apply(code, net.feed(first, dtype), net.feed(second, dtype, low, high))
            for first, second in net.broadcasts()
            for low, high in ((1, 7), (-9, -1))
        ]

    return build


def divide_int16(net: Bench, dtype: str) -> Sequence[int]:
    """Add divisors on both sides of 0, and quotients that are small, large, or do not fit."""
    quotients = []
    for first, second in net.broadcasts():
        for low, high, scale in ((1, 32767, 0.02), (-32768, -1, 5.0), (1, 90, 1e-5)):
            a = net.feed(first, dtype, scale=0.01, zero_point=0)
            b = net.feed(second, dtype, low, high, scale=0.02, zero_point=0)
            fused = {"fused_activation_function": "RELU"} if high < 0 else PLAIN
            quotients.append(net.apply("DIV", a, b, scale=scale, **fused))
    powers = net.constant(1 << np.arange(15), dtype, 0.3, 0)
    a = net.feed((40, 15), dtype, scale=0.4, zero_point=0)
    return [*quotients, net.apply("DIV", a, powers, scale=0.002, **PLAIN)]


def power(net: Bench, dtype: str) -> Sequence[int]:
    """Add exponents per element, per row, and one for all: whole, constant, or neither."""
    low, most = (-6, 6) if dtype == "int32" else (0.1, 4.0)
    powers = [
        net.apply("POW", net.feed(first, dtype, low, most), net.feed(second, dtype, 0, 10))
        for first, second in net.broadcasts()
    ]
    for exponent in (1, 2, 7) if dtype == "int32" else (1, 2, 7, 2.5, -1.0):
        a = net.feed((3, 4), dtype, 0 if exponent == 2.5 else -6, 6)
        powers.append(net.apply("POW", a, net.constant(np.array(exponent, dtype))))
    return powers


def curve(code: str, scale: float, out: float) -> Build:
    """Return a case with all 256 values, or int16's range, and coarse and saturating outputs."""

    def build(net: Bench, dtype: str) -> Sequence[int]:
        outputs = []
        for factor in (1.0, 0.1):
            x = net.feed((600,), dtype, scale=scale * (100 if dtype == "int8" else 1))
            step = out * factor / (1 if dtype == "int8" else 200)
            outputs.append(net.apply(code, x, scale=step, zero_point=net.point(dtype)))
        return outputs

    return build


def atan2(net: Bench, dtype: str) -> Sequence[int]:
    return [net.apply("ATAN2", net.feed((3, 40), dtype), net.feed((3, 40), dtype))]


def top_k(net: Bench, dtype: str) -> Sequence[int]:
    """Add rows with ties, a single row, a single element, and a whole row."""
    outputs: list[int] = []
    for shape, k in (((3, 4, 30), 5), ((40,), 7), ((5, 1), 1), ((4, 6), 6)):
        low, high = (None, None) if dtype == "float32" else (0, 9)
        x = net.feed(shape, dtype, low, high)
        specs = [net.to(dtype, (*shape[:-1], k), x), Spec((*shape[:-1], k), "int32")]
        outputs += net.operator("TOPK_V2", [x, net.constant(np.array(k), "int32")], specs)
    return outputs


def scatter_nd(net: Bench, dtype: str) -> Sequence[int]:
    """Add equal indices of one, some and all dimensions, and constant indices."""
    outputs = []
    for where, shape in (((6, 1), (4, 3, 2)), ((2, 3, 2), (4, 3, 5)), ((5, 3), (2, 3, 4))):
        places = net.feed(where, "int32", 0, 1)
        updates = net.feed((*where[:-1], *shape[where[-1] :]), dtype)
        outputs.append(net.apply("SCATTER_ND", places, updates, shape))
    return [*outputs, net.apply("SCATTER_ND", ((3,), (0,), (3,)), net.feed((3, 2), dtype), (4, 2))]


def matmul_int16_by_int8(net: Bench, _: str) -> Sequence[int]:
    products = []
    for adj_x, adj_y in ((False, False), (True, False), (False, True)):
        a = net.feed((2, 5, 3) if adj_x else (2, 3, 5), "int16", zero_point=0)
        b = net.feed((4, 5) if adj_y else (5, 4), "int8", zero_point=0)
        products.append(net.apply("BATCH_MATMUL", a, b, adj_x=adj_x, adj_y=adj_y, scale=0.5))
    return products


def shape_in_int64(net: Bench, dtype: str) -> Sequence[int]:
    return [net.apply("SHAPE", net.feed((2, 3, 4), dtype), out_type="int64")]


def arg_in_int64(net: Bench, dtype: str) -> Sequence[int]:
    return [
        net.apply(code, net.feed((3, 4, 5), dtype), np.array(axis), output_type="int64")
        for code, axis in (("ARG_MAX", 0), ("ARG_MAX", -1), ("ARG_MIN", 1))
    ]


def gather_by_int64(net: Bench, dtype: str) -> Sequence[int]:
    places, pairs = net.feed((4,), "int64", 0, 2), net.feed((3, 2), "int64", 0, 2)
    x = net.feed((3, 4, 5), dtype)
    return [
        *(net.apply("GATHER", x, places, axis=axis) for axis in (0, 2)),
        net.apply("GATHER", x, np.array([2, 0], np.int64), axis=1),
        net.apply("GATHER_ND", x, pairs),
    ]
