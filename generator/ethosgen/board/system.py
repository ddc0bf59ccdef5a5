"""Systems: the elements of a pipeline in order, each a board, and the links between them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pydantic import ValidationError

from ethosgen.board import Board, load_board
from ethosgen.board.facts import BoardMemory
from ethosgen.board.system_facts import (
    ElementFacts,
    LinkFacts,
    LinkKind,
    Region,
    SystemFacts,
    Topology,
    replica_names,
)
from ethosgen.toml.faults import describe_error
from ethosgen.toml.files import load_toml, schema_text
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.mesh import SIDES, ElementMesh
from ethosgen.values.wiring import HOST, Ways, chain_ways, graph_ways, host_ways

BITS_OF_A_BYTE = 10
"""On a serial line, with start and stop bit."""
_WINDOW = 1 << 20
"""Windows of a divided memory are multiples of this."""


class Element:
    """An element with its board, as it may use it: only a part of the memories named in `parts`.

    `accelerators` are users' own, by name or folder, in order of priority. `stage` is what it does,
    by number; `name` is its own, also among the replicas of the stage.
    """

    def __init__(
        self,
        name: str,
        board: Board,
        npu: str | None,
        memory_mode: str | None,
        parts: tuple[str, ...] = (),
        accelerators: tuple[str, ...] = (),
        stage: int = 0,
    ) -> None:
        if board.linux is not None:
            raise InputError(
                f"board '{board.name}' runs Linux, but an element of a pipeline is a firmware: "
                "name another board"
            )
        self.name = name
        self.board = board
        self.npu = NO_NPU if npu is None and board.npu is None else npu
        self.memory_mode = memory_mode
        self.parts = parts
        self.accelerators = accelerators
        self.stage = stage

    @property
    def clock_hz(self) -> int:
        """The rate of the processor's cycles."""
        counter = self.board.counter
        return self.board.cpu.clock_hz or (counter.hz if counter else 1)


@dataclass(frozen=True)
class LinkSpeed:
    """A link's bandwidth and latency."""

    bytes_per_s: float
    latency_s: float

    def seconds(self, size: int) -> float:
        """Return the time that a frame of `size` bytes takes."""
        return self.latency_s + size / self.bytes_per_s


class System:
    """The elements in order of their stages, the links, and the memory for frames if shared.

    `ways` are the pairs of stages between which frames may go.
    """

    def __init__(
        self,
        link: LinkKind,
        elements: list[Element],
        ways: Ways,
        links: Mapping[tuple[int, int], LinkSpeed],
        shared: Region | None = None,
        mesh: ElementMesh | None = None,
    ) -> None:
        self.mesh = mesh
        self.link = link
        self.elements = elements
        self.ways = ways
        self.links = links
        self.shared = shared
        counts = Counter(element.stage for element in elements)
        self.replicas = tuple(counts[stage] for stage in sorted(counts))
        self.stages = [elements[sum(self.replicas[:k])] for k in range(len(counts))]

    @property
    def is_chain(self) -> bool:
        """Whether frames pass through all stages in order."""
        return self.ways == chain_ways(len(self.stages))

    @property
    def has_ways_to_all(self) -> bool:
        """Whether links lead from each stage to all later ones."""
        return self.ways >= chain_ways(len(self.stages))


def _require_lines(system: System) -> None:
    """Raise InputError for an element whose board has no line of the system's kind."""
    for element in system.elements:
        kinds = {line.kind for line in element.board.links}
        if system.link == "serial" and "mhuv2" in kinds:
            raise InputError(
                f"element '{element.name}': board '{element.board.name}' has doorbells and no "
                'serial line; use link = "shared"'
            )


