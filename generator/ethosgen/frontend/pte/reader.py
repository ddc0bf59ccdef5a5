"""Turns an ExecuTorch program into a network whose partitions are compiled.

Each call of a delegate becomes the operator `ethos-u` that Vela writes into .tflite files. As
ExecuTorch's runtime does (backends/arm/runtime/EthosUBackend.cpp), inputs are copied into the
delegate's scratch at their offsets, and outputs out of it. All delegates share one scratch, of the
largest size: nothing stays in it between two calls. The memory plan removes the copies that are not
needed.

A tensor has the shape that it has in memory: sizes in the order of dim_order. So a channels-last
input of sizes [1, 3, 8, 8] is an input of shape [1, 8, 8, 3].
"""

import math
import struct
from collections.abc import Sequence

import numpy as np

from ethosgen.frontend.flatbuffer import MAX_TENSOR_BYTES, refusing_damage
from ethosgen.frontend.integrity import check
from ethosgen.frontend.pte.builder import GraphBuilder
from ethosgen.frontend.pte.bundle import program_of
from ethosgen.frontend.pte.delegate import BACKENDS, DelegatePort, VelaStream, read_stream
from ethosgen.frontend.pte.embedded import BACKEND as EMBEDDED
from ethosgen.frontend.pte.embedded import choice_of, insert, read_embedded
from ethosgen.frontend.pte.identifier import FORMAT, recognizes
from ethosgen.frontend.pte.kernels import KERNELS, KernelCall, is_scale
from ethosgen.frontend.pte.program import (
    DTYPES,
    JUMP,
    MOVE,
    Method,
    ProgramDecoder,
    PteInstruction,
    PteProgram,
    TensorValue,
    Value,
)
from ethosgen.values.choice import CHOICE
from ethosgen.values.dialect import CUSTOM
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.levels import LEVELS, levels_metadata
from ethosgen.values.network import PLACEMENT, Network
from ethosgen.values.source import Source

ETHOS_U = "ethos-u"
"""The custom operator of a command stream, as Vela writes it to .tflite files."""
_FORWARD = "forward"
_SCRATCH_REGION = 1
_TO_NHWC, _TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)

_EXPORT = (
    "export it with EthosUPartitioner (executorch.backends.arm.ethosu) for the NPU of your board"
)


def parse_network(data: bytes, name: str) -> Network:
    """Parse the bytes of a .pte or .bpte file; `name` is for messages.

    Raises InputError if the bytes are not an intact .pte file, UnsupportedError for a program
    without Ethos-U delegates, or with operators, types or shapes that ethosgen lacks.
    """
    if not recognizes(data):
        raise InputError(f"'{name}' is not a .pte file (the identifier ET12 is missing)")
    with refusing_damage(name, "export or copy it again"):
        program = ProgramDecoder(program_of(data, name), name).program()
    network = _Translation(program, data, name).network()
    check(network)
    return network


