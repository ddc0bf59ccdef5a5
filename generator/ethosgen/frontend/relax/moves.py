"""Operators that move elements: they work on integers and floats alike, and on constants."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import DraftConstant, Operand, Value, channels_last, in_order
from ethosgen.frontend.relax.site import Site, ints, quantize, requantized, translates
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import pieces


@translates("reshape", "squeeze", "expand_dims", "flatten", "nn.batch_flatten")
def reshape(site: Site) -> Operand:
    """Translate to RESHAPE; a value keeps its order of axes if only axes of size 1 change."""
    operand: Operand = site.operands[0]
    if isinstance(operand, DraftConstant):
        return _reshaped_constant(operand, site.shape)
    value = _regrouped(operand, site.shape)
    if value is not None:
        reshaped = site.draft.reshaped(operand.tensor, value.physical, operand)
        return replace(reshaped, shape=value.shape, order=value.order, is_real=operand.is_real)
    value = _in_blocks(site, operand)
    if value is not None:
        return value
    plain = site.draft.plain(operand)
    reshaped = site.draft.reshaped(plain.tensor, site.shape, plain)
    if len(site.shape) == 2 and site.shape[0] == operand.shape[0] and operand.order[0] == 0:
        site.draft.flattened[reshaped.tensor] = operand
    return replace(reshaped, is_real=operand.is_real)


def _in_blocks(site: Site, value: Value) -> Value | None:
    """Return the last step of DepthToSpace or SpaceToDepth, None for any other reshape.

    Relax has the six axes (batch, channel, row, row in block, column, column in block), or (batch,
    row in block, column in block, channel, row, column) for SpaceToDepth. The tensor becomes
    channels-last: then only a swap of two axes remains, which the NPU supports, while Vela has no
    DEPTH_TO_SPACE.
    """
    if len(value.shape) != 6 or len(site.shape) != 4:
        return None
    batch, *sizes = value.shape
    if site.shape == (batch, sizes[0], sizes[1] * sizes[2], sizes[3] * sizes[4]):
        steps = (0, 5, 1, 3, 2, 4), (0, 5, 1, 2, 3, 4)
    elif site.shape == (batch, sizes[0] * sizes[1] * sizes[2], *sizes[3:]):
        steps = (0, 2, 4, 5, 1, 3), (0, 3, 4, 5, 1, 2)
    else:
        return None
    moved = value
    for order in steps:
        moved = site.draft.ordered(moved, order)
    last = channels_last(4)
    regrouped = site.draft.regrouped(moved.tensor, in_order(site.shape, last), moved)
    return replace(regrouped, shape=site.shape, order=last, is_real=value.is_real)


def _reshaped_constant(constant: DraftConstant, shape: tuple[int, ...]) -> DraftConstant:
    scale = constant.scale
    if scale is not None and not scale.is_per_tensor:
        count = len(scale.scale)
        axes = [axis for axis, size in enumerate(shape) if size == count]
        if not axes or constant.array.size != count:
            return DraftConstant(constant.real().reshape(shape))
        scale = replace(scale, axis=axes[0])
    return replace(constant, array=constant.array.reshape(shape), scale=scale)


def _regrouped(value: Value, shape: tuple[int, ...]) -> Value | None:
    """Return the value's form in another shape, None if elements would have to move.

    Axes may be joined and split as long as joined axes are neighbours in the tensor.
    """
    blocks = _blocks(value.shape, shape)
    places = [[value.order[axis] for axis in old] for old, _ in blocks]
    flat = sorted(place for block in places for place in block)
    rank_of = {place: number for number, place in enumerate(flat)}
    ranks = [[rank_of[place] for place in block] for block in places]
    if any(block != list(range(block[0], block[0] + len(block))) for block in ranks):
        return None
    ordered = [
        axis
        for _, (_, new) in sorted(zip(ranks, blocks, strict=True), key=lambda pair: pair[0])
        for axis in new
    ]
    order = list(range(len(shape)))
    for place, logical in zip(sorted(ordered), ordered, strict=True):
        order[logical] = place
    return replace(value, shape=shape, order=tuple(order))


def _blocks(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Return the smallest groups of axes with equal numbers of elements, without sizes of 1."""
    ours = [axis for axis, size in enumerate(old) if size != 1]
    theirs = [axis for axis, size in enumerate(new) if size != 1]
    blocks = []
    while ours and theirs:
        left, right = [ours.pop(0)], [theirs.pop(0)]
        while (ahead := prod(old[a] for a in left) - prod(new[a] for a in right)) != 0:
            (left if ahead < 0 else right).append((ours if ahead < 0 else theirs).pop(0))
        blocks.append((left, right))
    return blocks


@translates("permute_dims")
def permute(site: Site) -> Operand:
    """Move axes without an operator: a value's order records their places."""
    operand: Operand = site.operands[0]
    rank = len(operand.shape)
    axes = site.attributes.axes
    axes = tuple(reversed(range(rank))) if axes is None else tuple(a % rank for a in ints(axes))
    if isinstance(operand, DraftConstant):
        scale = operand.scale
        if scale is not None and not scale.is_per_tensor:
            scale = replace(scale, axis=axes.index(scale.axis))
        return replace(operand, array=operand.array.transpose(axes), scale=scale)
    return replace(
        operand,
        shape=tuple(operand.shape[axis] for axis in axes),
        order=tuple(operand.order[axis] for axis in axes),
    )


