"""The CPU's operators of a program, against torch's arithmetic in numpy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend.pte.builder import GraphBuilder
from ethosgen.frontend.pte.kernels import KERNELS, KernelCall
from ethosgen.frontend.pte.program import DTYPES, Items, TensorValue, Value
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples

Array = np.ndarray[Any, Any]

SCALES = [0.03125, 0.031_305_536_627_769_47, 0.1, 1.0, 7.3, 1e-6]
QUANTIZE = ["quantized_decomposed::quantize_per_tensor.out", "cortex_m::quantize_per_tensor.out"]
DEQUANTIZE = [name.replace("::quantize", "::dequantize") for name in QUANTIZE]
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}


def value(sizes: Sequence[int], dtype: str, order: Sequence[int] | None = None) -> TensorValue:
    return TensorValue(dtype, tuple(sizes), tuple(order or range(len(sizes))))


def compute(name: str, before: TensorValue, after: TensorValue, array: Array, *more: Any) -> Array:
    """Run one operator of ExecuTorch as a network of the dialect; lists become Items."""
    values: list[Value] = [before]
    arguments = [0]
    for argument in more:
        first = len(values)
        if isinstance(argument, list):
            values += argument
        arguments.append(len(values))
        values.append(
            Items(tuple(range(first, len(values)))) if isinstance(argument, list) else argument
        )
    arguments.append(len(values))
    values.append(after)
    graph = GraphBuilder()
    source = graph.tensor("x", before.shape, before.dtype)
    target = graph.tensor("y", after.shape, after.dtype)
    KERNELS[name](KernelCall(graph, values, tuple(arguments), source, target, before, after))
    network = Network("one", (graph.graph("one", [source], [target]),))
    plan = make_plan(network, PlanSettings(None), Watch())
    return simulate_samples(plan, [{"x": array}], Watch())[0]["y"]


def torch_quantize(x: Array, scale: float, point: int, low: int, high: int) -> Array:
    """Return the output of torch's decomposed operator, before the cast to the integer's type.

    torch multiplies a float32 tensor by a Python number as float32, and rounds ties to even.
    """
    product = x * np.float32(1.0 / scale)
    return np.clip(np.rint(product) + np.float32(point), low, high)


def hard_floats(scale: float, point: int) -> Array:
    """Return ties and their neighbours, values that saturate, and random ones."""
    ties = (np.arange(-140, 140) + 0.5).astype(np.float32) * np.float32(scale)
    near = [np.nextafter(ties, np.float32(end)) for end in (-np.inf, np.inf)]
    random = np.random.default_rng(point + 200).normal(0, 60 * scale, 700).astype(np.float32)
    ends = np.array([0, -0.0, 1e30, -1e30, np.inf, -np.inf, 1e-40], np.float32)
    return np.concatenate([ties, *near, random, ends]).reshape(1, -1)


@pytest.mark.parametrize("name", QUANTIZE)
@pytest.mark.parametrize(("dtype", "point"), [("int8", 6), ("uint8", 128), ("int16", 0)])
def test_quantize_rounds_as_torch_does(name: str, dtype: str, point: int) -> None:
    info = np.iinfo(dtype)
    for scale in SCALES:
        x = hard_floats(scale, point)
        ends = value(x.shape, "float32"), value(x.shape, dtype)
        numbers = (scale, point, int(info.min), int(info.max), NUMBERS[dtype])
        wanted = torch_quantize(x, scale, point, int(info.min), int(info.max)).astype(dtype)
        np.testing.assert_array_equal(compute(name, *ends, x, *numbers), wanted)


def test_the_dialects_own_quantize_would_differ() -> None:
    """Why QUANTIZE is not used: at ties with an even neighbour below, it rounds away from zero."""
    x = hard_floats(1.0, 0)
    away = np.clip(np.trunc(x + np.copysign(np.float32(0.5), x)), -128, 127)
    assert (away != torch_quantize(x, 1.0, 0, -128, 127)).sum() > 100


def test_bounds_inside_the_type_saturate() -> None:
    x = hard_floats(0.25, 0)
    ends = value(x.shape, "float32"), value(x.shape, "int16")
    got = compute(QUANTIZE[0], *ends, x, 0.25, 0, -100, 99, NUMBERS["int16"])
    np.testing.assert_array_equal(got, torch_quantize(x, 0.25, 0, -100, 99).astype("int16"))


@pytest.mark.parametrize("name", DEQUANTIZE)
@pytest.mark.parametrize(("dtype", "point"), [("int8", -5), ("uint8", 3), ("int16", 0)])
def test_dequantize_is_torchs(name: str, dtype: str, point: int) -> None:
    info = np.iinfo(dtype)
    q = np.arange(info.min, info.max + 1).astype(dtype).reshape(1, -1)
    for scale in SCALES:
        ends = value(q.shape, dtype), value(q.shape, "float32")
        numbers = (scale, point, int(info.min), int(info.max), NUMBERS[dtype])
        wanted = (q.astype(np.float32) - np.float32(point)) * np.float32(scale)
        np.testing.assert_array_equal(compute(name, *ends, q, *numbers), wanted)


CHW = np.arange(2 * 3 * 4, dtype=np.int8).reshape(1, 2, 3, 4)
NHWC = (0, 2, 3, 1)


@pytest.mark.parametrize(
    ("name", "sizes", "more"),
    [
        ("aten::view_copy.out", (6, 4), [[6, 4]]),
        ("aten::squeeze_copy.dims_out", (2, 3, 4), [[0]]),
        ("aten::unsqueeze_copy.out", (1, 1, 2, 3, 4), [0]),
        ("executorch_prim::et_view.default", (24,), [[24]]),
    ],
)
def test_views_keep_the_bytes(name: str, sizes: tuple[int, ...], more: list[Any]) -> None:
    got = compute(name, value(CHW.shape, "int8"), value(sizes, "int8"), CHW, *more)
    np.testing.assert_array_equal(got, CHW.reshape(sizes))


@pytest.mark.parametrize("before", [None, NHWC], ids=["contiguous", "channels_last"])
@pytest.mark.parametrize("after", [None, (0, 3, 1, 2)], ids=["contiguous", "other"])
@pytest.mark.parametrize(
    ("name", "axes", "more"),
    [
        ("aten::permute_copy.out", (0, 3, 1, 2), [[0, 3, 1, 2]]),
        ("aten::permute_copy.out", (0, 2, 1, 3), [[0, -2, 1, -1]]),
        ("aten::transpose_copy.int_out", (0, 1, 3, 2), [-1, 2]),
        ("cortex_m::transpose.out", (3, 2, 1, 0), [[3, 2, 1, 0]]),
        ("dim_order_ops::_to_dim_order_copy.out", (0, 1, 2, 3), []),
        ("aten::clone.out", (0, 1, 2, 3), []),
    ],
)
def test_permutations_follow_torchs_sizes(
    name: str,
    axes: tuple[int, ...],
    more: list[Any],
    before: tuple[int, ...] | None,
    after: tuple[int, ...] | None,
) -> None:
    """In any order of dimensions in memory, the output is numpy's transposition."""
    wanted = np.transpose(CHW, axes)
    ends = value(CHW.shape, "int8", before), value(wanted.shape, "int8", after)
    got = compute(name, *ends, np.transpose(CHW, ends[0].dim_order).copy(), *more)
    np.testing.assert_array_equal(got, np.transpose(wanted, ends[1].dim_order))


