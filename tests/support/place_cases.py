"""Cases of operators that move elements: see operator_cases."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.networks import Spec
from tests.support.operator_bench import Bench, Build


def concatenation(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for axis in (0, 1, -1):
        whole = list(net.sizes(3))
        shapes = [list(whole), list(whole)]
        shapes[1][axis] = 5
        a = net.given(shapes[0], dtype, scale=0.1, zero_point=0)
        b = net.given(shapes[1], dtype, scale=0.1, zero_point=0)
        whole[axis] += 5
        options = {"axis": axis, "fused_activation_function": "NONE"}
        made.append(net.make("CONCATENATION", [a, b, a], _grown(net, whole, axis, a), options))
    return made


def _grown(net: Bench, whole: Sequence[int], axis: int, like: int) -> Spec:
    shape = list(whole)
    shape[axis] += net.shape(like)[axis]
    return net.to(net.tensors[like].dtype, shape, like)


def pack(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for axis in (0, 1, -1):
        shape = list(net.sizes(2))
        parts = [net.given(shape, dtype, scale=0.1, zero_point=0) for _ in range(3)]
        shape.insert(axis % 3, 3)
        spec = net.to(dtype, shape, parts[0])
        made.append(net.make("PACK", parts, spec, {"axis": axis, "values_count": 3}))
    return made


def unpack(net: Bench, dtype: str) -> Sequence[int]:
    made: list[int] = []
    for axis in (0, 1, -1):
        x = net.given((3, 3, 3), dtype)
        specs = [net.to(dtype, (3, 3), x) for _ in range(3)]
        made += net.operator("UNPACK", [x], specs, {"axis": axis, "num": 3})
    return made


def split(net: Bench, dtype: str) -> Sequence[int]:
    made: list[int] = []
    for axis in (0, 1, -1):
        x = net.given((4, 4, 4), dtype)
        shape = [4, 4, 4]
        shape[axis] = 2
        where = net.constant(np.array(axis), "int32")
        specs = [net.to(dtype, shape, x) for _ in range(2)]
        made += net.operator("SPLIT", [where, x], specs, {"num_splits": 2})
    return made


def split_v(net: Bench, dtype: str) -> Sequence[int]:
    made: list[int] = []
    for axis in (0, -1):
        x = net.given((6, 2, 6), dtype)
        parts = []
        for size in (1, 3, 2):
            shape = [6, 2, 6]
            shape[axis] = size
            parts.append(net.to(dtype, shape, x))
        sizes, where = net.constant([1, 3, 2], "int32"), net.constant(np.array(axis), "int32")
        made += net.operator("SPLIT_V", [x, sizes, where], parts, {"num_splits": 3})
    return made


def pad(code: str) -> Build:
    def build(net: Bench, dtype: str) -> Sequence[int]:
        made = []
        for pairs in (
            ((0, 0), (1, 2), (0, 3), (0, 0)),
            ((1, 0), (0, 0), (2, 1), (1, 1)),
            ((0, 0), (0, 0), (0, 0), (0, 0)),
        ):
            before = net.sizes(4)
            x = net.given(before, dtype)
            shape = [size + sum(pair) for size, pair in zip(before, pairs, strict=True)]
            inputs = [x, net.constant(np.array(pairs), "int32")]
            if code == "PADV2":
                spec = net.tensors[x]
                inputs.append(net.constant(np.array([9], dtype), None, spec.scale, spec.zero_point))
            made.append(net.make(code, inputs, net.to(dtype, shape, x)))
        return made

    return build


def padv2_at_run_time(net: Bench, dtype: str) -> Sequence[int]:
    x = net.given((2, 3), dtype)
    spec: Any = net.tensors[x]
    value = net.given((1,), dtype, scale=spec.scale, zero_point=spec.zero_point)
    pairs = net.constant(np.array([[1, 0], [0, 2]]), "int32")
    return [net.make("PADV2", [x, pairs, value], net.to(dtype, (3, 5), x))]


def transpose(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for order in ((0, 3, 1, 2), (1, 0, 2, 3), (1, 0), (0, 1, 2), (4, 2, 0, 1, 3)):
        shape = net.sizes(len(order), 1)
        x = net.given(shape, dtype)
        target = net.to(dtype, [shape[axis] for axis in order], x)
        made.append(net.make("TRANSPOSE", [x, net.constant(order, "int32")], target))
    return made


def slice_(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for begin, size, shape in (
        ((0, 1, 2), (2, -1, 2), (2, 2, 2)),
        ((1, 0, 0), (1, 3, 4), (1, 3, 4)),
        ((0, 2, 3), (2, 1, 1), (2, 1, 1)),
    ):
        x = net.given((2, 3, 4), dtype)
        limits = [net.constant(begin, "int32"), net.constant(size, "int32")]
        made.append(net.make("SLICE", [x, *limits], net.to(dtype, shape, x)))
    x = net.given((2, 3, 4), dtype)
    drawn, sizes = net.given((3,), "int32", 0, 1), net.constant([1, 2, 3], "int32")
    made.append(net.make("SLICE", [x, drawn, sizes], net.to(dtype, (1, 2, 3), x)))
    return made


def strided_slice(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for begin, end, step, masks, shape in (
        ((0, 1, 0), (2, 5, 4), (1, 2, 1), {}, (2, 2, 4)),
        ((0, -1, 0), (2, -6, 4), (1, -2, 3), {}, (2, 3, 2)),
        ((1, 0, 0), (2, 3, 4), (1, 1, 1), {"shrink_axis_mask": 1}, (3, 4)),
        ((0, 3, 1), (0, 0, 2), (1, -1, 1), {"begin_mask": 1, "end_mask": 3}, (2, 4, 1)),
        ((0, 2, 1), (9, 3, 9), (1, 1, 1), {"shrink_axis_mask": 2}, (2, 3)),
        ((1, 2, 3), (2, 3, 4), (1, 1, 1), {"shrink_axis_mask": 7}, ()),
    ):
        x = net.given((2, 5, 4), dtype)
        limits = [net.constant(values, "int32") for values in (begin, end, step)]
        spec = net.to(dtype, shape, x)
        made.append(net.make("STRIDED_SLICE", [x, *limits], spec, masks))
    return made


def mirror_pad(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for mode, pairs in (
        ("REFLECT", ((1, 2), (0, 0), (2, 1))),
        ("SYMMETRIC", ((2, 3), (1, 0), (0, 4))),
    ):
        x = net.given((3, 2, 4), dtype)
        shape = [size + sum(pair) for size, pair in zip((3, 2, 4), pairs, strict=True)]
        amounts = net.constant(np.array(pairs), "int32")
        made.append(net.make("MIRROR_PAD", [x, amounts], net.to(dtype, shape, x), {"mode": mode}))
    return made


def space_to_depth(net: Bench, dtype: str) -> Sequence[int]:
    x = net.given((2, 4, 6, 3), dtype)
    spec = net.to(dtype, (2, 2, 3, 12), x)
    return [net.make("SPACE_TO_DEPTH", [x], spec, {"block_size": 2})]


def depth_to_space(net: Bench, dtype: str) -> Sequence[int]:
    x = net.given((2, 2, 3, 18), dtype)
    spec = net.to(dtype, (2, 6, 9, 2), x)
    return [net.make("DEPTH_TO_SPACE", [x], spec, {"block_size": 3})]


def space_to_batch(net: Bench, dtype: str) -> Sequence[int]:
    """Add SPACE_TO_BATCH_ND with zero point 0: TFLite Micro's padding value is uninitialized."""
    x = net.given((2, 3, 5, 2), dtype, zero_point=0)
    inputs = [x, net.constant([2, 3], "int32"), net.constant([[1, 0], [0, 1]], "int32")]
    y = net.given((2, 5, 3), dtype, zero_point=0)
    flat = [y, net.constant([2], "int32"), net.constant([[1, 2]], "int32")]
    return [
        net.make("SPACE_TO_BATCH_ND", inputs, net.to(dtype, (12, 2, 2, 2), x)),
        net.make("SPACE_TO_BATCH_ND", flat, net.to(dtype, (4, 4, 3), y)),
    ]