@translates("concat")
def concatenate(site: Site) -> Value:
    """Translate to CONCATENATION; inputs of another scale are rescaled first."""
    parts = list(site.operands[0])
    values = [part for part in parts if isinstance(part, Value)]
    if not values:
        raise UnsupportedError("all of its operands are constant")
    scale, dtype = site.scale, site.dtype
    if (
        scale is None
        and len(values) == len(parts)
        and all(
            value.is_real and (value.scale, value.dtype) == (values[0].scale, values[0].dtype)
            for value in values
        )
    ):
        scale, dtype = values[0].scale, values[0].dtype  # moving integers is exact
    rank = len(site.shape)
    order = next((v.order for v in values if not v.is_plain), tuple(range(rank)))
    as_whole = replace(site, scale=scale, dtype=dtype)
    inputs = []
    for part in parts:
        if isinstance(part, DraftConstant):
            value = as_whole.held(requantized(part, scale, dtype), site.shape, order)
        else:
            value = site.draft.ordered(as_whole.usable(part), order)
        if scale is not None:
            value = site.draft.rescaled(value, scale, dtype)
        inputs.append(value.tensor)
    axis = site.attributes.axis
    logical = 0 if axis is None else int(axis) % rank
    options = {"axis": order[logical], "fused_activation_function": "NONE"}
    return as_whole.emit("CONCATENATION", inputs, order, options)


def moved(site: Site) -> Value:
    """Return the operand of a move outside composites, as integers if it has them."""
    operand = site.operands[0]
    if isinstance(operand, DraftConstant):
        raise UnsupportedError("its operand is constant")
    if site.is_quantized:
        return site.usable(operand)
    assert isinstance(operand, Value)
    return operand


def emit_move(
    site: Site,
    code: str,
    source: Value,
    inputs: Sequence[int],
    options: dict[str, Any] | None = None,
) -> Value:
    """Add an operator that keeps the quantization and the order of axes of its operand."""
    shape = in_order(site.shape, source.order)
    output = site.draft.add_operator(
        code, (source.tensor, *inputs), shape, source.dtype, source.scale, options
    )
    output = replace(output, shape=site.shape, order=source.order, is_real=source.is_real)
    return site.finished(output)


@translates("strided_slice")
def strided_slice(site: Site) -> Value:
    """Translate to STRIDED_SLICE, after REVERSE_V2 of the axes with a negative step.

    TensorFlow Lite reverses only neighbouring axes at once.
    """
    source = moved(site)
    rank = len(source.shape)
    axes, begin, _, *rest = (ints_of(argument) for argument in site.operands[1:])
    step = rest[0] if rest else (1,) * len(axes)
    starts, steps, turned = [0] * rank, [1] * rank, []
    for named, begin_index, stride in zip(axes, begin, step, strict=True):
        axis = named % rank
        size = source.shape[axis]
        first = begin_index + size if begin_index < 0 else begin_index
        if stride < 0:
            turned.append(source.order[axis])
            first = size - 1 - min(first, size - 1)
        starts[axis] = min(max(first, 0), size)
        steps[axis] = abs(stride)
    for neighbours in _runs(sorted(turned)):
        places = site.draft.add_constant(np.array(neighbours, np.int32))
        back = replace(site, shape=source.shape)
        source = emit_move(back, "REVERSE_V2", source, [places])
    ends = [s + t * (n - 1) + 1 for s, t, n in zip(starts, steps, site.shape, strict=True)]
    numbers = [in_order(v, source.order) for v in (starts, ends, steps, site.shape)]
    part = site.draft.slice(source, *numbers)
    part = replace(part, shape=site.shape, order=source.order, is_real=source.is_real)
    return site.finished(part)


def ints_of(operand: Any) -> tuple[int, ...]:
    """Return the integers of constants, a tuple of them, or a shape."""
    if isinstance(operand, DraftConstant):
        return tuple(int(number) for number in np.ravel(operand.array))
    if isinstance(operand, tuple):
        return tuple(number for part in operand for number in ints_of(part))
    if isinstance(operand, Value):
        raise UnsupportedError("its numbers are not constant")
    return ints(operand.values) if hasattr(operand, "values") else (int(operand.value),)


@translates("split")
def split(site: Site) -> tuple[Value, ...]:
    """Translate to STRIDED_SLICE for each part: Vela reads parts in place."""
    source = moved(site)
    rank = len(source.shape)
    axis = int(site.attributes.axis) % rank
    chosen = site.attributes.indices_or_sections
    size = source.shape[axis]
    if hasattr(chosen, "__len__"):
        cuts = [0, *ints(chosen), size]
    else:
        count = int(chosen)
        cuts = [min(i * pieces(size, count), size) for i in range(count + 1)]
    parts = []
    for first, last in pairwise(cuts):
        shape = (*source.shape[:axis], last - first, *source.shape[axis + 1 :])
        begin = [first if i == axis else 0 for i in range(rank)]
        tables = [np.array(in_order(numbers, source.order), np.int32) for numbers in (begin, shape)]
        inputs = [site.draft.add_constant(table) for table in tables]
        parts.append(emit_move(replace(site, shape=shape), "SLICE", source, inputs))
    return tuple(parts)


