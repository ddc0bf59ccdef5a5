"""The network as read: tensors, operators, subgraphs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ethosgen.values.source import Source

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


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: value = scale * (q - zero_point), per tensor or along `axis`."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int = 0

    @property
    def is_per_tensor(self) -> bool:
        """Whether one scale is for all elements."""
        return len(self.scale) == 1


@dataclass(frozen=True)
class Tensor:
    """One tensor of a graph; `dtype` is a numpy name ("int8"), `data` a constant's bytes.

    `is_packed` marks an int8 constant whose file stores each value in 4 bits (TFLite's int4).
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    data: bytes | None = field(default=None, repr=False)
    is_variable: bool = False
    is_packed: bool = False

    @property
    def elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return 0 if self.dtype == HANDLE else self.elements * np.dtype(self.dtype).itemsize

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

    def output_name(self, operator: Operator) -> str:
        """Return the name of an operator's first output, "" if it has none."""
        return self.tensors[operator.outputs[0]].name if operator.outputs else ""


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

    `source` is what the user gave, None for a network that was made from another. `is_as_given`
    means that the source is a .tflite file, and that it and the graphs say the same. `compression`
    says what was decompressed. `contradictions` are sentences about contradictions in the source
    that TFLite ignores. `in_float` says by the name of its output why an operator computes floats
    although the network is quantized.
    """

    name: str
    graphs: tuple[Graph, ...]
    metadata: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    source: Source | None = None
    is_as_given: bool = False
    compression: Compression | None = None
    contradictions: tuple[str, ...] = ()
    in_float: Mapping[str, str] = field(default_factory=dict, repr=False)

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