def _require_mesh(system: System) -> None:
    """Raise InputError unless the elements reach the last row, and each has four lines."""
    mesh = system.mesh
    if mesh is None:
        return
    if not mesh.least <= mesh.count <= mesh.most:
        raise InputError(
            f"mesh: {counted(mesh.columns, 'column')} and {counted(mesh.rows, 'row')} need "
            f"{mesh.least} to {counted(mesh.most, 'element')}, but there are {mesh.count}; change "
            "the mesh, or give an element replicas"
        )
    for element in system.elements:
        lines = element.board.links[: len(SIDES)]
        if len(lines) < len(SIDES) or not all(line.reports_sending for line in lines):
            raise InputError(
                f"element '{element.name}': board '{element.board.name}' cannot route packets; a "
                f"mesh needs {len(SIDES)} [[links]] with is_combined or tx_irq, as corstone300 and "
                "mps2-an385 have them"
            )


def _require_apart(system: System) -> None:
    """Raise InputError for overlapping parts of the memory in which the frames are."""
    if system.shared is None:
        return
    frames = ("[shared]", system.shared)
    parts: list[tuple[str, Region | BoardMemory]] = []
    for element in system.elements:
        placement = element.board.placement(
            element.memory_mode or element.board.default_memory_mode
        )
        for name in sorted(set(placement.npu_parts().values()) | set(element.parts)):
            memory = element.board.memories[name]
            others = parts if name in element.parts else []
            for other, taken in (frames, *others):
                if memory.start_addr < taken.end_addr and taken.start_addr < memory.end_addr:
                    raise InputError(
                        f"element '{element.name}': its '{name}' overlaps {other}; give each "
                        "element a part of its own with memories in the system file"
                    )
        parts += [
            (f"that of '{element.name}'", element.board.memories[name]) for name in element.parts
        ]


def load_system(path: Path) -> System:
    """Read a system file; InputError names the file, the line and the field that is wrong."""
    facts = load_toml(path, "system file", SystemFacts)
    elements = [
        element for k, each in enumerate(facts.elements) for element in _elements(each, k, path)
    ]
    names = [element.name for element in facts.elements]
    size = facts.mesh
    mesh = None if size is None else ElementMesh(size.columns, size.rows, len(elements))
    asked = _Asked(facts.topology, tuple(facts.links), names, mesh)
    return _complete(facts.link, elements, asked, facts.shared)


def uniform_system(
    board: Board,
    npu: str | None,
    memory_mode: str | None,
    stages: int,
    link: LinkKind,
    accelerators: Sequence[str] = (),
    topology: Topology | None = None,
    replicas: Sequence[int] = (),
) -> System:
    """Return a system of equal elements, called stage_0 and so on.

    `replicas` are the elements of each stage, one of each if empty.
    """
    elements = [
        Element(name, board, npu, memory_mode, accelerators=tuple(accelerators), stage=k)
        for k, count in enumerate(replicas or [1] * stages)
        for name in replica_names(f"stage_{k}", count)
    ]
    return _complete(link, elements, _Asked(topology), None)


@dataclass(frozen=True)
class _Asked:
    """The links that a user asks for, and the names of the stages in them."""

    topology: Topology | None = None
    links: tuple[LinkFacts, ...] = ()
    names: Sequence[str] = ()
    mesh: ElementMesh | None = None


def _elements(facts: ElementFacts, stage: int, path: Path) -> list[Element]:
    is_file = facts.board.endswith(".toml")
    board = load_board(str(path.parent / facts.board) if is_file else facts.board)
    for name, region in facts.memories.items():
        board = _confined(board, name, region, facts.name)
    accelerators = tuple(_accelerator(accelerator, path) for accelerator in facts.accelerators)
    parts = tuple(facts.memories)
    return [
        Element(name, board, facts.npu, facts.memory_mode, parts, accelerators, stage)
        for name in replica_names(facts.name, facts.replicas)
    ]


def _accelerator(name: str, path: Path) -> str:
    """Return an accelerator's name, or the path of its folder seen from here."""
    return name if Path(name).name == name else str(path.parent / name)


