"""Reads what others compiled for Ethos-U, and runs it on the NPU model.

A file is a .tflite with ethos-u operators, a C array of one, Vela's raw output (.npz), or an
ExecuTorch program (.pte) with one delegate.
"""

import io
import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Protocol

import numpy as np

from ethosgen.aot import make_evaluator
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import accelerator_for, compiled_for, offload
from ethosgen.backend.ethosu.payload import Payload, strip_header
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.backend.ethosu.simulator.machine import Machine
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.stream import BASES
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.network import Network

Array = np.ndarray[Any, Any]

_PAGE = 4096
_HEX = re.compile(rb"0[xX]([0-9a-fA-F]{1,2})\b")
_BODY = re.compile(rb"\{([^{}]*)\}")
_TFLITE = slice(4, 8), b"TFL3"
_PTE_START, _PTE_END = b"vela_bin_stream", b"vela_end_stream"
_COLUMNS = ("region", "offset", "shape", "elem_size")
"""The arrays of Vela's raw output about inputs and outputs, after input_ and output_."""
_OBJECTS = "_quantization"
"""The end of the names of its arrays that need pickle."""
_BLOCK = struct.Struct("<16sI12x")
"""A block of ExecuTorch's VelaBinStream.h: a name, and the bytes that follow, padded to 16."""
_PLACE = struct.Struct("<6iiii")
"""A tensor there: six dimensions, the size of an element, offset and region."""


class Program(Protocol):
    """A compiled network that runs on the NPU model."""

    npu: str

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Run one sample; return its outputs, both in the order of the file."""

    def draw(self, count: int) -> list[list[Array]]:
        """Draw random inputs for some samples."""


class CompiledNetwork:
    """A .tflite with ethos-u operators; others run on the CPU."""

    def __init__(self, network: Network) -> None:
        """Plan the network and load its streams."""
        npu = compiled_for(network)
        plan = offload(network, find_accelerator(npu.name))
        self.npu = npu.name
        self._network, self._runner = network, PartitionRunner(plan)
        self._evaluate = make_evaluator(plan)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Run one sample."""
        tensors = self._network.inputs
        sample = {
            t.name: _shaped(a, t.dtype, t.shape) for t, a in zip(tensors, inputs, strict=True)
        }
        outputs = self._evaluate(sample, self._runner)
        return [outputs[tensor.name] for tensor in self._network.outputs]

    def draw(self, count: int) -> list[list[Array]]:
        """Draw random inputs, within the accepted values."""
        return in_order(self._network, draw_samples(self._network, count, 0))


@dataclass(frozen=True)
class Place:
    """A tensor in a region; its type is unknown, except for the bytes of an element."""

    region: int
    offset: int
    shape: tuple[int, ...]
    element_bytes: int

    @property
    def bytes(self) -> int:
        """The tensor's size."""
        return math.prod(self.shape) * self.element_bytes


