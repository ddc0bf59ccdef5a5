"""Estimates of a network's stages on elements: time and memory, before anything is compiled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf

from ethosgen.backend import compiler_of, load_wrapped
from ethosgen.backend.protocol import CpuSide, DivisionTask, Offer
from ethosgen.board.system import Element, System
from ethosgen.flow.wrapping import UserAccelerators
from ethosgen.project import part_capacities
from ethosgen.stages.cuts import crossing, has_state, ports
from ethosgen.stages.frames import frame_bytes
from ethosgen.values.accelerator import NO_NPU, Accelerator
from ethosgen.values.allocation import FREE, OperatorIndex
from ethosgen.values.errors import RefusalError
from ethosgen.values.handover import ROOM
from ethosgen.values.network import ABSENT, Network
from ethosgen.values.plan import IoStyle, OffloadMode, OffloadOptions

UNKNOWN_CYCLES = 24
"""Cycles for each element of an output where no estimate is known: one rescaling in plain C."""
RECEIVE_CYCLES = {"serial": 75.0, "shared": 0.2, "mesh": 150.0}
"""Cycles of the receiver for each byte of a frame, counted on QEMU: interrupt and CRC; a copy."""
SEND_CYCLES = {"serial": 24.0, "shared": 0.75, "mesh": 120.0}
"""Cycles of the sender for each byte of a frame."""


@dataclass(frozen=True)
class Shortage:
    """Bytes by which a stage exceeds a memory of an element."""

    memory: str
    bytes: int


class Estimates:
    """Time and memory of any part of a network on each element of a system."""

    def __init__(self, network: Network, system: System, options: OffloadOptions) -> None:
        self.network = network
        self.graph = network.graph
        self.system = system
        self._cycles: dict[tuple[str, str], list[tuple[int, int, int | None]]] = {}
        for element in system.stages:
            key = _kind(element)
            if key not in self._cycles:
                self._cycles[key] = _operator_cycles(network, element, options)
        self._sums = {key: _sums([c for c, _, _ in rows]) for key, rows in self._cycles.items()}
        self._weights = _sums([self._constant_bytes(i) for i in range(self.count)])
        self._frames = cache(self._frames_of)
        self._live = [self._live_bytes(i) for i in range(self.count)]
        self._peak = cache(self._peak_of)

    @property
    def count(self) -> int:
        """The number of operators."""
        return len(self.graph.operators)

    def cycles(self, stage: int, start: int, stop: int) -> int:
        """Return the cycles of operators on an element, without hand-over."""
        key = _kind(self.system.stages[stage])
        sums, costs = self._sums[key], self._cycles[key]
        starts = 0
        previous: int | None = None
        for _, begin, group in costs[start:stop]:
            if group is not None and group != previous:
                starts += begin
            previous = group
        return sums[stop] - sums[start] + starts

    def seconds(self, stage: int, start: int, stop: int) -> float:
        """Return an element's time for a sample: receive, compute, send."""
        element, kind = self.system.stages[stage], self.system.link
        received, sent = self._frames(start, stop)
        busy = self.cycles(stage, start, stop) + RECEIVE_CYCLES[kind] * received
        send = SEND_CYCLES[kind] * sent / element.clock_hz
        wires = [link.seconds(sent) for (a, _), link in self.system.links.items() if a == stage]
        return busy / element.clock_hz + max([send, *wires[:1]])

    def cost(self, stage: int, start: int, stop: int) -> float:
        """Return the time between two samples of a stage, infinite if it does not fit.

        Replicas see only some of the samples, so they can keep no state.
        """
        replicas = self.system.replicas[stage]
        if replicas > 1 and has_state(self.graph, start, stop):
            return inf
        if not self.has_ends(start, stop):
            return inf
        if self.shortage(stage, start, stop) is not None:
            return inf
        return self.seconds(stage, start, stop) / replicas

    def has_ends(self, start: int, stop: int) -> bool:
        """Return whether a stage has something to receive and to send.

        In a linear pipeline it also hands on what others read.
        """
        return self.system.is_chain or all(ports(self.graph, start, stop))

    def shortage(self, stage: int, start: int, stop: int) -> Shortage | None:
        """Return the shortage of a stage on an element, None if it fits."""
        element = self.system.stages[stage]
        need: dict[str, int] = {}
        sizes = {
            "weights": self._weights[stop] - self._weights[start],
            "arena": self._peak(start, stop),
            "io": ROOM * self._frames(start, stop)[0] if self.system.link != "shared" else 0,
        }
        for part, (memory, _) in _capacities(element).items():
            need[memory] = need.get(memory, 0) + sizes[part]
        room = dict(_capacities(element).values())
        for memory, size in need.items():
            if size > room[memory]:
                return Shortage(memory, size - room[memory])
        return None

    def _frames_of(self, start: int, stop: int) -> tuple[int, int]:
        """Return the bytes that a stage receives and sends for a sample.

        In a linear pipeline it also hands on what others read. In a graph it sends a tensor to each
        stage that reads it: to as many as there are groups of neighbouring operators. In shared
        memory it writes it once.
        """
        if self.system.is_chain:
            frames = crossing(self.graph, start), crossing(self.graph, stop)
            received, sent = (frame_bytes(self.graph, tensors) for tensors in frames)
            return received, sent
        reads, makes = ports(self.graph, start, stop)
        is_once = self.system.link == "shared"
        copies = [i for i in makes for _ in range(1 if is_once else self._readers(i, stop))]
        return frame_bytes(self.graph, reads), frame_bytes(self.graph, copies)

    def _readers(self, tensor: int, stop: int) -> int:
        """Return the groups of neighbouring operators after a cut that read a tensor."""
        behind = self.graph.operators[stop:]
        readers = [op.index for op in behind if tensor in op.inputs]
        if tensor in self.graph.outputs:
            readers.append(self.count)
        return sum(b - a > 1 for a, b in pairwise([-1, *readers]))

    def _constant_bytes(self, index: int) -> int:
        tensors = self.graph.tensors
        read = {i for i in self.graph.operators[index].inputs if i != ABSENT}
        return sum(len(data) for i in read if (data := tensors[i].data) is not None)

    def _live_bytes(self, index: int) -> int:
        """Return the bytes of an operator's inputs and outputs: at least these are in the arena."""
        tensors, op = self.graph.tensors, self.graph.operators[index]
        ports = {i for i in (*op.inputs, *op.outputs) if i != ABSENT and tensors[i].data is None}
        return sum(tensors[i].bytes for i in ports)

    def _peak_of(self, start: int, stop: int) -> int:
        return max(self._live[start:stop])