@translates("nn.pad")
def pad(site: Site) -> Value:
    """Translate to PAD with zeros, to PADV2 with another value; both have one scale."""
    source = moved(site)
    if str(site.attributes.pad_mode) != "constant":
        raise UnsupportedError(f"it has the padding mode {site.attributes.pad_mode}")
    numbers = np.array(ints(site.attributes.pad_width), np.int32).reshape(-1, 2)
    table = np.zeros_like(numbers)
    for logical, axis in enumerate(source.order):
        table[axis] = numbers[logical]
    value = float(getattr(site.attributes, "pad_value", 0.0))
    inputs = [site.draft.add_constant(table)]
    if site.scale is not None:
        source = site.draft.rescaled(source, site.scale, site.dtype)
    if value == 0.0:
        return emit_move(site, "PAD", source, inputs)
    if site.scale is not None:
        held = quantize(np.array([value], np.float32), site.scale, site.dtype)
        inputs.append(site.draft.add_constant(held, site.scale))
    else:
        source = site.draft.real(source)
        inputs.append(site.draft.add_constant(np.array([value], source.dtype)))
    return emit_move(site, "PADV2", source, inputs)


@translates("tile", "broadcast_to")
def tile(site: Site) -> Value:
    """Translate a repetition along axes to TILE, a broadcast to BROADCAST_TO."""
    source = moved(site)
    if len(source.shape) != len(site.shape):
        source = site.draft.plain(source)
        full = (1,) * (len(site.shape) - len(source.shape)) + source.shape
        source = replace(site.draft.reshaped(source.tensor, full, source), is_real=source.is_real)
    counts = [out // size for out, size in zip(site.shape, source.shape, strict=True)]
    if set(counts) <= {1}:
        return site.finished(source)
    table = np.array(in_order(counts, source.order), np.int32)
    return emit_move(site, "TILE", source, [site.draft.add_constant(table)])


@translates("take")
def take(site: Site) -> Value:
    """Translate to a slice if the indices are constant and even, else to GATHER.

    NPUs support only slices, which recurrent networks take of their time steps.
    """
    source, indices = _table(site), site.operands[1]
    axis = int(site.attributes.axis or 0) % len(source.shape)
    if isinstance(indices, DraftConstant):
        size = source.shape[axis]
        array = np.where(indices.array < 0, indices.array + size, indices.array).astype(np.int32)
        if _is_even(array, size):
            return site.finished(_slice_of(site, source, axis, array.ravel()))
        index = site.draft.add_constant(array)
    else:
        index = site.draft.plain(indices).tensor
    options = {"axis": axis, "batch_dims": 0}
    gathered = site.draft.add_operator(
        "GATHER", (source.tensor, index), site.shape, source.dtype, source.scale, options
    )
    return site.finished(replace(gathered, is_real=source.is_real))


def _table(site: Site) -> Value:
    """Return the operand of a take, constant or not; integers stay integers."""
    table = site.operands[0]
    if not isinstance(table, DraftConstant):
        return site.draft.plain(moved(site))
    scale = table.scale
    if site.is_quantized or not table.is_real or scale is None or not scale.is_per_tensor:
        return site.held(table, table.shape)
    index = site.draft.add_constant(table.array, scale)
    return Value(index, table.shape, tuple(range(len(table.shape))), table.dtype, scale, True)


def _is_even(indices: np.ndarray[Any, Any], size: int) -> bool:
    """Return whether indices are valid, and one or an ascending row at equal distances."""
    if indices.ndim > 1 or indices.size == 0 or indices.min() < 0 or indices.max() >= size:
        return False
    steps = set(np.diff(indices.ravel()).tolist())
    return len(steps) <= 1 and min(steps, default=1) > 0


def _slice_of(site: Site, source: Value, axis: int, indices: np.ndarray[Any, Any]) -> Value:
    step = int(indices[1] - indices[0]) if indices.size > 1 else 1
    shape = (*source.shape[:axis], indices.size, *source.shape[axis + 1 :])
    starts, steps = [0] * len(shape), [1] * len(shape)
    starts[axis], steps[axis] = int(indices[0]), step
    ends = [s + t * (n - 1) + 1 for s, t, n in zip(starts, steps, shape, strict=True)]
    part = site.draft.slice(source, starts, ends, steps, shape)
    if shape != tuple(site.shape):
        part = site.draft.reshaped(part.tensor, site.shape, part)
    return replace(part, is_real=source.is_real)


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Return ascending numbers in runs without a gap."""
    runs: list[list[int]] = []
    for number in numbers:
        if not runs or runs[-1][-1] != number - 1:
            runs.append([])
        runs[-1].append(number)
    return runs
