"""Cases of operators and types that LiteRT supports and TFLite Micro lacks."""

from collections.abc import Sequence

import numpy as np

from tests.support.networks import Spec
from tests.support.operator_bench import Bench, Build


def floor_by(code: str) -> Build:
    """Return a case with divisors on both sides of 0, and dividends at both ends of their type."""

    def build(net: Bench, dtype: str) -> Sequence[int]:
        made = []
        for first, second in net.broadcasts():
            for low, high in ((1, 7), (-9, -1)):
                a, b = net.given(first, dtype), net.given(second, dtype, low, high)
                spec = Spec(np.broadcast_shapes(first, second), dtype)
                if net.tensors[a].scale is not None:
                    spec = net.to(dtype, spec.shape, a)
                made.append(net.make(code, [a, b], spec))
        return made

    return build


def divide_int16(net: Bench, dtype: str) -> Sequence[int]:
    """Add divisors on both sides of 0, and quotients that are small, large, or do not fit."""
    made = []
    for first, second in net.broadcasts():
        for low, high, scale in ((1, 32767, 0.02), (-32768, -1, 5.0), (1, 90, 1e-5)):
            a = net.given(first, dtype, scale=0.01, zero_point=0)
            b = net.given(second, dtype, low, high, scale=0.02, zero_point=0)
            spec = Spec(np.broadcast_shapes(first, second), dtype, scale, 0)
            fused = "RELU" if high < 0 else "NONE"
            made.append(net.make("DIV", [a, b], spec, {"fused_activation_function": fused}))
    powers = net.constant(1 << np.arange(15), dtype, 0.3, 0)
    a = net.given((40, 15), dtype, scale=0.4, zero_point=0)
    options = {"fused_activation_function": "NONE"}
    return [*made, net.make("DIV", [a, powers], Spec((40, 15), dtype, 0.002, 0), options)]


def power(net: Bench, dtype: str) -> Sequence[int]:
    """Add exponents per element, per row, and one for all: whole, constant, or neither."""
    made = []
    low, most = (-6, 6) if dtype == "int32" else (0.1, 4.0)
    for first, second in net.broadcasts():
        a, b = net.given(first, dtype, low, most), net.given(second, dtype, 0, 10)
        made.append(net.make("POW", [a, b], Spec(np.broadcast_shapes(first, second), dtype)))
    for exponent in (1, 2, 7) if dtype == "int32" else (1, 2, 7, 2.5, -1.0):
        a = net.given((3, 4), dtype, -6, 6) if exponent != 2.5 else net.given((3, 4), dtype, 0, 6)
        b = net.constant(np.array(exponent, dtype), dtype)
        made.append(net.make("POW", [a, b], Spec((3, 4), dtype)))
    return made


def curve(code: str, scale: float, out: float) -> Build:
    """Return a case with all 256 values, or int16's range, and coarse and saturating outputs."""

    def build(net: Bench, dtype: str) -> Sequence[int]:
        made = []
        for factor in (1.0, 0.1):
            x = net.given((600,), dtype, scale=scale * (100 if dtype == "int8" else 1))
            step = out * factor / (1 if dtype == "int8" else 200)
            made.append(net.make(code, [x], Spec((600,), dtype, step, net.point(dtype))))
        return made

    return build


def atan2(net: Bench, dtype: str) -> Sequence[int]:
    a, b = net.given((3, 40), dtype), net.given((3, 40), dtype)
    return [net.make("ATAN2", [a, b], Spec((3, 40), dtype))]


def top_k(net: Bench, dtype: str) -> Sequence[int]:
    """Add rows with ties, a single row, a single element, and a whole row."""
    made: list[int] = []
    for shape, k in (((3, 4, 30), 5), ((40,), 7), ((5, 1), 1), ((4, 6), 6)):
        low, high = (None, None) if dtype == "float32" else (0, 9)
        x = net.given(shape, dtype, low, high)
        specs = [net.to(dtype, (*shape[:-1], k), x), Spec((*shape[:-1], k), "int32")]
        made += net.operator("TOPK_V2", [x, net.constant(np.array(k), "int32")], specs)
    return made


def scatter_nd(net: Bench, dtype: str) -> Sequence[int]:
    """Add equal indices of one, some and all dimensions, and constant indices."""
    made = []
    for where, shape in (((6, 1), (4, 3, 2)), ((2, 3, 2), (4, 3, 5)), ((5, 3), (2, 3, 4))):
        parts = (*where[:-1], *shape[where[-1] :])
        places = net.given(where, "int32", 0, 1)
        updates = net.given(parts, dtype)
        size = net.constant(np.array(shape), "int32")
        made.append(net.make("SCATTER_ND", [places, updates, size], net.to(dtype, shape, updates)))
    places, updates = net.constant([[3], [0], [3]], "int32"), net.given((3, 2), dtype)
    size = net.constant(np.array((4, 2)), "int32")
    made.append(net.make("SCATTER_ND", [places, updates, size], net.to(dtype, (4, 2), updates)))
    return made


def matmul_int16_by_int8(net: Bench, _: str) -> Sequence[int]:
    made = []
    for adj_x, adj_y in ((False, False), (True, False), (False, True)):
        a = net.given((2, 5, 3) if adj_x else (2, 3, 5), "int16", zero_point=0)
        b = net.given((4, 5) if adj_y else (5, 4), "int8", zero_point=0)
        target = Spec((2, 3, 4), "int16", 0.5, 0)
        made.append(net.make("BATCH_MATMUL", [a, b], target, {"adj_x": adj_x, "adj_y": adj_y}))
    return made


def shape_in_int64(net: Bench, dtype: str) -> Sequence[int]:
    x = net.given((2, 3, 4), dtype)
    return [net.make("SHAPE", [x], Spec((3,), "int64"), {"out_type": "int64"})]


def arg_in_int64(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for code, axis in (("ARG_MAX", 0), ("ARG_MAX", -1), ("ARG_MIN", 1)):
        x, where = net.given((3, 4, 5), dtype), net.constant(np.array(axis), "int32")
        spec = Spec(tuple(np.delete((3, 4, 5), axis).tolist()), "int64")
        made.append(net.make(code, [x, where], spec, {"output_type": "int64"}))
    return made
