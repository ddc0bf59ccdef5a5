"""What TFLite's operators make of their inputs: the shapes, and the types where they change."""

import math
from collections.abc import Callable, Mapping, Sequence
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
    rule = _RULES.get(code, _broadcast)
    result = rule(inputs, options)
    return result if isinstance(result, list) else [result]


def _numbers(spec: Spec) -> list[Any]:
    assert spec.data is not None, "the shape depends on an input"
    return [*np.atleast_1d(np.frombuffer(spec.data, spec.dtype).reshape(spec.shape)).tolist()]


def _broadcast(inputs: Sequence[Spec], _options: Options) -> Shape:
    return np.broadcast_shapes(*(spec.shape for spec in inputs))


def _of(operand: int) -> Rule:
    """Return the rule of an output with the shape of an operand."""
    return lambda inputs, _: inputs[operand].shape


def _named(operand: int) -> Rule:
    """Return the rule of an output whose shape an operand contains."""
    return lambda inputs, _: tuple(_numbers(inputs[operand]))


def _changed(shape: Sequence[int], axis: int, *sizes: int) -> Shape:
    """Return a shape with other sizes, or none, in place of an axis."""
    axis %= len(shape)
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


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


# ---- reductions ----------------------------------------------------------------------------------


def _reduced(inputs: Sequence[Spec], options: Options) -> Shape:
    shape = inputs[0].shape
    axes = {axis % len(shape) for axis in _numbers(inputs[1])}
    keep = options.get("keep_dims", False)
    return tuple(
        1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes
    )


def _top(inputs: Sequence[Spec], _options: Options) -> list[Shape]:
    return [_changed(inputs[0].shape, -1, *_numbers(inputs[1]))] * 2


# ---- places --------------------------------------------------------------------------------------


def _joined(inputs: Sequence[Spec], options: Options) -> Shape:
    axis = options["axis"]
    return _changed(inputs[0].shape, axis, sum(spec.shape[axis] for spec in inputs))


def _packed(inputs: Sequence[Spec], options: Options) -> Shape:
    shape = [*inputs[0].shape]
    shape.insert(options["axis"] % (len(shape) + 1), len(inputs))
    return tuple(shape)


def _unpacked(inputs: Sequence[Spec], options: Options) -> list[Shape]:
    return [_changed(inputs[0].shape, options["axis"])] * options["num"]


