"""What TFLite's operators make of their inputs: the shapes, and the types where they change."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tests.support.network_file import Spec

Shape = tuple[int, ...]
Options = Mapping[str, Any]
Rule = Callable[[Sequence[Spec], Options], Shape | list[Shape]]

_DATA = {"SPLIT": 1, "EMBEDDING_LOOKUP": 1, "SELECT": 1, "SELECT_V2": 1, "FILL": 1}
_DATA |= {"SCATTER_ND": 1, "TRANSPOSE_CONV": 2}
_BOOL = frozenset("EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL".split())
_TYPE_OPTIONS = {"ARG_MAX": "output_type", "ARG_MIN": "output_type", "SHAPE": "out_type"}
_TYPE_OPTIONS["CAST"] = "out_data_type"


def data_operand(code: str) -> int:
    """Return the number of the operand whose type and quantization the output has."""
    return _DATA.get(code, 0)


def plain_type(code: str, options: Options) -> str | None:
    """Return the type of an output that has no quantization, None where it is the operand's."""
    return "bool" if code in _BOOL else options.get(_TYPE_OPTIONS.get(code, ""))


def shapes(code: str, inputs: Sequence[Spec], options: Options) -> list[Shape]:
    """Return the shapes of the outputs; an operator without a rule broadcasts its inputs."""
    if code not in _RULES:
        return [np.broadcast_shapes(*(spec.shape for spec in inputs))]
    result = _RULES[code](inputs, options)
    return result if isinstance(result, list) else [result]


def _numbers(spec: Spec) -> list[Any]:
    assert spec.data is not None, "the shape depends on an input"
    return [*np.atleast_1d(np.frombuffer(spec.data, spec.dtype).reshape(spec.shape)).tolist()]


def _changed(shape: Sequence[int], axis: int, *sizes: int) -> Shape:
    """Return a shape with other sizes, or none, in place of an axis."""
    axis %= len(shape)
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def _with_axis(shape: Sequence[int], axis: int, size: int) -> Shape:
    """Return a shape with one more axis."""
    axis %= len(shape) + 1
    return (*shape[:axis], size, *shape[axis:])


# ---- layers --------------------------------------------------------------------------------------