def _confined(board: Board, name: str, region: Region, element: str) -> Board:
    """Return the board with only a part of one memory."""
    if name not in board.memories:
        raise InputError(
            f"element '{element}': board '{board.name}' has no memory '{name}'; it has: "
            f"{', '.join(board.memories)}"
        )
    memory = board.memories[name]
    if region.start_addr < memory.start_addr or region.end_addr > memory.end_addr:
        raise InputError(
            f"element '{element}': its part of '{name}' is not inside that memory, which goes from "
            f"0x{memory.start_addr:08x} to 0x{memory.end_addr - 1:08x}"
        )
    facts = board.model_dump()
    own = facts["memories"][name]
    if own["npu_start_addr"] is not None:
        own["npu_start_addr"] += region.start_addr - memory.start_addr
    own |= region.model_dump()
    qemu = facts["run"]["qemu"]
    if qemu and qemu["npu_memory"] == name:
        qemu["npu_base_addr"] += region.end_addr - memory.end_addr
    try:
        return Board.model_validate(facts)
    except ValidationError as error:
        why = describe_error(error.errors()[0], Board)
        raise InputError(
            f"element '{element}': its part of '{name}', 0x{region.start_addr:08x} to "
            f"0x{region.end_addr - 1:08x}, cannot be a memory of board '{board.name}': {why}"
        ) from None


def _complete(
    kind: LinkKind, elements: list[Element], asked: _Asked, shared: Region | None
) -> System:
    """Add the boards' facts: the speed of links, and the parts of a memory that all share."""
    if kind == "shared" and shared is None:
        elements, shared = _divided(elements)
    stages = {element.stage: element for element in reversed(elements)}
    ends = [(link.sender, link.receiver) for link in asked.links if link.sender is not None]
    if ends:
        pairs = [(asked.names.index(str(a)), asked.names.index(str(b))) for a, b in ends]
        ways = host_ways(len(stages)) | set(pairs)
    else:
        ways = graph_ways(len(stages)) if asked.topology == "graph" else chain_ways(len(stages))
        pairs = sorted(pair for pair in ways if HOST not in pair)
    facts = asked.links * len(pairs) if len(asked.links) == 1 else asked.links
    links = {
        pair: _link(kind, stages[pair[0]], facts[n] if facts else None)
        for n, pair in enumerate(pairs)
    }
    system = System(kind, elements, ways, links, shared, asked.mesh)
    _require_lines(system)
    _require_mesh(system)
    _require_apart(system)
    return system


def _link(kind: LinkKind, element: Element, facts: LinkFacts | None) -> LinkSpeed:
    """Return the link behind an element."""
    baud = element.board.links[-1].baud if element.board.links else None
    rate = float(element.clock_hz)  # copied, one byte per cycle
    if kind != "shared" and baud is not None:
        rate = baud / BITS_OF_A_BYTE
    if facts is None:
        return LinkSpeed(rate, 0.0)
    return LinkSpeed(facts.bytes_per_s or rate, facts.latency_us * 1e-6)


def _divided(elements: list[Element]) -> tuple[list[Element], Region]:
    """Divide the memory that QEMU can share: a part for each element, and one for the frames."""
    board = elements[0].board
    shared = board.run.qemu.shared if board.run.qemu else None
    if any(element.board.name != board.name for element in elements) or shared is None:
        raise UnsupportedError(
            "elements that share memory need to know it: name it with [shared] in the system file, "
            "and each element's own part of it in [elements.memories]"
        )
    name = shared.npu_memory
    whole = board.memories[name]
    size = whole.size_bytes // (len(elements) + 1) // _WINDOW * _WINDOW
    if not size:
        raise UnsupportedError(
            f"memory '{name}' of board '{board.name}' is too small for "
            f"{counted(len(elements), 'element')}; use fewer, or --link serial"
        )
    starts = (whole.start_addr + i * size for i in count())
    parts = [
        Element(
            element.name,
            _confined(board, name, Region(start_addr=start, size_bytes=size), element.name),
            element.npu,
            element.memory_mode,
            (name,),
            element.accelerators,
            element.stage,
        )
        for element, start in zip(elements, starts, strict=False)
    ]
    start = whole.start_addr + len(elements) * size
    return parts, Region(start_addr=start, size_bytes=size)


def system_schema() -> str:
    """Return the JSON schema of system files, for editors."""
    return schema_text(SystemFacts, "ethosgen system file")
