"""Compute the time at which each sample passes each element, from each element's times for one
sample.

An element receives, computes and sends one sample after the other; while it does, the next frame
arrives in its second buffer. It sends only if the next element has room.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.values.handover import ROOM

SAMPLES = 64
"""Enough for any pipeline of a few elements to settle."""


@dataclass(frozen=True)
class Times:
    """Seconds of an element for a sample: `busy` until it sends, then `send` until the last byte.

    The frame arrives `latency` seconds after that.
    """

    busy: float
    send: float
    latency: float = 0.0


@dataclass(frozen=True)
class PipelineTiming:
    """`interval` between two outputs of a full pipeline, and a sample's time through an empty one.

    `full_latency` is a sample's time through a full pipeline. All in seconds.
    """

    interval: float
    latency: float
    full_latency: float


def schedule(elements: Sequence[Times], samples: int = SAMPLES) -> PipelineTiming:
    """Return throughput and latency of a pipeline that is fed as fast as it takes samples."""
    begun: list[list[float]] = []
    ended: list[list[float]] = []
    for n in range(samples):
        start, end = [], []
        arrives = 0.0
        for k, times in enumerate(elements):
            free = ended[n - 1][k] if n else 0.0
            begins = max(arrives, free)
            ready = begins + times.busy
            if k + 1 < len(elements) and n >= ROOM:
                ready = max(ready, ended[n - ROOM][k + 1])
            done = ready + times.send
            start.append(begins)
            end.append(done)
            arrives = done + times.latency
        begun.append(start)
        ended.append(end)
    half = samples // 2
    interval = (ended[-1][-1] - ended[half - 1][-1]) / (samples - half)
    return PipelineTiming(interval, ended[0][-1] - begun[0][0], ended[-1][-1] - begun[-1][0])
