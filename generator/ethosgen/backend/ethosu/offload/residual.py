"""The residual graph: the CPU's operators, and an `ethos-u` operator for each partition.

An `ethos-u` operator reads [command stream, read-only blob, scratch, fast scratch, tensors …]. All
partitions share the blob and both scratches. The metadata OfflineMemoryAllocation has the offset of
each tensor in scratch: int32 version, number of subgraphs, number of tensors, then one offset per
tensor, -1 for none (TFLite Micro's format, docs/memory_management.md).

A tensor that only partitions use is in scratch and not in the graph, even if one partition writes
it and a later one reads it. So scratch must stay unchanged from the first partition to the last,
except for the tensors that have an offset in it.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload.regions import (
    FIRST_OWN_REGION,
    INPUT_REGION,
    OUTPUT_REGION,
    Extent,
    copied_bytes,
    own_regions,
)
from ethosgen.backend.ethosu.payload import CUSTOM_CODE, Payload, strip_header
from ethosgen.backend.ethosu.stream import (
    Base,
    RegionKind,
    Stream,
    invoke,
    make_blobs,
    make_scratches,
)
from ethosgen.values.allocation import OperatorIndex, ResidualIndex
from ethosgen.values.errors import RefusalError, UnsupportedError
from ethosgen.values.lives import lives
from ethosgen.values.network import PLACEMENT, Graph, Network, Operator, Tensor
from ethosgen.values.plan import Blob, Partition, Scratch

_COMMANDS, _READ_ONLY, _SCRATCH, _SCRATCH_FAST = range(4)
_FIRST_TENSOR = 4


class Residual:
    """The parts of a compiled network.

    `graph` is the residual graph, whose inputs and outputs have the original names. `npu_operators`
    are the indices of its `ethos-u` operators. `spans` has, for each partition, the extents of its
    tensors in regions 3 and 4, None if they are in scratch. Raises UnsupportedError if Vela's
    output does not have the known format.
    """

    def __init__(
        self, compiled: Network, original: Network, spans: Sequence[Sequence[Extent]] | None
    ) -> None:
        self._compiled = compiled
        self._spans = spans
        self.reach: dict[int, int] = {}
        """Bytes that partitions copy of a tensor in its own region, if more than its size."""
        self.graph = _named_like(compiled.graph, original)
        self.npu_operators = [
            op.index for op in self.graph.operators if op.custom_code == CUSTOM_CODE
        ]
        self._memories = self._shared_memories()
        self._check_written()
        self.offsets = self._offsets() if spans is None else {}
        self.lives = {
            tensor: life
            for tensor, life in lives(self.graph, self.graph.operators, CUSTOM_CODE).items()
            if tensor in self.offsets
        }

    @property
    def npu_tensors(self) -> frozenset[int]:
        """The tensors that partitions read or write."""
        operators = (self.graph.operators[index] for index in self.npu_operators)
        return frozenset(i for op in operators for i in (*op.inputs, *op.outputs))

    def commands(self, number: int) -> bytes:
        """Return a partition's command stream as Vela wrote it."""
        return self._payload(self.graph.operators[self.npu_operators[number]]).commands

    def blobs(self, partitions: tuple[Partition, ...]) -> tuple[Blob, ...]:
        """Return the weights and tables that all partitions share, and the command streams."""
        data = self._memory(_READ_ONLY).data if self._memories else None
        return make_blobs(data or b"", partitions)

    @property
    def scratches(self) -> tuple[Scratch, ...]:
        """The memories that all partitions share while they run."""
        return make_scratches(self.scratch_bytes, self._scratch_fast_bytes)

    @property
    def scratch_bytes(self) -> int:
        """Size of the scratch that all partitions share."""
        return self._memory(_SCRATCH).bytes if self._memories else 0

    @property
    def _scratch_fast_bytes(self) -> int:
        """Size of the fast scratch; 0 if it is the scratch itself."""
        if not self._memories or not self._has_fast_scratch():
            return 0
        return self._memory(_SCRATCH_FAST).bytes

    def partitions(
        self, operators: Sequence[tuple[OperatorIndex, ...]], endings: Sequence[str]
    ) -> tuple[Partition, ...]:
        """Return the partitions, given the operators of each and the reason why it ends."""
        return tuple(
            self._partition(number, self.graph.operators[index], operators[number], endings[number])
            for number, index in enumerate(self.npu_operators)
        )

    def _shared_memories(self) -> tuple[int, ...]:
        """Return the tensors of blob and scratches, which all partitions must share."""
        shared = {
            self.graph.operators[index].inputs[_READ_ONLY:_FIRST_TENSOR]
            for index in self.npu_operators
        }
        if len(shared) > 1 or any(len(memories) < 3 for memories in shared):
            raise UnsupportedError(
                "Vela's output has partitions with separate memories, unlike that of Vela 5.2; "
                "install ethos-u-vela 5.2"
            )
        return shared.pop() if shared else ()

    def _memory(self, place: int) -> Tensor:
        return self.graph.tensors[self._memories[place - _READ_ONLY]]

    def _has_fast_scratch(self) -> bool:
        return self._memory(_SCRATCH_FAST).index != self._memory(_SCRATCH).index

    def _offsets(self) -> dict[int, int]:
        """Return the offset in scratch of each tensor that Vela placed there."""
        if not self._memories:
            return {}
        return {
            tensor.index: place
            for tensor, place in zip(self.graph.tensors, placement(self._compiled), strict=True)
            if place >= 0 and tensor.data is None and tensor.index not in self._memories
        }

    def _payload(self, operator: Operator) -> Payload:
        return strip_header(self.graph.tensors[operator.inputs[_COMMANDS]].data or b"")

    def _partition(
        self, number: int, operator: Operator, operators: tuple[OperatorIndex, ...], ending: str
    ) -> Partition:
        payload = self._payload(operator)
        inputs, outputs = operator.inputs[_FIRST_TENSOR:], operator.outputs
        bases: list[Base] = [RegionKind.READ_ONLY, RegionKind.SCRATCH]
        commands = payload.commands
        if self._spans is not None:
            owners = tuple(dict.fromkeys((*inputs, *outputs)))
            isa = instruction_set(payload.config_word)
            spans = self._owned_spans(number, owners, self._spans)
            commands = own_regions(commands, spans, isa)
            fast = RegionKind.SCRATCH_FAST if self._has_fast_scratch() else RegionKind.SCRATCH
            bases += [fast, *owners]
            self._note_reach(owners, copied_bytes(commands, isa))
        else:
            self._check_placed((*inputs, *outputs))
            bases += [RegionKind.SCRATCH_FAST] if self._has_fast_scratch() else []
        return Partition(
            f"partition_{number}",
            ResidualIndex(operator.index),
            invoke(number, tuple(bases)),
            inputs,
            outputs,
            operators,
            ending,
            Stream(commands, payload.id_word, payload.config_word, tuple(bases)),
        )

    def _note_reach(self, owners: Sequence[int], ends: Mapping[int, int]) -> None:
        for region, copied in ends.items():
            owner = owners[region - FIRST_OWN_REGION]
            if copied > self.graph.tensors[owner].bytes:
                self.reach[owner] = max(copied, self.reach.get(owner, 0))

    def _check_written(self) -> None:
        """Refuse a graph with a tensor that is read but not written, or written twice.

        Vela omits an output of a partition if a BATCH_MATMUL of the same partition reads it
        transposed. It also splits a PAD: one partition can write its edges and a later one its
        middle.
        """
        written = [i for op in self.graph.operators for i in op.outputs]
        read = [i for op in self.graph.operators for i in op.inputs if i >= 0]
        known = {*self.graph.inputs, *written, *self._memories}
        for index in (*self.graph.outputs, *read, *written):
            tensor = self.graph.tensors[index]
            why = ""
            if written.count(index) > 1:
                why = f"several parts of Vela's output write '{tensor.name}'"
            elif index not in known and tensor.bytes and tensor.data is None:
                why = f"no part of Vela's output writes '{tensor.name}'"
            if why and not tensor.is_variable:
                raise RefusalError(why, why)

    def _check_placed(self, tensors: Sequence[int]) -> None:
        for index in tensors:
            tensor = self.graph.tensors[index]
            end = self.offsets.get(index, self.scratch_bytes) + tensor.bytes
            if index not in self.offsets or end > self.scratch_bytes:
                why = f"Vela's output does not place '{tensor.name}' in scratch"
                raise RefusalError(why, why)

    def _owned_spans(
        self, number: int, owners: Sequence[int], known: Sequence[Sequence[Extent]]
    ) -> list[Extent]:
        """Return the span of each tensor of a partition, in the order of `owners`."""
        spans = known[number] if number < len(known) else []
        written = {t for index in self.npu_operators for t in self.graph.operators[index].outputs}
        placed: dict[int, Extent] = {}
        for region in (INPUT_REGION, OUTPUT_REGION):
            inside = sorted((s for s in spans if s.region == region), key=lambda span: span.start)
            here = [index for index in owners if (index in written) == (region == OUTPUT_REGION)]
            placed |= self._matched(here, inside)
        for index in owners:
            tensor = self.graph.tensors[index]
            if index not in placed or placed[index].size < tensor.bytes:
                why = f"Vela does not report the base pointer of '{tensor.name}'"
                raise RefusalError(f"{why}; use --io arena for this network", why)
        return [placed[index] for index in owners]

    def _matched(self, tensors: Sequence[int], spans: Sequence[Extent]) -> dict[int, Extent]:
        """Match the tensors of a region with Regor's spans by name, or by order if names repeat.

        Regor lays tensors out in order of first use: that of an operator's inputs and outputs.
        """
        placed: dict[int, Extent] = {}
        for index in tensors:
            name = self._compiled.graph.tensors[index].name
            named = [span for span in spans if span.name == name]
            if len(named) == 1:
                placed[index] = named[0]
        left = [index for index in tensors if index not in placed]
        spare = [span for span in spans if span not in placed.values()]
        return placed | (dict(zip(left, spare, strict=True)) if len(left) == len(spare) else {})


