"""ExecuTorch's bundled programs (.bpte): a program with test cases for its methods.

The schema is devtools/bundled_program/schema/bundled_program_schema.fbs. A tensor's bytes are those
of torch's storage, in the order of its dim_order.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.frontend.flatbuffer import Fields, refusing_damage
from ethosgen.frontend.pte.identifier import is_bundle
from ethosgen.frontend.pte.program import DTYPES, Method, ProgramDecoder, TensorValue
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.examples import Examples
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import Source

Array = np.ndarray[Any, Any]

_BUNDLE = {"suites": 1, "program": 2}
_SUITE = {"method": 0, "cases": 1}
_CASE = {"inputs": 0, "outputs": 1}
_VALUE = {"kind": 0, "value": 1}
_TENSOR = {"type": 0, "sizes": 1, "data": 2, "dim_order": 3}
_IS_TENSOR = 1
"""Slots of the schema's tables, and the union's kind that has a tensor."""

_REMEDY = "write it again with executorch.devtools.bundled_program"
_STEPS = 1.0
"""Torch computes in float what the NPU computes in integers, so a rounding may differ by one."""


def program_of(data: bytes, name: str) -> bytes:
    """Return the program of a file: a bundle's, or the file itself."""
    if not is_bundle(data):
        return data
    with refusing_damage(name, _REMEDY):
        program = Fields.root(data).data(_BUNDLE["program"])
    if not program:
        raise InputError(f"'{name}' is a bundle without a program; {_REMEDY}")
    return program


def examples_of(source: Source, network: Network) -> Examples | None:
    """Return the test cases of a bundle for the method that is the network, None without any."""
    if not is_bundle(source.data):
        return None
    with refusing_damage(source.name, _REMEDY):
        return _Cases(source, network).examples()


class _Cases:
    """The test cases of one bundle, for one network."""

    def __init__(self, source: Source, network: Network) -> None:
        self._name = source.name
        self._network = network
        self._root = Fields.root(source.data)
        program = ProgramDecoder(program_of(source.data, source.name), source.name).program()
        self._method = next(m for m in program.methods if m.name == network.graph.name)

    def examples(self) -> Examples | None:
        """Return them; InputError if they do not fit the network."""
        cases = [
            case
            for suite in self._root.tables(_BUNDLE["suites"])
            if suite.text(_SUITE["method"]) == self._method.name
            for case in suite.tables(_SUITE["cases"])
        ]
        if not cases:
            return None
        ends = [(self._network.inputs, "inputs"), (self._network.outputs, "outputs")]
        inputs, outputs = ([self._arrays(c, *end) for c in cases] for end in ends)
        return Examples(self._name, inputs, outputs, _STEPS)

    def _arrays(self, case: Fields, tensors: Sequence[Tensor], end: str) -> Arrays:
        """Return a case's inputs or outputs by the names of the network's tensors."""
        values, places = case.tables(_CASE[end]), _ends(self._method, end)
        if len(values) != len(tensors):
            raise InputError(
                f"'{self._name}' has a test case of {counted(len(values), end[:-1])}, but the "
                f"method '{self._method.name}' has {len(tensors)}; {_REMEDY}"
            )
        return {
            tensor.name: self._array(value, tensor, place)
            for value, tensor, place in zip(values, tensors, places, strict=True)
        }

    def _array(self, value: Fields, tensor: Tensor, place: TensorValue) -> Array:
        """Return a value as an array of the tensor's shape in memory."""
        fields = value.table(_VALUE["value"])
        if value.number(_VALUE["kind"], "uint8", 0) != _IS_TENSOR or fields is None:
            raise UnsupportedError(
                f"'{self._name}' has a test case with a number instead of the tensor "
                f"'{tensor.name}'; bundle tensors alone"
            )
        sizes = fields.numbers(_TENSOR["sizes"], "int32")
        order = fields.numbers(_TENSOR["dim_order"], "uint8") or tuple(range(len(sizes)))
        kind = DTYPES.get(fields.number(_TENSOR["type"], "int8", 0))
        data = fields.data(_TENSOR["data"]) or b""
        if kind != tensor.dtype or sizes != place.sizes or sorted(order) != list(range(len(sizes))):
            raise InputError(
                f"'{self._name}' has a test case with {kind} of shape {list(sizes)} for "
                f"'{tensor.name}', which is {tensor.dtype} of shape {list(place.sizes)}; {_REMEDY}"
            )
        if len(data) < place.bytes:
            raise InputError(
                f"'{self._name}' has a test case with {counted(len(data), 'byte')} for "
                f"'{tensor.name}', which takes {place.bytes}; {_REMEDY}"
            )
        stored = np.frombuffer(data[: place.bytes], tensor.dtype).reshape([sizes[i] for i in order])
        return stored.transpose(np.argsort(order)).transpose(place.dim_order).copy()


def _ends(method: Method, end: str) -> list[TensorValue]:
    """Return a method's inputs or outputs, which the reader has found to be tensors."""
    values = (method.values[i] for i in (method.inputs if end == "inputs" else method.returned))
    return [value for value in values if isinstance(value, TensorValue)]