class _Translation:
    """The translation of one program."""

    def __init__(self, program: PteProgram, data: bytes, name: str) -> None:
        self._name = name
        self._data = data
        self._program = program
        self._method = _entry(program, name)
        _require_delegates(self._method, name)
        delegates = self._method.delegates
        self._choice = choice_of(delegates, name)
        self._embedded = {
            number: read_embedded(delegate, name)
            for number, delegate in enumerate(delegates)
            if delegate.backend == EMBEDDED
        }
        self._streams = {
            number: read_stream(delegate, program.named_data, name)
            for number, delegate in enumerate(delegates)
            if number not in self._embedded
        }
        self._graph = GraphBuilder()
        self._places: dict[int, int] = {}
        """The offset in scratch of each tensor that has one."""
        self._known: dict[int, int] = {}
        """The graph's tensor of each value that exists so far."""
        self._held: dict[tuple[int, int], int] = {}
        """The value that was written last to each place of ExecuTorch's memory."""
        self._memories: tuple[int, int] = (0, 0)
        """Scratch and fast scratch."""
        self._levels: dict[int, str] = {}
        """The levels of TOSA in each call of a delegate that states them, by operator."""

    def network(self) -> Network:
        """Return the network."""
        method, graph = self._method, self._graph
        inputs = self._inputs()
        if self._streams:
            size = max(stream.scratch_bytes for stream in self._streams.values())
            self._memories = (
                graph.tensor("scratch", (size,), "uint8"),
                graph.tensor("scratch_fast", (0,), "uint8"),
            )
        for number, step in enumerate(method.steps):
            self._translate(number, step)
        outputs = [self._read(index, "the program returns") for index in method.returned]
        self._name_outputs(outputs)
        main = graph.graph(method.name, inputs, outputs)
        source = Source(FORMAT, self._name, self._data)
        return Network(self._name, (main,), self._metadata(), source)

    def _metadata(self) -> dict[str, bytes]:
        """Return the places of compiled delegates' tensors, or what the others are to run on."""
        if self._choice is not None:
            return {CHOICE: self._choice.as_text().encode()}
        metadata = {}
        if self._levels:
            metadata[LEVELS] = levels_metadata(self._levels)
        places = [self._places.get(i, -1) for i in range(len(self._graph.tensors))]
        return metadata | {
            PLACEMENT: struct.pack(f"<{3 + len(places)}i", 1, 1, len(places), *places)
        }

    def _inputs(self) -> list[int]:
        """Add the method's inputs to the graph."""
        inputs = []
        for number, index in enumerate(self._method.inputs):
            value = self._tensor_of(index, f"input {number}")
            inputs.append(self._graph.tensor(f"input_{number}", value.shape, value.dtype))
            self._note(index, inputs[-1])
            self._quantize(f"input{number}", inputs[-1])
        return inputs

    def _name_outputs(self, outputs: list[int]) -> None:
        """Give the outputs their names; an output that also has another name gets a copy."""
        graph, seen = self._graph, {self._known[i] for i in self._method.inputs}
        for number, index in enumerate(outputs):
            if index in seen:
                old = graph.tensors[index]
                outputs[number] = graph.tensor("", old.shape, old.dtype)
                graph.reshape(index, outputs[number])
            graph.rename(outputs[number], f"output_{number}")
            self._quantize(f"output{number}", outputs[number])
            seen.add(index)

    def _quantize(self, title: str, tensor: int) -> None:
        """Record the quantization of an input or output, if methods of the program return it.

        QuantizeInputs and QuantizeOutputs (exir/passes/quantize_io_pass.py) add such methods.
        """
        scale, zero_point = (self._returned(f"{title}_{what}") for what in ("scale", "zp"))
        dtype = np.dtype(self._graph.tensors[tensor].dtype)
        if dtype.kind not in "iu" or not isinstance(scale, float) or type(zero_point) is not int:
            return
        if is_scale(scale) and np.iinfo(dtype).min <= zero_point <= np.iinfo(dtype).max:
            self._graph.quantize(tensor, scale, zero_point)

    def _returned(self, name: str) -> Value:
        """Return the constant that another method of the program returns, None if there is none."""
        for method in self._program.methods:
            if method.name == name and len(method.outputs) == 1 and not method.steps:
                return method.values[method.outputs[0]]
        return None

    def _tensor_of(self, index: int, what: str) -> TensorValue:
        """Return a value that must be a tensor of static shape and known type."""
        value = self._method.values[index]
        if not isinstance(value, TensorValue):
            raise UnsupportedError(
                f"{what} of '{self._name}' is not a tensor; export a method that takes and returns "
                "tensors"
            )
        if value.dtype not in DTYPES.values():
            raise UnsupportedError(
                f"{what} of '{self._name}' has ExecuTorch's type {value.dtype}, which is not "
                "supported; export the network with int8 or int16 quantization"
            )
        if not value.is_static:
            raise UnsupportedError(
                f"{what} of '{self._name}' has a dynamic shape (at most {list(value.sizes)}); "
                "export it with fixed shapes"
            )
        if value.bytes > MAX_TENSOR_BYTES:
            raise InputError(
                f"{what} of '{self._name}' has shape {list(value.sizes)}, but the limit is "
                f"{MAX_TENSOR_BYTES >> 20} MiB; is the file damaged?"
            )
        return value

    def _read(self, index: int, where: str) -> int:
        """Return the graph's tensor of a value that is read; a constant is added on first use."""
        known = self._known.get(index)
        if known is not None:
            return known
        value = self._tensor_of(index, f"value {index}")
        if value.is_external:
            raise UnsupportedError(
                f"'{self._name}' keeps constants in another file (.ptd); export it without "
                "external_constants"
            )
        if value.is_state:
            raise UnsupportedError(
                f"'{self._name}' keeps state between runs (value {index}), which is not supported; "
                "export the state as an input and an output"
            )
        base = self._base(value)
        if base is not None:  # a view without an instruction
            self._known[index] = self._graph.tensor(f"value_{index}", value.shape, value.dtype)
            self._graph.reshape(self._known[base], self._known[index])
            return self._known[index]
        if value.data is None:
            raise InputError(
                f"'{self._name}' is damaged: {where} value {index}, which nothing has written"
            )
        if len(value.data) < value.bytes:
            raise InputError(f"'{self._name}' is damaged: constant {index} lacks bytes")
        data = value.data[: value.bytes]
        self._known[index] = self._graph.tensor(f"value_{index}", value.shape, value.dtype, data)
        return self._known[index]

    def _write(self, index: int, where: str) -> int:
        """Return a new tensor of the graph for a value that is written."""
        value = self._tensor_of(index, f"value {index}")
        if index in self._known or value.data is not None or value.is_state:
            raise UnsupportedError(
                f"'{self._name}' keeps state between runs or overwrites a value: {where} value "
                f"{index} in place, which is not supported; export the network without mutable "
                "buffers"
            )
        self._note(index, self._graph.tensor(f"value_{index}", value.shape, value.dtype))
        return self._known[index]

    def _note(self, index: int, tensor: int) -> None:
        """Record the tensor of a written value, and that it overwrites earlier values there."""
        self._known[index] = tensor
        value = self._tensor_of(index, f"value {index}")
        if value.place is None:
            return
        memory, start = value.place
        for place, other in list(self._held.items()):
            end = place[1] + self._tensor_of(other, f"value {other}").bytes
            if place[0] == memory and start < end and place[1] < start + value.bytes:
                del self._held[place]
        self._held[value.place] = index

    def _base(self, value: TensorValue) -> int | None:
        """Return the value that a tensor is a view of; in ExecuTorch views share a place."""
        index = self._held.get(value.place) if value.place else None
        if index is None:
            return None
        base = self._tensor_of(index, f"value {index}")
        same = (base.dtype, base.bytes) == (value.dtype, value.bytes)
        return index if same else None

    def _translate(self, number: int, step: PteInstruction) -> None:
        where = f"instruction {number} ({step.name}) reads"
        if step.name == JUMP:
            raise UnsupportedError(
                f"'{self._name}' has control flow (instruction {number}), which is not supported; "
                "export a network without torch.cond and loops"
            )
        if step.name == MOVE:
            source, target = step.arguments
            self._known[target] = self._read(source, where)
        elif step.delegate is not None:
            self._call(step.delegate, step.arguments, where)
        else:
            self._compute(number, step, where)

    def _compute(self, number: int, step: PteInstruction, where: str) -> None:
        """Add an operator of the CPU."""
        kernel = KERNELS.get(step.name)
        if kernel is None or len(step.arguments) < 2:
            raise UnsupportedError(
                f"'{self._name}' runs {step.name} on the CPU, which ethosgen does not support (it "
                f"supports {', '.join(sorted({_short(name) for name in KERNELS}))}); quantize it "
                "too, so that the partitioner gives it to the NPU, or move it out of the network"
            )
        operand, output = step.arguments[0], step.arguments[-1]
        before, after = (self._tensor_of(i, f"value {i}") for i in (operand, output))
        source = self._read(operand, where)
        target = self._write(output, f"instruction {number} ({step.name}) writes")
        call = KernelCall(
            self._graph, self._method.values, step.arguments, source, target, before, after
        )
        try:
            kernel(call)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"instruction {number} of '{self._name}' ({step.name}) is not supported: {error}"
            ) from None

    def _call(self, delegate: int, arguments: Sequence[int], where: str) -> None:
        """Add a delegate's operator, and the copies into its scratch and out of it."""
        if delegate in self._embedded:
            self._insert(delegate, arguments, where)
            return
        stream, graph = self._streams[delegate], self._graph
        count = len(stream.inputs)
        if len(arguments) != count + len(stream.outputs):
            raise UnsupportedError(
                f"delegate {delegate} of '{self._name}' has {counted(count, 'input')} and "
                f"{counted(len(stream.outputs), 'output')}, but is called with "
                f"{counted(len(arguments), 'tensor')}: Vela left some out; return no tensor that "
                "the network also uses itself"
            )
        inputs = []
        for index, port in zip(arguments, stream.inputs, strict=False):
            value = self._read(index, where)
            inputs.append(self._port(delegate, port, index, stream, "input"))
            self._adapt(value, inputs[-1], _TO_NHWC if self._is_permuted(port, index) else None)
        results = arguments[count:]
        outputs = [
            self._port(delegate, port, index, stream, "output")
            for index, port in zip(results, stream.outputs, strict=True)
        ]
        commands = graph.tensor(
            f"commands_{delegate}", (len(stream.commands),), "uint8", stream.commands
        )
        weights = graph.tensor(
            f"weights_{delegate}", (len(stream.weights),), "uint8", stream.weights
        )
        memories = (commands, weights, *self._memories)
        stated = self._method.delegates[delegate].specs.get(LEVELS)
        if stated is not None:
            self._levels[len(graph.operators)] = stated.decode("utf-8", "replace")
        graph.operator(CUSTOM, [*memories, *inputs], outputs, custom_code=ETHOS_U)
        for index, port, output in zip(results, stream.outputs, outputs, strict=True):
            target = self._write(index, f"delegate {delegate} writes")
            self._adapt(output, target, _TO_NCHW if self._is_permuted(port, index) else None)

    def _insert(self, delegate: int, arguments: Sequence[int], where: str) -> None:
        """Add the operators of a delegate that is to be compiled."""
        part, graph = self._embedded[delegate], self._graph
        count = len(part.inputs)
        title = f"delegate {delegate} of '{self._name}'"
        inputs = []
        for index in arguments[:count]:
            value, tensor = self._tensor_of(index, f"value {index}"), self._read(index, where)
            if not value.is_contiguous:
                plain = graph.tensor(f"value_{index}_plain", value.sizes, value.dtype)
                moves = [value.dim_order.index(i) for i in range(len(value.sizes))]
                graph.transpose(tensor, moves, plain)
                tensor = plain
            inputs.append(tensor)
        outputs = insert(graph, part, inputs, title)
        results = arguments[count:]
        if len(results) != len(outputs):
            raise InputError(
                f"{title} has {counted(len(outputs), 'output')}, but is called with {len(results)}"
            )
        for index, output in zip(results, outputs, strict=True):
            value = self._tensor_of(index, f"value {index}")
            target = self._write(index, f"delegate {delegate} writes")
            written = graph.tensors[output]
            if (written.shape, written.dtype) != (value.sizes, value.dtype):
                raise InputError(
                    f"{title} writes {written.dtype} {list(written.shape)}: it is damaged"
                )
            graph.transpose(output, value.dim_order, target)
            if written.quantization is not None and written.quantization.is_per_tensor:
                graph.quantize(
                    target, written.quantization.scale[0], written.quantization.zero_point[0]
                )

    def _adapt(self, source: int, target: int, axes: tuple[int, ...] | None) -> None:
        if axes is None:
            self._graph.reshape(source, target)
        else:
            self._graph.transpose(source, axes, target)

    def _is_permuted(self, port: DelegatePort, index: int) -> bool:
        """Return whether the runtime changes the order of dimensions, as before ExecuTorch 1.0."""
        value = self._tensor_of(index, f"value {index}")
        if not port.may_permute or len(value.sizes) != len(port.shape) or port.element_bytes != 1:
            return False
        return tuple(value.sizes[i] for i in _TO_NHWC) == port.shape

    def _port(
        self, delegate: int, port: DelegatePort, index: int, stream: VelaStream, what: str
    ) -> int:
        """Add the tensor in scratch of an input or output."""
        value = self._tensor_of(index, f"value {index}")
        dtype = np.dtype(value.dtype)
        if port.region != _SCRATCH_REGION:
            raise UnsupportedError(
                f"delegate {delegate} of '{self._name}' has an {what} in region {port.region} "
                "instead of its scratch; export it without Vela's --separate-io-regions"
            )
        if port.elements != math.prod(value.sizes) or port.element_bytes != dtype.itemsize:
            raise UnsupportedError(
                f"delegate {delegate} of '{self._name}' has an {what} of {port.elements} x "
                f"{counted(port.element_bytes, 'byte')} for a tensor {value.dtype} "
                f"{list(value.sizes)}, which is not supported; export it with int8 or int16"
            )
        size = port.elements * port.element_bytes
        if not 0 <= port.offset <= stream.scratch_bytes - size:
            raise InputError(
                f"'{self._name}' is damaged: delegate {delegate} has an {what} outside its scratch"
            )
        shape = value.shape
        if self._is_permuted(port, index):
            shape = port.shape
        tensor = self._graph.tensor(f"delegate_{delegate}_{what}", shape, value.dtype)
        self._places[tensor] = port.offset
        return tensor