def batch_to_space(net: Bench, dtype: str) -> Sequence[int]:
    x = net.given((12, 2, 2, 3), dtype)
    inputs = [x, net.constant([2, 3], "int32"), net.constant([[1, 0], [0, 1]], "int32")]
    y = net.given((4, 4, 3), dtype)
    flat = [y, net.constant([2], "int32"), net.constant([[1, 2]], "int32")]
    return [
        net.make("BATCH_TO_SPACE_ND", inputs, net.to(dtype, (2, 3, 5, 3), x)),
        net.make("BATCH_TO_SPACE_ND", flat, net.to(dtype, (2, 5, 3), y)),
    ]


def broadcast_to(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for before, after in (((3, 1), (2, 3, 4)), ((1,), (3, 2)), ((2, 1, 3), (2, 4, 3))):
        x = net.given(before, dtype)
        shape = net.constant(after, "int32")
        made.append(net.make("BROADCAST_TO", [x, shape], net.to(dtype, after, x)))
    return made


def reverse(net: Bench, dtype: str) -> Sequence[int]:
    made = []
    for axes in ((0,), (1, 2), (2,)):
        shape = net.sizes(3)
        x = net.given(shape, dtype)
        where = net.constant(axes, "int32")
        made.append(net.make("REVERSE_V2", [x, where], net.to(dtype, shape, x)))
    return made


def resize(code: str) -> Build:
    def build(net: Bench, dtype: str) -> Sequence[int]:
        made = []
        for size in ((7, 9), (2, 3), (5, 1), (8, 8)):
            for align, half in ((False, False), (True, False), (False, True)):
                n, h, w, c = net.sizes(4)
                x = net.given((n, h, w, c), dtype)
                spec = net.to(dtype, (n, *size, c), x)
                options = {"align_corners": align, "half_pixel_centers": half}
                made.append(net.make(code, [x, net.constant(size, "int32")], spec, options))
        return made

    return build