def accelerator_of(element: Element) -> Accelerator | None:
    """Return an element's NPU, None for one without."""
    return None if element.npu == NO_NPU else element.board.accelerator(element.npu)


def _kind(element: Element) -> tuple[str, str]:
    return element.board.name, f"{element.npu} {element.memory_mode} {element.accelerators}"


@cache
def _capacities(element: Element) -> Mapping[str, tuple[str, int]]:
    mode = element.board.choose_memory_mode(element.memory_mode, accelerator_of(element))
    return part_capacities(element.board, mode)


def _operator_cycles(
    network: Network, element: Element, options: OffloadOptions
) -> list[tuple[int, int, int | None]]:
    """Return each operator's cycles, and its partition's number and start-up cycles."""
    graph, offers = network.graph, _offers(network, element, options)
    others = _cpu_side(network, element, options)
    missing = Offer(cycles=0) if offers else Offer(refusal="there is no NPU")
    costs: list[tuple[int, int, int | None]] = []
    for op in graph.operators:
        cpu = others.cpu_cycles(op, graph)
        if cpu is None:
            cpu = UNKNOWN_CYCLES * sum(graph.tensors[i].elements for i in op.outputs)
        offer = offers.get(OperatorIndex(op.index), missing)
        is_slower = offer.cycles is not None and cpu < offer.cycles
        if offer.refusal or (options.mode is OffloadMode.AUTO and is_slower):
            costs.append((cpu, 0, None))
        else:
            costs.append((offer.cycles or 0, offer.start, offer.group))
    return costs


def _offers(
    network: Network, element: Element, options: OffloadOptions
) -> Mapping[OperatorIndex, Offer]:
    from ethosgen import aot

    accelerator = accelerator_of(element)
    if accelerator is None or options.mode is OffloadMode.NONE:
        return {}
    board = element.board
    memories = board.memories_in(board.choose_memory_mode(element.memory_mode, accelerator))
    task = DivisionTask(network, accelerator, IoStyle.ARENA, aot, memories, options)
    try:
        return compiler_of(accelerator).offers(task, FREE)
    except RefusalError:
        return {}


def _cpu_side(network: Network, element: Element, options: OffloadOptions) -> CpuSide:
    """Return the CPU's side of an element, with users' accelerators where they are faster."""
    from ethosgen import aot

    if not element.accelerators or options.mode is OffloadMode.NONE:
        return aot
    wrapped = [load_wrapped(name) for name in element.accelerators]
    return UserAccelerators(wrapped, options, aot).alternatives(network, IoStyle.ARENA, FREE)


def _sums(values: Sequence[int]) -> list[int]:
    sums = [0]
    for value in values:
        sums.append(sums[-1] + value)
    return sums
