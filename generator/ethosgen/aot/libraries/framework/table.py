"""Lookups in 256-byte tables, sixteen at a time: alone, or after another micro-kernel."""

from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.aot.tir.element import read_element, split_views, with_views
from ethosgen.aot.tir.graft import only_output, unused_name
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.primfunc import pointer
from ethosgen.aot.tvm import ir, tirx
from ethosgen.values.network import Tensor

TABLE = frozenset({"ethosgen_table.c"})
LEAST = 16
"""Number of elements below which TVM's loop is as fast."""


def packed_table(kernel: Kernel, source: Tensor, target: Tensor) -> Kernel:
    """Return the packed form of a lookup kernel (`table.byte_table`)."""
    if target.elements < LEAST:
        return kernel
    x, table = pointer("input", source.dtype), pointer("table", target.dtype)
    y = pointer("output", target.dtype)
    views = (
        tirx.decl_buffer((target.elements,), target.dtype, "output_view", data=y),
        tirx.decl_buffer((target.elements,), source.dtype, "input_view", data=x),
        tirx.decl_buffer((256,), target.dtype, "table_view", data=table),
    )
    declared = [tirx.DeclBuffer(v, data=d) for v, d in zip(views, (y, x, table), strict=True)]
    body = tirx.stmt_seq(*declared, _look_up(*views, target.elements))
    function = tirx.PrimFunc([x, table, y], body)
    return Kernel(function, kernel.inputs, (_by_pattern(kernel, source),), sources=TABLE)


def with_table(producer: Kernel, table: Kernel, source: Tensor, target: Tensor) -> Kernel | None:
    """Return a packed kernel that finally looks up its whole output in place.

    Both types have 8 bits; None if the producer has more than one output.
    """
    output = only_output(producer)
    name = unused_name("table", {p.name for p in producer.function.params})
    values = pointer(name, target.dtype)
    if output is None or source.dtype != target.dtype:
        return None
    first = len(producer.inputs) + len(producer.constants)
    parameters = list(producer.function.params)
    views, statements = split_views(producer.function.body)
    view = tirx.decl_buffer((target.elements,), target.dtype, "made", data=output)
    table_view = tirx.decl_buffer((256,), target.dtype, "table_view", data=values)
    body = [
        tirx.DeclBuffer(view, data=output),
        tirx.DeclBuffer(table_view, data=values),
        *with_views(views, statements),
        _look_up(view, view, table_view, target.elements),
    ]
    function = tirx.PrimFunc(
        [*parameters[:first], values, *parameters[first:]],
        tirx.stmt_seq(*body),
        producer.function.ret_type,
    )
    return replace(
        producer,
        function=function,
        constants=(*producer.constants, _by_pattern(table, source)),
        sources=producer.sources | TABLE,
    )


def _look_up(output: Any, source: Any, table: Any, count: int) -> Any:
    """Return the call of the micro-kernel."""
    places = [tirx.address_of(view[0]) for view in (output, source, table)]
    return tirx.Evaluate(tirx.call_extern("void", "ethosgen_table_8", *places, count))


def is_table(kernel: Kernel) -> bool:
    """Return whether a kernel is a plain lookup (`table.byte_table`)."""
    if len(kernel.inputs) != 1 or [c.nbytes for c in kernel.constants] != [256]:
        return False
    element = read_element(kernel)
    if element is None or len(element.statements) > 1:
        return False
    value = element.store.value
    return isinstance(value, ir.TensorLoad) and value.source.name.startswith("table")


def _by_pattern(kernel: Kernel, source: Tensor) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """Return a table indexed by the argument's bit pattern as an unsigned number."""
    values = kernel.arrays[0]
    return np.roll(values, 128) if source.dtype == "int8" else values
