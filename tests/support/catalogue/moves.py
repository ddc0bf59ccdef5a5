"""Cases of operators that move elements: see `cases`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.catalogue.bench import Bench, Build


def concatenation(net: Bench, dtype: str) -> Sequence[int]:
    joined = []
    for axis in (0, 1, -1):
        shape = list(net.sizes(3))
        a = net.feed(shape, dtype, scale=0.1, zero_point=0)
        shape[axis] = 5
        b = net.feed(shape, dtype, scale=0.1, zero_point=0)
        options = {"axis": axis, "fused_activation_function": "NONE"}
        joined.append(net.apply("CONCATENATION", a, b, a, **options))
    return joined


def pack(net: Bench, dtype: str) -> Sequence[int]:
    packed = []
    for axis in (0, 1, -1):
        shape = net.sizes(2)
        parts = [net.feed(shape, dtype, scale=0.1, zero_point=0) for _ in range(3)]
        packed.append(net.apply("PACK", *parts, axis=axis, values_count=3))
    return packed


def unpack(net: Bench, dtype: str) -> Sequence[int]:
    parts: list[int] = []
    for axis in (0, 1, -1):
        parts += net.apply_all("UNPACK", net.feed((3, 3, 3), dtype), axis=axis, num=3)
    return parts


def split(net: Bench, dtype: str) -> Sequence[int]:
    parts: list[int] = []
    for axis in (0, 1, -1):
        x = net.feed((4, 4, 4), dtype)
        parts += net.apply_all("SPLIT", np.array(axis), x, num_splits=2)
    return parts


def split_v(net: Bench, dtype: str) -> Sequence[int]:
    parts: list[int] = []
    for axis in (0, -1):
        x = net.feed((6, 2, 6), dtype)
        parts += net.apply_all("SPLIT_V", x, (1, 3, 2), np.array(axis), num_splits=3)
    return parts


def pad(code: str) -> Build:
    def build(net: Bench, dtype: str) -> Sequence[int]:
        padded = []
        for pairs in (
            ((0, 0), (1, 2), (0, 3), (0, 0)),
            ((1, 0), (0, 0), (2, 1), (1, 1)),
            ((0, 0), (0, 0), (0, 0), (0, 0)),
        ):
            operands: list[Any] = [net.feed(net.sizes(4), dtype), net.constant(pairs, "int32")]
            if code == "PADV2":
                spec = net.tensors[operands[0]]
                operands.append(
                    net.constant(np.array([9], dtype), None, spec.scale, spec.zero_point)
                )
            padded.append(net.apply(code, *operands))
        return padded

    return build


def padv2_at_run_time(net: Bench, dtype: str) -> Sequence[int]:
    x = net.feed((2, 3), dtype)
    spec: Any = net.tensors[x]
    value = net.feed((1,), dtype, scale=spec.scale, zero_point=spec.zero_point)
    return [net.apply("PADV2", x, ((1, 0), (0, 2)), value)]


def transpose(net: Bench, dtype: str) -> Sequence[int]:
    return [
        net.apply("TRANSPOSE", net.feed(net.sizes(len(order), 1), dtype), order)
        for order in ((0, 3, 1, 2), (1, 0, 2, 3), (1, 0), (0, 1, 2), (4, 2, 0, 1, 3))
    ]


def slice_(net: Bench, dtype: str) -> Sequence[int]:
    parts = [
        net.apply("SLICE", net.feed((2, 3, 4), dtype), begin, size)
        for begin, size in (
            ((0, 1, 2), (2, -1, 2)),
            ((1, 0, 0), (1, 3, 4)),
            ((0, 2, 3), (2, 1, 1)),
        )
    ]
    x = net.feed((2, 3, 4), dtype)
    return [*parts, net.apply("SLICE", x, net.feed((3,), "int32", 0, 1), (1, 2, 3))]


def strided_slice(net: Bench, dtype: str) -> Sequence[int]:
    return [
        net.apply("STRIDED_SLICE", net.feed((2, 5, 4), dtype), begin, end, step, **masks)
        for begin, end, step, masks in (
            ((0, 1, 0), (2, 5, 4), (1, 2, 1), {}),
            ((0, -1, 0), (2, -6, 4), (1, -2, 3), {}),
            ((1, 0, 0), (2, 3, 4), (1, 1, 1), {"shrink_axis_mask": 1}),
            ((0, 3, 1), (0, 0, 2), (1, -1, 1), {"begin_mask": 1, "end_mask": 3}),
            ((0, 2, 1), (9, 3, 9), (1, 1, 1), {"shrink_axis_mask": 2}),
            ((1, 2, 3), (2, 3, 4), (1, 1, 1), {"shrink_axis_mask": 7}),
        )
    ]


def mirror_pad(net: Bench, dtype: str) -> Sequence[int]:
    return [
        net.apply("MIRROR_PAD", net.feed((3, 2, 4), dtype), pairs, mode=mode)
        for mode, pairs in (
            ("REFLECT", ((1, 2), (0, 0), (2, 1))),
            ("SYMMETRIC", ((2, 3), (1, 0), (0, 4))),
        )
    ]


def space_to_depth(net: Bench, dtype: str) -> Sequence[int]:
    return [net.apply("SPACE_TO_DEPTH", net.feed((2, 4, 6, 3), dtype), block_size=2)]


def depth_to_space(net: Bench, dtype: str) -> Sequence[int]:
    return [net.apply("DEPTH_TO_SPACE", net.feed((2, 2, 3, 18), dtype), block_size=3)]


def space_to_batch(net: Bench, dtype: str) -> Sequence[int]:
    """Add SPACE_TO_BATCH_ND with zero point 0: TFLite Micro's padding value is uninitialized."""
    x, y = (net.feed(shape, dtype, zero_point=0) for shape in ((2, 3, 5, 2), (2, 5, 3)))
    return [
        net.apply("SPACE_TO_BATCH_ND", x, (2, 3), ((1, 0), (0, 1))),
        net.apply("SPACE_TO_BATCH_ND", y, (2,), ((1, 2),)),
    ]


def batch_to_space(net: Bench, dtype: str) -> Sequence[int]:
    x, y = (net.feed(shape, dtype) for shape in ((12, 2, 2, 3), (4, 4, 3)))
    return [
        net.apply("BATCH_TO_SPACE_ND", x, (2, 3), ((1, 0), (0, 1))),
        net.apply("BATCH_TO_SPACE_ND", y, (2,), ((1, 2),)),
    ]


def broadcast_to(net: Bench, dtype: str) -> Sequence[int]:
    return [
        net.apply("BROADCAST_TO", net.feed(before, dtype), after)
        for before, after in (((3, 1), (2, 3, 4)), ((1,), (3, 2)), ((2, 1, 3), (2, 4, 3)))
    ]


def reverse(net: Bench, dtype: str) -> Sequence[int]:
    return [
        net.apply("REVERSE_V2", net.feed(net.sizes(3), dtype), axes)
        for axes in ((0,), (1, 2), (2,))
    ]


def resize(code: str) -> Build:
    def build(net: Bench, dtype: str) -> Sequence[int]:
        return [
            net.apply(
                code, net.feed(net.sizes(4), dtype), size, align_corners=align,
                half_pixel_centers=half,
            )
            for size in ((7, 9), (2, 3), (5, 1), (8, 8))
            for align, half in ((False, False), (True, False), (False, True))
        ]  # fmt: skip

    return build