def placement(compiled: Network) -> tuple[int, ...]:
    """Return the offset of each tensor from OfflineMemoryAllocation, -1 for none."""
    raw, count = compiled.metadata.get(PLACEMENT, b""), len(compiled.graph.tensors)
    if len(raw) < 12 or struct.unpack_from("<3i", raw)[2] < count or len(raw) < 4 * (3 + count):
        raise UnsupportedError("Vela's output has no complete OfflineMemoryAllocation")
    return struct.unpack_from(f"<{count}i", raw, 12)


def _named_like(graph: Graph, original: Network) -> Graph:
    """Return a compiled graph whose inputs and outputs have the original names.

    Constant outputs get their values back, which Vela drops.
    """
    pairs = (
        *zip(graph.input_tensors(), original.inputs, strict=False),
        *zip(graph.output_tensors(), original.outputs, strict=False),
    )
    same_counts = (len(graph.inputs), len(graph.outputs)) == (
        len(original.inputs),
        len(original.outputs),
    )
    if not same_counts or any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in pairs):
        raise UnsupportedError(
            "Vela's output has other inputs or outputs than the network; a network that returns "
            "a state is not supported"
        )
    names = {ours.index: theirs.name for ours, theirs in pairs}
    values = {ours.index: theirs.data for ours, theirs in pairs if theirs.data is not None}
    taken = set(names.values())
    tensors = []
    for tensor in graph.tensors:
        name = names.get(tensor.index)
        if name is None:
            name = tensor.name
            while name in taken:
                name = f"{name}_{tensor.index}"
            taken.add(name)
        tensors.append(replace(tensor, name=name, data=values.get(tensor.index, tensor.data)))
    return replace(graph, tensors=tuple(tensors))
