"""PrimFuncs as C functions with known parameters, and as a network that calls each of them."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tvm import tirx

from ethosgen import aot
from ethosgen.values.allocation import ResidualIndex
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.call import Address, Argument, Call, Function
from ethosgen.values.dialect import CUSTOM
from ethosgen.values.errors import InputError
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.plan import IoStyle, Partition, Plan
from ethosgen.values.program import Program

Array = np.ndarray[Any, Any]

NAME = "function"
"""The name of the network, and the start of all names in its C."""
OWNER = "tvm"
"""Whose the calls are, for messages and figures."""
SOURCE = "tvm_functions.c"
"""The file with the C functions."""
_NUMBER = "int32"
_COMMENT = "What a PrimFunc computes."
_HEAD = f"""/* Functions that TVM made of PrimFuncs. */
#include "{NAME}_graph.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"

"""


@dataclass(frozen=True)
class FunctionParameter:
    """A parameter of a PrimFunc: a buffer of a shape, or a number, whose shape is None."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    is_written: bool = False

    @property
    def kind(self) -> str:
        """The parameter's type in C."""
        element = C_TYPES.get(self.dtype, self.dtype)
        if self.shape is None:
            return element
        return f"{element} *" if self.is_written else f"const {element} *"

    @property
    def bytes(self) -> int:
        """The size of a buffer."""
        return math.prod(self.shape or ()) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class DeviceFunction:
    """A PrimFunc as C: its parameters, and the text from their list on."""

    parameters: tuple[FunctionParameter, ...]
    text: str

    @property
    def inputs(self) -> tuple[FunctionParameter, ...]:
        """The buffers that it only reads."""
        return tuple(p for p in self.parameters if p.shape is not None and not p.is_written)

    @property
    def outputs(self) -> tuple[FunctionParameter, ...]:
        """The buffers that it writes."""
        return tuple(p for p in self.parameters if p.is_written)


def read_function(function: Any) -> DeviceFunction:
    """Return a PrimFunc as C; InputError says why it cannot run on a device."""
    if not isinstance(function, tirx.PrimFunc):
        raise InputError(f"a device runs a PrimFunc, not {type(function).__name__}")
    parameters = [_parameter(each) for each in function.params]
    try:
        text = aot.c_function(function, [replace(p, is_written=True).kind for p in parameters])
    except ValueError as error:
        raise InputError(f"the PrimFunc cannot run on a device: {error}") from None
    names = re.findall(r"(\w+)(?:,|$)", text.partition("\n")[0].strip("()"))
    body = text.partition("{")[2]
    told = tuple(
        replace(p, name=name, is_written=p.shape is not None and _is_written(name, body))
        for p, name in zip(parameters, names, strict=True)
    )
    return DeviceFunction(told, aot.c_function(function, [p.kind for p in told]))


def _parameter(variable: Any) -> FunctionParameter:
    kind = variable.ty
    if not hasattr(kind, "shape"):
        dtype = str(getattr(kind, "dtype", kind))
        if dtype != _NUMBER:
            raise InputError(
                f"parameter '{variable.name}' is {dtype}; a number must be int32, and everything "
                "else a buffer"
            )
        return FunctionParameter(variable.name, dtype, None)
    try:
        shape = tuple(int(size) for size in kind.shape)
    except (TypeError, ValueError):
        raise InputError(
            f"buffer '{variable.name}' has no fixed shape; specialize the PrimFunc"
        ) from None
    return FunctionParameter(variable.name, str(kind.dtype), shape)


def _is_written(name: str, body: str) -> bool:
    """Return whether C stores to a parameter; InputError if it reads before it writes."""
    store = re.compile(rf"^\s*{name}\[.*?\] = (.*)$")
    used = [line for line in body.splitlines() if re.search(rf"\b{name}\[", line)]
    if not any(map(store.match, used)):
        return False
    first = store.match(used[0])
    if first is None or re.search(rf"\b{name}\[", first[1]):
        raise InputError(
            f"the PrimFunc reads buffer '{name}' before it writes it; pass what it reads as a "
            "buffer of its own"
        )
    return True


def plan_of(functions: Sequence[DeviceFunction], numbers: Sequence[int]) -> Plan:
    """Return the plan of a network that calls functions of equal parameters in turn.

    They read the same inputs, and each has outputs of its own. `numbers` are the values of the
    parameters that are numbers.
    """
    first = functions[0]
    tensors = [Tensor(index, p.name, _sizes(p), p.dtype) for index, p in enumerate(first.inputs)]
    operators, partitions = [], []
    inputs = tuple(range(len(tensors)))
    for place, function in enumerate(functions):
        outputs = tuple(range(len(tensors), len(tensors) + len(first.outputs)))
        tensors += [
            Tensor(index, f"{p.name}_{place}", _sizes(p), p.dtype)
            for index, p in zip(outputs, first.outputs, strict=True)
        ]
        operators.append(Operator(place, CUSTOM, inputs, outputs, custom_code=OWNER))
        kinds = tuple(p.kind for p in function.parameters)
        called = Function(_symbol(place), kinds, _COMMENT)
        arguments = _arguments(function.parameters, inputs, outputs, numbers)
        partitions.append(
            Partition(
                f"{OWNER}_{place}",
                ResidualIndex(place),
                Call(called, arguments),
                inputs,
                outputs,
                backend=OWNER,
            )
        )
    all_outputs = tuple(range(len(inputs), len(tensors)))
    graph = Graph(NAME, tuple(tensors), tuple(operators), inputs, all_outputs)
    network = Network(NAME, (graph,))
    return Plan(network, IoStyle.ARENA, graph, partitions=tuple(partitions))


def _symbol(place: int) -> str:
    """Return the name of a function in C, by its place among those of the firmware."""
    return f"{NAME}_{OWNER}_{place}"


def _sizes(parameter: FunctionParameter) -> tuple[int, ...]:
    return parameter.shape or (1,)  # a buffer without dimensions has one element


def _arguments(
    parameters: Sequence[FunctionParameter],
    inputs: Sequence[int],
    outputs: Sequence[int],
    numbers: Sequence[int],
) -> tuple[Argument, ...]:
    reading, writing, values = iter(inputs), iter(outputs), iter(numbers)
    return tuple(
        next(values)
        if p.shape is None
        else Address(next(writing) if p.is_written else next(reading))
        for p in parameters
    )


def with_functions(program: Program, functions: Sequence[DeviceFunction]) -> Program:
    """Return a program with the C of the functions that it calls."""
    bodies = [f"int32_t {_symbol(place)}{each.text}" for place, each in enumerate(functions)]
    code = _HEAD + "\n".join(bodies)
    return replace(program, sources={**program.sources, SOURCE: code})