def _split(inputs: Sequence[Spec], options: Options) -> list[Shape]:
    (axis,), count = _numbers(inputs[0]), options["num_splits"]
    shape = inputs[1].shape
    return [_changed(shape, axis, shape[axis] // count)] * count


def _split_by_sizes(inputs: Sequence[Spec], _options: Options) -> list[Shape]:
    (axis,) = _numbers(inputs[2])
    return [_changed(inputs[0].shape, axis, size) for size in _numbers(inputs[1])]


def _padded(inputs: Sequence[Spec], _options: Options) -> Shape:
    pairs = zip(inputs[0].shape, _numbers(inputs[1]), strict=True)
    return tuple(size + sum(pair) for size, pair in pairs)


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


def _permuted(inputs: Sequence[Spec], _options: Options) -> Shape:
    return tuple(inputs[0].shape[axis] for axis in _numbers(inputs[1]))


def _repeated(inputs: Sequence[Spec], _options: Options) -> Shape:
    return tuple(s * n for s, n in zip(inputs[0].shape, _numbers(inputs[1]), strict=True))


def _expanded(inputs: Sequence[Spec], _options: Options) -> Shape:
    shape, (axis,) = [*inputs[0].shape], _numbers(inputs[1])
    shape.insert(axis % (len(shape) + 1), 1)
    return tuple(shape)


def _squeezed(inputs: Sequence[Spec], options: Options) -> Shape:
    dropped = options["squeeze_dims"]
    return tuple(size for axis, size in enumerate(inputs[0].shape) if axis not in dropped)


def _gathered(inputs: Sequence[Spec], options: Options) -> Shape:
    shape, indices = inputs[0].shape, inputs[1].shape
    axis = options.get("axis", 0) % len(shape)
    batches = options.get("batch_dims", 0)
    batches += len(indices) if batches < 0 else 0
    return _changed(shape, axis, *indices[batches:])


def _gathered_rows(inputs: Sequence[Spec], _options: Options) -> Shape:
    shape, (*places, depth) = inputs[0].shape, inputs[1].shape
    return (*places, *shape[depth:])


def _looked_up(inputs: Sequence[Spec], _options: Options) -> Shape:
    return (*inputs[0].shape, *inputs[1].shape[1:])


def _resized(inputs: Sequence[Spec], _options: Options) -> Shape:
    batch, _, _, depth = inputs[0].shape
    return (batch, *_numbers(inputs[1]), depth)


def _deepened(inputs: Sequence[Spec], options: Options) -> Shape:
    (batch, height, width, depth), block = inputs[0].shape, options["block_size"]
    return batch, height // block, width // block, depth * block * block


def _flattened(inputs: Sequence[Spec], options: Options) -> Shape:
    (batch, height, width, depth), block = inputs[0].shape, options["block_size"]
    return batch, height * block, width * block, depth // (block * block)


def _to_batches(inputs: Sequence[Spec], _options: Options) -> Shape:
    batch, *shape = inputs[0].shape
    blocks, pairs = _numbers(inputs[1]), _numbers(inputs[2])
    sizes = [(s + sum(pair)) // b for s, b, pair in zip(shape, blocks, pairs, strict=False)]
    return (batch * math.prod(blocks), *sizes, *shape[len(blocks) :])


def _from_batches(inputs: Sequence[Spec], _options: Options) -> Shape:
    batch, *shape = inputs[0].shape
    blocks, pairs = _numbers(inputs[1]), _numbers(inputs[2])
    sizes = [s * b - sum(pair) for s, b, pair in zip(shape, blocks, pairs, strict=False)]
    return (batch // math.prod(blocks), *sizes, *shape[len(blocks) :])


_POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
_REDUCTIONS = ("MEAN", "SUM", *(f"REDUCE_{name}" for name in ("MAX", "MIN", "ALL", "ANY")))
_RULES: dict[str, Rule] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", *_POOLS), _slid),
    **dict.fromkeys((*_REDUCTIONS, "ARG_MAX", "ARG_MIN"), _reduced),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _padded),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resized),
    **dict.fromkeys(("CUMSUM", "REVERSE_V2", "DYNAMIC_UPDATE_SLICE"), _of(0)),
    **dict.fromkeys(("RESHAPE", "BROADCAST_TO"), _named(1)),
    **dict.fromkeys(("FILL", "TRANSPOSE_CONV"), _named(0)),
    "SELECT": _of(1),
    "SCATTER_ND": _named(2),
    "SHAPE": lambda inputs, _: (len(inputs[0].shape),),
    "FULLY_CONNECTED": _dense,
    "BATCH_MATMUL": _product,
    "TOPK_V2": _top,
    "CONCATENATION": _joined,
    "PACK": _packed,
    "UNPACK": _unpacked,
    "SPLIT": _split,
    "SPLIT_V": _split_by_sizes,
    "SLICE": _sliced,
    "STRIDED_SLICE": _strided,
    "TRANSPOSE": _permuted,
    "TILE": _repeated,
    "EXPAND_DIMS": _expanded,
    "SQUEEZE": _squeezed,
    "GATHER": _gathered,
    "GATHER_ND": _gathered_rows,
    "EMBEDDING_LOOKUP": _looked_up,
    "SPACE_TO_DEPTH": _deepened,
    "DEPTH_TO_SPACE": _flattened,
    "SPACE_TO_BATCH_ND": _to_batches,
    "BATCH_TO_SPACE_ND": _from_batches,
}
