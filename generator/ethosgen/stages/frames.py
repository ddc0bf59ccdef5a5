"""The layout of the frames that a stage receives and sends: tensors in sequence."""

from collections.abc import Sequence

from ethosgen.stages.cuts import Stage
from ethosgen.values.handover import END_BYTES, HEADER_BYTES, Given, Handover, Piece, SharedWindow
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Graph

LINE_BYTES = 32
"""Frames in shared memory begin at a line of the data cache."""


def offsets(graph: Graph, tensors: Sequence[int]) -> dict[int, int]:
    """Return the offset of each tensor among a frame's tensors."""
    by_tensor, at = {}, 0
    for i in tensors:
        by_tensor[i] = at
        at += graph.tensors[i].bytes
    return by_tensor


def tensor_bytes(graph: Graph, tensors: Sequence[int]) -> int:
    """Return the bytes of a frame's tensors."""
    return sum(graph.tensors[i].bytes for i in tensors)


def frame_bytes(graph: Graph, tensors: Sequence[int]) -> int:
    """Return the bytes of a whole frame."""
    return HEADER_BYTES + tensor_bytes(graph, tensors) + END_BYTES


def handover(
    graph: Graph,
    stage: Stage,
    name: str,
    place: tuple[int, int],
    identity: bytes,
    windows: tuple[SharedWindow, SharedWindow] | None = None,
) -> Handover:
    """Return the hand-over of a stage of `graph`; `place` is its number, and the number of all.

    `windows` are those that it shares with the elements before and after it.
    """
    received, sent = offsets(graph, stage.receives), offsets(graph, stage.sends)
    received_window, sent_window = windows or (None, None)
    return Handover(
        name=name,
        number=place[0],
        elements=place[1],
        inputs=tuple(
            Given(port, received[i], graph.tensors[i].bytes) for port, i in enumerate(stage.reads)
        ),
        pieces=tuple(
            Piece(
                is_output=i in stage.makes,
                port=stage.makes.index(i) if i in stage.makes else 0,
                offset=received.get(i, 0),
                at=sent[i],
                bytes=graph.tensors[i].bytes,
            )
            for i in stage.sends
        ),
        received_bytes=tensor_bytes(graph, stage.receives),
        sent_bytes=tensor_bytes(graph, stage.sends),
        identity=identity,
        received=received_window,
        sent=sent_window,
    )


def windows(
    graph: Graph, stages: Sequence[Stage], start_addr: int, room: int
) -> list[SharedWindow]:
    """Place the frames of each link, the host's two included, in sequence in memory."""
    links = []
    for tensors in (stages[0].receives, *(stage.sends for stage in stages)):
        stride = rounded_up(frame_bytes(graph, tensors), LINE_BYTES)
        links.append(SharedWindow(start_addr, stride))
        start_addr += room * stride
    return links
