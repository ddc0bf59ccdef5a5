"""The network as read: tensors, operators, subgraphs."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ethosgen.values.grammar import counted
from ethosgen.values.source import Source
from ethosgen.values.tosa import PREFIX

ABSENT = -1
"""The index that TFLite writes for an absent optional input."""

HANDLE = "resource"
"""The dtype of VAR_HANDLE's output: it identifies a variable and has no bytes."""

PLACEMENT = "OfflineMemoryAllocation"
"""The metadata with each tensor's offset in memory; Vela writes it, TFLite Micro obeys it."""

CONTROL = frozenset({"IF", "WHILE", "CALL_ONCE"})
"""Operators that run subgraphs."""

STATEFUL = CONTROL | {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}
"""Operators whose relative order must stay as in the file."""

_WEIGHTS = {"CONV_2D": 0, "FULLY_CONNECTED": 0, "DEPTHWISE_CONV_2D": 3, "CONV_3D": 4}
"""The axis of an operator's weights that counts output channels."""
_RECURRENT = {"SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"}
"""Operators that use all their weights in every step."""


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: value = scale * (q - zero_point), per tensor or along `axis`."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int = 0

    @property
    def is_per_tensor(self) -> bool:
        """Whether one scale applies to all elements."""
        return len(self.scale) == 1

    def of_channels(self, channels: Iterable[int]) -> "Quantization":
        """Return that of some channels along its axis; one for the whole tensor stays as it is."""
        if len(self.scale) <= 1:
            return self
        some = list(channels)
        points = self.zero_point
        return replace(
            self,
            scale=tuple(self.scale[i] for i in some),
            zero_point=tuple(points[i] for i in some) if len(points) > 1 else points,
        )


@dataclass(frozen=True)
class Tensor:
    """One tensor of a graph; `dtype` is a numpy name ("int8"), `data` a constant's bytes.

    `is_packed` marks an int8 tensor whose type is int4 in the file, which stores each value of a
    constant in 4 bits. Only TOSA has such tensors besides constants. `is_half` marks a float32
    tensor whose type is float16 in the file: its values fit float16.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    data: bytes | None = field(default=None, repr=False)
    is_variable: bool = False
    is_packed: bool = False
    is_half: bool = False

    @property
    def elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return 0 if self.dtype == HANDLE else self.elements * np.dtype(self.dtype).itemsize

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales of its quantization, none without one."""
        return self.quantization.scale if self.quantization else ()

    @property
    def first_zero_point(self) -> int:
        """The first zero point, 0 without one."""
        known = self.quantization
        return int(known.zero_point[0]) if known and known.zero_point else 0

    def array(self) -> np.ndarray[Any, Any]:
        """Return a constant's value in its shape; ValueError if the tensor is not a constant."""
        if self.data is None:
            raise ValueError(f"tensor '{self.name}' is not a constant")
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class Operator:
    """One operator; `code` is TFLite's builtin name ("CONV_2D"), ABSENT marks a missing input."""

    index: int
    code: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    custom_code: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    custom_options: bytes = field(default=b"", repr=False)
    intermediates: tuple[int, ...] = ()
    version: int = 1

    @property
    def title(self) -> str:
        """The operator's name for users."""
        return f"CUSTOM {self.custom_code}" if self.custom_code else self.code


