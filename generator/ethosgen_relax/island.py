"""Composites and partitions as separate networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ethosgen.frontend.relax.normal import bindings_of
from ethosgen.frontend.relax.patterns import PREFIX
from ethosgen.frontend.relax.reading import Reading
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network

Array = np.ndarray[Any, Any]

COMPOSITE = "Composite"
CODEGEN = "Codegen"
RESULT = "ethosu_result"
"""The attribute of a composite with the user's name of its result, before it is quantized."""
PLACE = "ethosu_place"
"""The attribute of a composite that identifies it in its module."""


@dataclass(frozen=True)
class Island:
    """A composite or partition as a network; `places` has the composite of each operator."""

    network: Network
    places: tuple[str, ...]


def read_island(function: Any, name: str) -> Island:
    """Import a composite or a partition; UnsupportedError if it has no form in integers.

    Inputs are named input_0, input_1 and so on in the order of the parameters, outputs likewise.
    Unsigned ones are signed there: `converted` converts between them.
    """
    reading = Reading(module_of(function), is_signed=True)
    inputs = [f"input_{number}" for number in range(len(function.params))]
    outputs = [f"output_{number}" for number in range(len(types_of(function.ret_ty)))]
    graph = reading.graph(name, inputs, outputs)
    if reading.in_float:
        raise UnsupportedError("; ".join(dict.fromkeys(reading.in_float.values())))
    return Island(Network(name, (graph,)), tuple(reading.owners(graph)))


def converted(array: Array, dtype: str) -> Array:
    """Return integers in another type of the same size, unsigned ones less half of their range."""
    if str(array.dtype) == dtype or array.dtype.kind not in "iu":
        return array
    unsigned = np.dtype(f"u{array.itemsize}")
    half = 1 << 8 * array.itemsize - 1
    moved: Array = (array.view(unsigned) ^ unsigned.type(half)).view(dtype)
    return moved


def types_of(kind: Any) -> Sequence[Any]:
    """Return the types of a function's results."""
    return list(kind.fields) if isinstance(kind, relax.TupleType) else [kind]


def module_of(function: Any) -> tvm.IRModule:
    """Return a module whose main calls a composite, or the composites of a partition."""
    builder = relax.BlockBuilder()
    parameters = [relax.Var(parameter.name, parameter.ty) for parameter in function.params]
    with builder.function("main", parameters):
        with builder.dataflow():
            result = builder.emit_output(_emitted(builder, function, parameters))
        builder.emit_func_output(result)
    return builder.get()


def _emitted(builder: relax.BlockBuilder, function: Any, arguments: Sequence[Any]) -> Any:
    """Emit the calls of composites; return the result."""
    if COMPOSITE in function.attrs:
        return relax.Call(_added(builder, function), arguments)
    own: dict[Any, Any] = dict(zip(function.params, arguments, strict=True))

    def replaced(expression: Any) -> Any:
        if isinstance(expression, relax.Tuple):
            return relax.Tuple([replaced(field) for field in expression.fields])
        return own.get(expression, expression) if isinstance(expression, relax.Var) else expression

    for binding in bindings_of(function):
        value = binding.value
        if isinstance(value, relax.Function):
            own[binding.var] = _added(builder, value)
        elif isinstance(value, relax.Call):
            call = relax.Call(replaced(value.op), [replaced(argument) for argument in value.args])
            own[binding.var] = builder.emit(call, binding.var.name)
        else:
            own[binding.var] = replaced(value)
    return replaced(function.body.body)


def _added(builder: relax.BlockBuilder, composite: Any) -> Any:
    """Add a composite under the name of its place, and the patterns' name."""
    main = str(composite.attrs[COMPOSITE]).partition(".")[2]
    named = composite.with_attr(COMPOSITE, PREFIX + main)
    return builder.add_func(named, str(composite.attrs.get(PLACE, "composite")))
