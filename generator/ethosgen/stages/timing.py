"""Compute the time at which each sample passes each element, from each element's times for one
sample.

An element receives, computes and sends one sample after the other; while it does, the next frames
arrive in its other buffers. It sends only if all elements behind it have room.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from ethosgen.stages.frames import whole_bytes
from ethosgen.values.handover import PACKET_BYTES, PACKET_ENDS_BYTES, ROOM
from ethosgen.values.mesh import ElementMesh
from ethosgen.values.multiples import pieces
from ethosgen.values.wiring import Wiring

SAMPLES = 64
"""Enough for any pipeline of a few elements to settle."""


@dataclass(frozen=True)
class Times:
    """Seconds of an element for a sample: `busy` until it sends, `send` until the last byte."""

    busy: float
    send: float


@dataclass(frozen=True)
class Way:
    """A hand-over between two stages: a frame arrives `latency` seconds after its last byte.

    The receiver has room for `room` samples: the frames of all lines between the two.
    """

    sender: int
    receiver: int
    latency: float = 0.0
    room: int = ROOM


@dataclass(frozen=True)
class PipelineTiming:
    """`interval` between two outputs of a full pipeline, and a sample's time through an empty one.

    `full_latency` is a sample's time through a full pipeline, of the slowest replicas. All in
    seconds.
    """

    interval: float
    latency: float
    full_latency: float


def schedule(
    stages: Sequence[Sequence[Times]], ways: Sequence[Way], samples: int = SAMPLES
) -> PipelineTiming:
    """Return throughput and latency of a pipeline that is fed as fast as it takes samples.

    Each stage has the times of its replicas, which take samples in turn; ways lead to later stages.
    """
    turns = lcm(*map(len, stages))
    half = turns * pieces(samples, 2 * turns)
    begun: list[list[float]] = []
    ended: list[list[float]] = []
    for n in range(2 * half):
        start: list[float] = []
        end: list[float] = []
        for k, replicas in enumerate(stages):
            times = replicas[n % len(replicas)]
            arrives = [end[way.sender] + way.latency for way in ways if way.receiver == k]
            free = ended[n - len(replicas)][k] if n >= len(replicas) else 0.0
            start.append(max([free, *arrives]))
            has_room = [
                ended[n - way.room][way.receiver]
                for way in ways
                if way.sender == k and n >= way.room
            ]
            end.append(max([start[k] + times.busy, *has_room]) + times.send)
        begun.append(start)
        ended.append(end)
    out = [max(end) for end in ended]
    first = min(set(range(len(stages))) - {way.receiver for way in ways})
    last = max(out[half - turns : half]), max(out[-turns:])  # outputs keep their order
    interval = (last[1] - last[0]) / half
    latencies = [end - start[first] for start, end in zip(begun, out, strict=True)]
    return PipelineTiming(interval, latencies[0], max(latencies[-turns:]))


def busiest_link_s(mesh: ElementMesh, wiring: Wiring, bytes_per_s: float) -> float:
    """Return the time of the busiest link of a mesh for a sample: several hand-overs share it."""
    busy: defaultdict[tuple[int, int], float] = defaultdict(float)
    for line in wiring.lines:
        size = whole_bytes(wiring.edges[line.edge].bytes)
        size += PACKET_ENDS_BYTES * pieces(size, PACKET_BYTES)
        for link in mesh.way(line.sender, line.receiver):
            busy[link] += size / wiring.period(line.edge) / bytes_per_s
    return max(busy.values())
