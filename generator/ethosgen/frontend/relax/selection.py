"""Operators that select elements: by a condition, by size, by index."""

from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import DraftConstant, Value, in_order
from ethosgen.frontend.relax.elementwise import aligned
from ethosgen.frontend.relax.moves import emit_move, moved
from ethosgen.frontend.relax.site import Site, translates
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Quantization


@translates("where")
def where(site: Site) -> Value:
    """Translate to SELECT_V2; both values get the result's scale first."""
    first, second, order = aligned(site, 1, site.scale)
    values = [first, second]
    if site.scale is not None:
        values = [site.draft.rescaled(value, site.scale, site.dtype) for value in values]
    condition = site.operands[0]
    rank = len(site.shape)
    if isinstance(condition, DraftConstant):
        array = condition.array.reshape((1,) * (rank - condition.array.ndim) + condition.shape)
        chosen = site.draft.add_constant(array.transpose(np.argsort(order)))
    else:
        full = (1,) * (rank - len(condition.shape)) + condition.shape
        if full != condition.shape:
            plain = site.draft.plain(condition)
            condition = site.draft.reshaped(plain.tensor, full, plain)
        chosen = site.draft.ordered(condition, order).tensor
    inputs = (chosen, *(value.tensor for value in values))
    return site.emit("SELECT_V2", inputs, order, None, site.scale)


@translates("argmax", "argmin")
def arg_maximum(site: Site) -> Value:
    """Translate to ARG_MAX or ARG_MIN of int32, and a CAST to the result's type."""
    source = moved(site)
    if site.attributes.axis is None:
        raise UnsupportedError("it searches all axes at once")
    rank = len(source.shape)
    axis = int(site.attributes.axis) % rank
    if source.dtype == "int16":
        source = site.draft.real(source)  # neither oracle has an ARG_MAX of int16
    plain = site.draft.plain(source)
    kept = tuple(size for number, size in enumerate(source.shape) if number != axis)
    code = "ARG_MAX" if "max" in site.call.op.name else "ARG_MIN"
    inputs = (plain.tensor, site.draft.add_constant(np.array([axis], np.int32)))
    indices = site.draft.add_operator(code, inputs, kept, "int32", None, {"output_type": "int32"})
    indices = site.draft.reshaped(indices.tensor, site.shape, indices)
    return cast(site, indices)


def cast(site: Site, operand: Value) -> Value:
    """Return int32 in the result's type."""
    if site.dtype == operand.dtype:
        return operand
    options = {"in_data_type": operand.dtype, "out_data_type": site.dtype}
    return site.draft.add_operator(
        "CAST", (operand.tensor,), operand.shape, site.dtype, None, options
    )


@translates("topk")
def top_k(site: Site) -> tuple[Value, ...]:
    """Translate to TOPK_V2 over the last axis."""
    attributes = site.attributes
    source = site.draft.plain(moved(site))
    axis, count = int(attributes.axis) % len(source.shape), int(attributes.k)
    if axis != len(source.shape) - 1 or not bool(attributes.largest):
        raise UnsupportedError("it does not search the largest along the last axis")
    if str(attributes.ret_type) != "both":
        raise UnsupportedError("it returns values or places alone")
    shape = (*source.shape[:-1], count)
    inputs = (source.tensor, site.draft.add_constant(np.array(count, np.int32)))
    pair = site.draft.add_pair("TOPK_V2", inputs, shape, (source.dtype, "int32"), source.scale)
    values, places = pair
    as_asked = replace(site, dtype=str(attributes.dtype))
    return replace(values, is_real=source.is_real), cast(as_asked, places)


@translates("gather_elements")
def gather_elements(site: Site) -> Value:
    """Translate a selection by constants to GATHER_ND."""
    source = site.draft.plain(moved(site))
    indices = site.operands[1]
    if not isinstance(indices, DraftConstant):
        raise UnsupportedError("its indices are not constant")
    axis = int(site.attributes.axis) % len(source.shape)
    places = np.where(indices.array < 0, indices.array + source.shape[axis], indices.array)
    table: list[Any] = list(np.indices(indices.shape))
    table[axis] = places
    index = site.draft.add_constant(np.stack(table, -1).astype(np.int32))
    return emit_move(site, "GATHER_ND", source, [index])


@translates("cumsum")
def cumulative_sum(site: Site) -> Value:
    """Translate to CUMSUM."""
    source = site.value(0)
    axis = source.order[int(site.attributes.axis) % len(source.shape)]
    place = site.draft.add_constant(np.array(axis, np.int32))
    options = {"exclusive": bool(site.attributes.exclusive), "reverse": False}
    return site.emit("CUMSUM", (source.tensor, place), source.order, options, _same(site, source))


def _same(site: Site, source: Value) -> Quantization | None:
    return source.scale if site.is_quantized else None


@translates("stack")
def stack(site: Site) -> Value:
    """Translate to PACK."""
    parts = [
        site.draft.real(operand) if isinstance(operand, Value) else operand
        for operand in site.operands[0]
    ]
    axis = int(site.attributes.axis or 0) % len(site.shape)
    tensors = [
        site.draft.plain(part).tensor
        if isinstance(part, Value)
        else site.draft.add_constant(part.real())
        for part in parts
    ]
    options = {"values_count": len(tensors), "axis": axis}
    order = tuple(range(len(site.shape)))
    shape = in_order(site.shape, order)
    return site.draft.add_operator("PACK", tensors, shape, site.dtype, None, options)