def window(
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int] = (1, 1),
) -> Shape:
    """Return the output's height and width by TFLite's rule for SAME and VALID."""
    return tuple(
        -(-(extent if padding == "SAME" else extent - (k - 1) * d) // s)
        for extent, k, s, d in zip(size, kernel, stride, dilation, strict=True)
    )


def _slid(inputs: Sequence[Spec], options: Options) -> Shape:
    batch, *size, depth = inputs[0].shape
    kernel = options.get("filter_height"), options.get("filter_width")
    if len(inputs) > 1:
        first, *kernel, last = inputs[1].shape  # type: ignore[assignment]
        depth = last if "depth_multiplier" in options else first
    stride = options["stride_h"], options["stride_w"]
    dilation = options.get("dilation_h_factor", 1), options.get("dilation_w_factor", 1)
    return (batch, *window(size, kernel, stride, options["padding"], dilation), depth)  # type: ignore[arg-type]


def _dense(inputs: Sequence[Spec], options: Options) -> Shape:
    shape, (units, depth) = inputs[0].shape, inputs[1].shape
    return (*shape[:-1], units) if options.get("keep_num_dims") else (
        math.prod(shape) // depth, units,
    )  # fmt: skip


def _product(inputs: Sequence[Spec], options: Options) -> Shape:
    first, second = inputs[0].shape, inputs[1].shape
    rows = first[-1 if options.get("adj_x") else -2]
    columns = second[-2 if options.get("adj_y") else -1]
    return (*np.broadcast_shapes(first[:-2], second[:-2]), rows, columns)


# ---- the rest ------------------------------------------------------------------------------------


def _reduced(inputs: Sequence[Spec], options: Options) -> Shape:
    shape = inputs[0].shape
    axes = {axis % len(shape) for axis in _numbers(inputs[1])}
    keep = options.get("keep_dims", False)
    return tuple(
        1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes
    )


def _split(inputs: Sequence[Spec], options: Options) -> list[Shape]:
    (axis,), shape, count = _numbers(inputs[0]), inputs[1].shape, options["num_splits"]
    return [_changed(shape, axis, shape[axis] // count)] * count


def _sliced(inputs: Sequence[Spec], _options: Options) -> Shape:
    shape, sizes = inputs[0].shape, _numbers(inputs[2])
    begins = _numbers(inputs[1]) if inputs[1].data else sizes
    whole = zip(shape, begins, sizes, strict=True)
    return tuple(extent - begin if size < 0 else size for extent, begin, size in whole)


def _strided(inputs: Sequence[Spec], options: Options) -> Shape:
    parts: list[int | slice] = []
    limits = zip(*(_numbers(spec) for spec in inputs[1:4]), strict=True)
    for axis, (begin, end, step) in enumerate(limits):
        is_open, is_endless, is_dropped = (
            options.get(f"{name}_mask", 0) >> axis & 1 for name in ("begin", "end", "shrink_axis")
        )
        bounds = slice(None if is_open else begin, None if is_endless else end, step)
        parts.append(begin if is_dropped else bounds)
    return np.broadcast_to(0, inputs[0].shape)[tuple(parts)].shape


def _gathered(inputs: Sequence[Spec], options: Options) -> Shape:
    shape, indices = inputs[0].shape, inputs[1].shape
    axis = options.get("axis", 0) % len(shape)
    batches = options.get("batch_dims", 0)
    batches += len(indices) if batches < 0 else 0
    return _changed(shape, axis, *indices[batches:])


def _in_blocks(x: Spec, factor: Fraction) -> Shape:
    batch, height, width, depth = x.shape
    return batch, int(height * factor), int(width * factor), int(depth / factor**2)


def _in_batches(inputs: Sequence[Spec], is_split: bool) -> Shape:
    (batch, *shape), blocks = inputs[0].shape, _numbers(inputs[1])
    more = [sum(pair) for pair in _numbers(inputs[2])]
    parts, count = [*zip(shape, blocks, more, strict=False)], math.prod(blocks)
    if is_split:
        return (batch * count, *((s + m) // b for s, b, m in parts), *shape[len(blocks) :])
    return (batch // count, *(s * b - m for s, b, m in parts), *shape[len(blocks) :])


_POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
_REDUCTIONS = ("MEAN", "SUM", *(f"REDUCE_{name}" for name in ("MAX", "MIN", "ALL", "ANY")))
_RULES: dict[str, Rule] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", *_POOLS), _slid),
    **dict.fromkeys((*_REDUCTIONS, "ARG_MAX", "ARG_MIN"), _reduced),
    **dict.fromkeys(
        ("PAD", "PADV2", "MIRROR_PAD"),
        lambda x, _: tuple(
            n + sum(pair) for n, pair in zip(x[0].shape, _numbers(x[1]), strict=True)
        ),
    ),
    **dict.fromkeys(
        ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
        lambda x, _: (x[0].shape[0], *_numbers(x[1]), x[0].shape[3]),
    ),
    **dict.fromkeys(("CUMSUM", "REVERSE_V2", "DYNAMIC_UPDATE_SLICE"), lambda x, _: x[0].shape),
    **dict.fromkeys(("RESHAPE", "BROADCAST_TO"), lambda x, _: tuple(_numbers(x[1]))),
    **dict.fromkeys(("FILL", "TRANSPOSE_CONV"), lambda x, _: tuple(_numbers(x[0]))),
    "SELECT": lambda x, _: x[1].shape,
    "SCATTER_ND": lambda x, _: tuple(_numbers(x[2])),
    "SHAPE": lambda x, _: (len(x[0].shape),),
    "FULLY_CONNECTED": _dense,
    "BATCH_MATMUL": _product,
    "CONCATENATION": lambda x, options: _changed(
        x[0].shape, options["axis"], sum(spec.shape[options["axis"]] for spec in x)
    ),
    "PACK": lambda x, options: _with_axis(x[0].shape, options["axis"], len(x)),
    "UNPACK": lambda x, options: [_changed(x[0].shape, options["axis"])] * options["num"],
    "SPLIT": _split,
    "SPLIT_V": lambda x, _: [
        _changed(x[0].shape, _numbers(x[2])[0], size) for size in _numbers(x[1])
    ],
    "SLICE": _sliced,
    "STRIDED_SLICE": _strided,
    "TRANSPOSE": lambda x, _: tuple(x[0].shape[axis] for axis in _numbers(x[1])),
    "TILE": lambda x, _: tuple(
        n * times for n, times in zip(x[0].shape, _numbers(x[1]), strict=True)
    ),
    "EXPAND_DIMS": lambda x, _: _with_axis(x[0].shape, _numbers(x[1])[0], 1),
    "SQUEEZE": lambda x, options: tuple(
        n for axis, n in enumerate(x[0].shape) if axis not in options["squeeze_dims"]
    ),
    "GATHER": _gathered,
    "GATHER_ND": lambda x, _: (*x[1].shape[:-1], *x[0].shape[x[1].shape[-1] :]),
    "EMBEDDING_LOOKUP": lambda x, _: (*x[0].shape, *x[1].shape[1:]),
    "SPACE_TO_DEPTH": lambda x, options: _in_blocks(x[0], Fraction(1, options["block_size"])),
    "DEPTH_TO_SPACE": lambda x, options: _in_blocks(x[0], Fraction(options["block_size"])),
    "SPACE_TO_BATCH_ND": lambda x, _: _in_batches(x, True),
    "BATCH_TO_SPACE_ND": lambda x, _: _in_batches(x, False),
}