def torch_pool(x: Array, kernel: tuple[int, int], stride: tuple[int, int]) -> Array:
    """Return avg_pool2d of NCHW, with torch's order of sums in float32."""
    height, width = ((n - k) // s + 1 for n, k, s in zip(x.shape[2:], kernel, stride, strict=True))
    means = np.zeros((*x.shape[:2], height, width), np.float32)
    for row, column in np.ndindex(height, width):
        total = np.zeros(x.shape[:2], np.float32)
        for i, j in np.ndindex(*kernel):
            total += x[:, :, row * stride[0] + i, column * stride[1] + j]
        means[:, :, row, column] = total / np.float32(kernel[0] * kernel[1])
    return means


@pytest.mark.parametrize("order", [(0, 1, 2, 3), NHWC], ids=["contiguous", "channels_last"])
@pytest.mark.parametrize(
    ("kernel", "stride", "used"),
    [([8, 8], [], (8, 8)), ([2, 3], [2, 1], (2, 1)), ([3], [2], (2, 2))],
)
def test_average_pool_sums_as_torch_does(
    order: tuple[int, ...], kernel: list[int], stride: list[int], used: tuple[int, int]
) -> None:
    x = np.random.default_rng(3).normal(0, 3, (1, 5, 8, 8)).astype(np.float32)
    window = (kernel[0], kernel[-1])
    wanted = torch_pool(x, window, used)
    ends = value(x.shape, "float32", order), value(wanted.shape, "float32", order)
    more = (kernel, stride, [0, 0], False, True, None)
    got = compute("aten::avg_pool2d.out", *ends, np.transpose(x, order).copy(), *more)
    np.testing.assert_array_equal(got, np.transpose(wanted, order))


POOLS = value((1, 2, 4, 4), "float32"), value((1, 2, 2, 2), "float32")
FLOATS, BYTES = value((1, 4), "float32"), value((1, 4), "int8")


@pytest.mark.parametrize(
    ("name", "before", "after", "more", "says"),
    [
        (QUANTIZE[0], FLOATS, BYTES, (0.0, 0, -128, 127, 1), "its scale is 0"),
        (QUANTIZE[0], FLOATS, BYTES, (float("nan"), 0, -128, 127, 1), "its argument 1 is nan"),
        (QUANTIZE[0], FLOATS, BYTES, (1.0, 300, -128, 127, 1), "zero point 300"),
        (QUANTIZE[0], FLOATS, BYTES, (1.0, 0, -129, 127, 1), "bounds -129 to 127"),
        (QUANTIZE[0], FLOATS, BYTES, (1.0, 0, -128, 127, 2), "dtype argument is not int8"),
        (QUANTIZE[0], FLOATS, BYTES, (1.0, 0.5, -128, 127, 1), "argument 2 is not an integer"),
        (QUANTIZE[0], FLOATS, BYTES, (1.0,), "argument 2 is not a number"),
        (QUANTIZE[0], FLOATS, value((1, 4), "int64"), (1.0, 0, -8, 7, 4), "integers are int64"),
        (QUANTIZE[0], FLOATS, value((4, 1), "int8"), (1.0, 0, -8, 7, 1), "order of dimensions"),
        (DEQUANTIZE[0], BYTES, value((1, 4), "float64"), (1.0, 0, -8, 7, 1), "int8 to float64"),
        ("aten::view_copy.out", BYTES, value((1, 5), "int8"), (), "differ in elements"),
        ("aten::view_copy.out", BYTES, FLOATS, (), "differ in type"),
        ("aten::view_copy.out", value((1, 2, 3), "int8", (0, 2, 1)), value((6,), "int8"), (), "in"),
        ("aten::permute_copy.out", BYTES, BYTES, ([0, 0],), "permutes 2 dimensions"),
        ("aten::permute_copy.out", BYTES, BYTES, (3,), "is not a list"),
        ("aten::permute_copy.out", BYTES, BYTES, ([0.5, 1],), "not a list of integers"),
        ("aten::transpose_copy.int_out", BYTES, BYTES, (0, 2), "swaps dimensions 0 and 2 of 2"),
        ("dim_order_ops::_to_dim_order_copy.out", BYTES, FLOATS, (), "differ in type"),
        ("aten::avg_pool2d.out", *POOLS, ([2, 2], [], [1, 0], False, True, None), "has padding"),
        ("aten::avg_pool2d.out", *POOLS, ([2, 2], [], [], True, True, None), "has padding, ceil"),
        ("aten::avg_pool2d.out", *POOLS, ([2, 2], [], [], False, True, 3), "a divisor of its own"),
        ("aten::avg_pool2d.out", *POOLS, ([3, 3], [], [], False, True, None), "differ in size"),
        ("aten::avg_pool2d.out", *POOLS, ([2, 2], [0, 1], [], False, True, None), "differ in size"),
        ("aten::avg_pool2d.out", FLOATS, FLOATS, ([2, 2], [], [], False), "it pools"),
    ],
)
def test_what_does_not_fit_is_said(
    name: str, before: TensorValue, after: TensorValue, more: tuple[Any, ...], says: str
) -> None:
    with pytest.raises(UnsupportedError, match=says):
        compute(name, before, after, np.zeros(before.shape, before.dtype), *more)