class BareStream:
    """One command stream with its memories, without a network around it."""

    def __init__(
        self,
        payload: Payload,
        name: str,
        memories: dict[int, int | bytes],
        ends: tuple[Sequence[Place], Sequence[Place]],
    ) -> None:
        """Place memories (sizes, or the bytes of constant ones) by region, and the commands."""
        npu = accelerator_for(payload.config_word, name)
        self.npu, self._ends = npu.name, ends
        self._memories: dict[int, Array] = {}
        bases, segments, start = [0] * BASES, [], _PAGE
        for region, content in (*memories.items(), (-1, payload.commands)):
            if isinstance(content, bytes):
                memory, writable = np.frombuffer(content, np.uint8), False
            else:
                memory, writable = np.zeros(content, np.uint8), True
            name = f"region {region}"
            segments.append(Segment(start, memory, writable, name, constant=not writable))
            if region >= 0:
                bases[region], self._memories[region] = start, memory
            self._stream = start, len(payload.commands)
            start += (-(-max(len(memory), 1) // _PAGE) + 1) * _PAGE
        self._bases, self._machine = tuple(bases), Machine(npu, Bus(segments))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Run one sample; the outputs are bytes or words of the elements' size."""
        for place, array in zip(self._ends[0], inputs, strict=True):
            self._view(place)[...] = np.frombuffer(array.tobytes(), np.uint8)
        self._machine.run(*self._stream, self._bases)
        return [self._view(place).copy() for place in self._ends[1]]

    def draw(self, count: int) -> list[list[Array]]:
        """Draw uniform bytes."""
        random = np.random.default_rng(0)
        return [
            [random.integers(0, 256, place.bytes, np.uint8) for place in self._ends[0]]
            for _ in range(count)
        ]

    def _view(self, place: Place) -> Array:
        return self._memories[place.region][place.offset : place.offset + place.bytes]


def in_order(network: Network, samples: Sequence[Any]) -> list[list[Array]]:
    """Return samples as lists, in the order of the network's inputs."""
    return [[sample[tensor.name] for tensor in network.inputs] for sample in samples]


def load(data: bytes, path: str) -> Program:
    """Load a file by its suffix; raises ValueError if there is nothing for Ethos-U in it."""
    suffix, name = PurePosixPath(path).suffix, PurePosixPath(path).stem
    if suffix == ".npz":
        return _raw(data, name)
    if suffix == ".pte":
        return _executorch(data, name)
    return CompiledNetwork(parse_network(_network_bytes(data, path), name))


def c_arrays(source: bytes) -> Iterator[bytes]:
    """Yield the arrays of hexadecimal bytes in a C file."""
    for body in _BODY.finditer(source):
        array = bytes(int(word, 16) for word in _HEX.findall(body.group(1)))
        if array:
            yield array


def _network_bytes(data: bytes, path: str) -> bytes:
    place, magic = _TFLITE
    if data[place] == magic:
        return data
    network = next((array for array in c_arrays(data) if array[place] == magic), None)
    if network is None:
        raise ValueError(f"{path} has no array with a .tflite")
    return network


def _shaped(array: Array, dtype: Any, shape: tuple[int, ...]) -> Array:
    shaped: Array = np.frombuffer(array.tobytes(), dtype).reshape(shape)
    return shaped


def _raw(data: bytes, name: str) -> BareStream:
    """Load the output of `vela --output-format raw`."""
    with np.load(io.BytesIO(data)) as arrays:
        raw = {key: arrays[key] for key in arrays if not key.endswith(_OBJECTS)}
    memories: dict[int, Any] = {
        int(raw["weight_region"]): raw["weight_data"].tobytes(),
        int(raw["scratch_region"]): int(raw["scratch_size"]),
    }
    if raw["scratch_fast_size"]:
        memories[int(raw["scratch_fast_region"])] = int(raw["scratch_fast_size"])
    payload = strip_header(raw["cmd_data"].tobytes())
    return BareStream(payload, name, memories, (_places(raw, "input"), _places(raw, "output")))


def _places(raw: dict[str, Array], end: str) -> list[Place]:
    columns = (raw[f"{end}_{part}"] for part in _COLUMNS)
    return [
        Place(int(region), int(offset), tuple(int(size) for size in shape), int(element))
        for region, offset, shape, element in zip(*columns, strict=True)
    ]


def _executorch(data: bytes, name: str) -> BareStream:
    """Load the only delegate of a .pte (executorch, backends/arm/runtime/VelaBinStream.h)."""
    blocks = dict(_blocks(data))
    ends = tuple(_pte_places(blocks[end]) for end in ("inputs", "outputs"))
    memories: dict[int, Any] = {
        0: blocks["weight_data"],
        1: struct.unpack("<I", blocks["scratch_size"][:4])[0],
    }
    if "scratch_fast_size" in blocks:
        memories[2] = struct.unpack("<I", blocks["scratch_fast_size"][:4])[0]
    return BareStream(strip_header(blocks["cmd_data"]), name, memories, (ends[0], ends[1]))


def _blocks(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.count(_PTE_START) != 1:
        raise ValueError("a .pte must have one delegate for Ethos-U")
    place = data.index(_PTE_START)
    while True:
        name, size = _BLOCK.unpack_from(data, place)
        place += _BLOCK.size
        if name.startswith(_PTE_END):
            return
        yield name.rstrip(b"\0").decode(), data[place : place + size]
        place += -(-size // 16) * 16


def _pte_places(block: bytes) -> list[Place]:
    (count,) = struct.unpack_from("<I", block)
    fields = (_PLACE.unpack_from(block, 4 + i * _PLACE.size) for i in range(count))
    return [Place(region, at, tuple(shape), element) for *shape, element, at, region in fields]