@dataclass(frozen=True)
class Graph:
    """One subgraph; inputs and outputs are tensor indices in the signature's order."""

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def input_tensors(self) -> tuple[Tensor, ...]:
        """Return the input tensors in signature order."""
        return tuple(self.tensors[i] for i in self.inputs)

    def output_tensors(self) -> tuple[Tensor, ...]:
        """Return the output tensors in signature order."""
        return tuple(self.tensors[i] for i in self.outputs)

    @property
    def written(self) -> set[int]:
        """The tensors that operators write."""
        return {i for operator in self.operators for i in operator.outputs}

    def readers(self, tensor: int) -> list[Operator]:
        """Return the operators that read a tensor."""
        return [operator for operator in self.operators if tensor in operator.inputs]

    def writer(self, tensor: int) -> Operator | None:
        """Return the first operator that writes a tensor, None for an input or a constant."""
        return next((operator for operator in self.operators if tensor in operator.outputs), None)

    def output_name(self, operator: Operator) -> str:
        """Return the name of an operator's first output, "" if it has none."""
        return self.tensors[operator.outputs[0]].name if operator.outputs else ""

    def multiplications(self, operator: Operator) -> int:
        """Return the approximate number of values that an operator multiplies or moves."""
        tensors = [self.tensors[i] for i in operator.inputs if i != ABSENT]
        outputs = sum(self.tensors[i].elements for i in operator.outputs)
        axis = _WEIGHTS.get(operator.code)
        if axis is not None and len(tensors) > 1 and len(tensors[1].shape) > axis:
            return outputs * max(1, tensors[1].elements // max(tensors[1].shape[axis], 1))
        if operator.code == "TRANSPOSE_CONV" and len(tensors) > 2:
            return tensors[2].elements * max(1, tensors[1].elements // max(tensors[1].shape[-1], 1))
        if operator.code in _RECURRENT:
            steps = outputs // max(self.tensors[operator.outputs[0]].shape[-1], 1)
            return steps * sum(tensor.elements for tensor in tensors if tensor.data is not None)
        if operator.code == "BATCH_MATMUL" and tensors and tensors[0].shape:
            return outputs * tensors[0].shape[-1]
        window = 1
        for side in ("filter_height", "filter_width"):
            window *= int(operator.options.get(side, 1))
        return max([outputs * window, *(tensor.elements for tensor in tensors)])

    def macs(self, operator: Operator) -> int:
        """Return the products that an operator adds up, without padding; 0 if it adds up none."""
        adds_up = operator.code in {*_WEIGHTS, *_RECURRENT, "TRANSPOSE_CONV", "BATCH_MATMUL"}
        return self.multiplications(operator) if adds_up else 0


@dataclass(frozen=True)
class Compression:
    """The compression of a network's constants in its source.

    `bytes_before` counts the encoded constants and their tables, each once.
    """

    tensors: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True)
class Network:
    """A network, in the dialect of TFLite's operators. `graphs[0]` is the entry.

    `source` is the user's file, None for a network derived from another. `is_as_given` means that
    the source is a .tflite file that equals the graphs. `compression` describes decompressed
    constants. `contradictions` are sentences about contradictions in the source that TFLite
    ignores. `in_float` has, by output name, the reason why an operator computes floats although the
    network is quantized.
    """

    name: str
    graphs: tuple[Graph, ...]
    metadata: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    source: Source | None = None
    is_as_given: bool = False
    compression: Compression | None = None
    contradictions: tuple[str, ...] = ()
    in_float: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """Return "<Network 'digits': 10 operators, image int8[1,8,8,1] to digit int8[1,10]>"."""
        inputs, outputs = (", ".join(map(_port_text, x)) for x in (self.inputs, self.outputs))
        count = counted(len(self.graph.operators), "operator")
        return f"<Network '{self.name}': {count}, {inputs} to {outputs}>"

    def edited(self, *graphs: Graph, metadata: Mapping[str, bytes] | None = None) -> "Network":
        """Return the network with other graphs, and other metadata if any is given."""
        return Network(self.name, graphs, self.metadata if metadata is None else metadata)

    @property
    def graph(self) -> Graph:
        """The entry subgraph."""
        return self.graphs[0]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The network's inputs."""
        return self.graph.input_tensors()

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The network's outputs."""
        return self.graph.output_tensors()

    @cached_property
    def multiplications(self) -> int:
        """The approximate number of values that an inference multiplies or moves.

        Each subgraph counts once.
        """
        return sum(graph.multiplications(op) for graph in self.graphs for op in graph.operators)

    @cached_property
    def has_state(self) -> bool:
        """Whether an inference may depend on earlier ones."""
        operators = (op for graph in self.graphs for op in graph.operators)
        return any(tensor.is_variable for graph in self.graphs for tensor in graph.tensors) or any(
            op.code in STATEFUL or op.code == "CUSTOM" for op in operators
        )

    @cached_property
    def period(self) -> int:
        """The number of inferences per output, above 1 if a CIRCULAR_BUFFER ends the others."""
        cycles = (
            int(op.options.get("cycles_max", 1))
            for graph in self.graphs
            for op in graph.operators
            if op.custom_code == "CIRCULAR_BUFFER"
        )
        return math.prod(max(1, count) for count in cycles)

    @cached_property
    def is_tosa(self) -> bool:
        """Whether it has operators of TOSA; then all others are in STATEFUL."""
        if self.source is not None:
            return self.source.format == "tosa"
        return any(op.code.startswith(PREFIX) for graph in self.graphs for op in graph.operators)


def _port_text(tensor: Tensor) -> str:
    return f"{tensor.name} {tensor.dtype}[{','.join(map(str, tensor.shape))}]"
