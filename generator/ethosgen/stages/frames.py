"""The layout of the frames that a stage receives and sends: tensors in sequence."""

from collections.abc import Mapping, Sequence

from ethosgen.stages.cuts import Stage
from ethosgen.values.handover import (
    END_BYTES,
    HEADER_BYTES,
    ElementLine,
    Given,
    Handover,
    MeshPlace,
    Piece,
    SharedWindow,
)
from ethosgen.values.mesh import SIDES, ElementMesh
from ethosgen.values.multiples import CACHE_LINE_BYTES, rounded_up
from ethosgen.values.network import Graph
from ethosgen.values.wiring import HOST, Wiring


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
    return whole_bytes(tensor_bytes(graph, tensors))


def whole_bytes(tensors: int) -> int:
    """Return the bytes of a frame with this many bytes of tensors."""
    return HEADER_BYTES + tensors + END_BYTES


def handover(
    graph: Graph,
    stage: Stage,
    names: Sequence[str],
    element: int,
    wiring: Wiring,
    identity: bytes,
    windows: Sequence[SharedWindow] = (),
    mesh: ElementMesh | None = None,
) -> Handover:
    """Return the hand-over of one of the elements `names`, which runs a stage of `graph`.

    `windows` are those of all lines, none for serial ones, `mesh` what carries the frames if any.
    """
    lines_before, lines_behind = wiring.before(element), wiring.behind(element)
    before = wiring.edges_before(wiring.elements[element][0])
    behind = wiring.edges_behind(wiring.elements[element][0])
    received = {
        tensor: (edge, at)
        for edge, number in enumerate(before)
        for tensor, at in offsets(graph, wiring.edges[number].tensors).items()
    }
    ends = [wiring.lines[n].sender for n in lines_before]
    rows = wiring.turns(element)
    return Handover(
        name=names[element],
        number=element,
        elements=len(names),
        before=_lines(wiring, lines_before, ends, names, windows),
        behind=_lines(
            wiring, lines_behind, [wiring.lines[n].receiver for n in lines_behind], names, windows
        ),
        turns_before=_turns(wiring, before, lines_before, rows),
        turns_behind=_turns(wiring, behind, lines_behind, rows),
        inputs=tuple(
            Given(port, *received[i], graph.tensors[i].bytes) for port, i in enumerate(stage.reads)
        ),
        pieces=tuple(
            _pieces(graph, stage, wiring.edges[number].tensors, received)
            if wiring.first_alike(number) == number
            else ()
            for number in behind
        ),
        identity=identity,
        mesh=_mesh_place(wiring, element, mesh) if mesh else None,
    )


def _mesh_place(wiring: Wiring, element: int, mesh: ElementMesh) -> MeshPlace:
    nodes = (*range(mesh.count), HOST)
    senders = [(wiring.lines[n].sender, n) for n in wiring.before(element)]
    receivers = [(wiring.lines[n].receiver, n) for n in wiring.behind(element)]
    return MeshPlace(
        tuple(mesh.neighbour(element, side) is not None for side in SIDES),
        tuple(mesh.port(element, node) for node in nodes),
        tuple((nodes.index(end), wiring.behind(end).index(n)) for end, n in senders),
        tuple((nodes.index(end), wiring.before(end).index(n)) for end, n in receivers),
    )


def _lines(
    wiring: Wiring,
    numbers: Sequence[int],
    ends: Sequence[int],
    names: Sequence[str],
    windows: Sequence[SharedWindow],
) -> tuple[ElementLine, ...]:
    return tuple(
        ElementLine(
            "" if end == HOST else names[end],
            wiring.edges[wiring.lines[n].edge].bytes,
            wiring.lines[n].room,
            windows[n] if windows else None,
        )
        for n, end in zip(numbers, ends, strict=True)
    )


def _turns(
    wiring: Wiring, edges: Sequence[int], lines: Sequence[int], samples: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return the position in `lines` of the line of each edge, for each sample."""
    return tuple(
        tuple(lines.index(wiring.line_of(edge, sample)) for edge in edges) for sample in samples
    )


def _pieces(
    graph: Graph,
    stage: Stage,
    tensors: Sequence[int],
    received: Mapping[int, tuple[int, int]],
) -> tuple[Piece, ...]:
    return tuple(
        Piece(
            i in stage.makes,
            stage.makes.index(i) if i in stage.makes else 0,
            *(received[i] if i not in stage.makes else (0, 0)),
            at,
            graph.tensors[i].bytes,
        )
        for i, at in offsets(graph, tensors).items()
    )


def windows(wiring: Wiring, start_addr: int) -> list[SharedWindow]:
    """Place the frames of each line, the host's included, in sequence in memory.

    Lines that carry the same frames have the same place.
    """
    places: list[SharedWindow] = []
    for number, line in enumerate(wiring.lines):
        first = wiring.line_alike(number)
        if first < number:
            places.append(places[first])
            continue
        stride = rounded_up(whole_bytes(wiring.edges[line.edge].bytes), CACHE_LINE_BYTES)
        places.append(SharedWindow(start_addr, stride))
        start_addr += line.room * stride
    return places


def windows_bytes(wiring: Wiring) -> int:
    """Return the size of the memory for the frames of all lines."""
    places = zip(windows(wiring, 0), wiring.lines, strict=True)
    return max(place.start_addr + line.room * place.stride for place, line in places)