def _entry(program: PteProgram, name: str) -> Method:
    """Return the method to run: forward, or the only one with instructions."""
    working = [method for method in program.methods if method.steps]
    forward = [method for method in working if method.name == _FORWARD]
    if len(forward) == 1 or len(working) == 1:
        return (forward or working)[0]
    if not working:
        raise InputError(f"'{name}' has no method with instructions: there is nothing to run")
    raise UnsupportedError(
        f"'{name}' has several methods ({', '.join(m.name for m in working)}) and none is called "
        f"'{_FORWARD}', which ethosgen runs; export the one to run under that name"
    )


def _require_delegates(method: Method, name: str) -> None:
    """Refuse a program without work for Ethos-U, or with work for other delegates."""
    backends = {d.backend for d in method.delegates}
    if EMBEDDED in backends and len(backends) > 1:
        raise UnsupportedError(
            f"'{name}' has delegates for own accelerators and compiled ones; lower it with one "
            "EthosgenPartitioner alone"
        )
    known = (*BACKENDS, EMBEDDED)
    others = dict.fromkeys(d.backend for d in method.delegates if d.backend not in known)
    if others:
        raise UnsupportedError(
            f"'{name}' has parts for {' and '.join(others)}, which no Ethos-U runs; {_EXPORT}"
        )
    if not method.delegates or not any(step.delegate is not None for step in method.steps):
        first = next((step.name for step in method.steps if step.name not in (MOVE, JUMP)), "none")
        raise UnsupportedError(
            f"'{name}' has no Ethos-U delegate: ExecuTorch's own kernels run all "
            f"{counted(len(method.steps), 'instruction')} (first {first}); {_EXPORT}"
        )


def _short(name: str) -> str:
    """Return an operator's name without namespace and overload."""
    return name.partition("::")[2].partition(".")[0]
