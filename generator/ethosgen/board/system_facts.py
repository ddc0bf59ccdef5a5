"""The tables of a system file: the elements of a pipeline, and the links between them."""

from typing import Annotated, Literal, Self, get_args

from pydantic import ConfigDict, Field, model_validator

from ethosgen.board.facts import MemoryMode
from ethosgen.board.fields import Addr, Size
from ethosgen.toml.tables import Table
from ethosgen.values.grammar import counted, unknown
from ethosgen.values.multiples import CACHE_LINE_BYTES

LinkKind = Literal["serial", "shared", "mesh"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
Topology = Literal["chain", "graph"]
TOPOLOGIES: tuple[Topology, ...] = get_args(Topology)
MOST_REPLICAS = 16
"""Replicas of an element; each needs a line of its neighbours' boards."""

TAKEN_NAMES = {"host": "this machine", "one_element": "the whole network on one element"}
"""Names that no element may have, and what they stand for."""

ElementName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class ElementFacts(Table):
    """One element: a board, and its differences from the board's file."""

    name: ElementName
    """Its name in messages; also the folder of its project."""
    board: str
    """The board's name, or the path of a .toml file, relative to the system file."""
    npu: str | None = None
    """The NPU [default: the board's]."""
    accelerators: list[str] = Field(default=[])
    """Your own accelerators for operators that the NPU leaves, in the order in which they are
    asked.

    They are names, or paths of folders relative to the system file."""
    memory_mode: MemoryMode | None = None
    """The memory mode [default: the board's]."""
    memories: dict[str, "Region"] = Field(default={})
    """The part of a memory that this element may use, by the memory's name."""
    replicas: int = Field(default=1, ge=1, le=MOST_REPLICAS)
    """The number of equal elements that do its stage, which take samples in turn.

    Their names end in _0, _1 and so on."""


class Region(Table):
    """A part of a memory."""

    start_addr: Addr
    """The first address."""
    size_bytes: Size
    """Its size."""

    @property
    def end_addr(self) -> int:
        """The first address after it."""
        return self.start_addr + self.size_bytes


class LinkFacts(Table):
    """A link between two elements."""

    model_config = ConfigDict(populate_by_name=True)

    sender: ElementName | None = Field(default=None, alias="from")
    """The element that sends frames over it, one before `to` in the list."""
    receiver: ElementName | None = Field(default=None, alias="to")
    """The element that receives them."""
    bytes_per_s: float | None = Field(default=None, gt=0)
    """Its bandwidth [default: that of the board's line]."""
    latency_us: float = Field(default=0, ge=0)
    """The time from the start of a frame to the arrival of its first byte."""

    @model_validator(mode="after")
    def _both_ends(self) -> Self:
        if (self.sender is None) != (self.receiver is None):
            raise ValueError("from and to belong together; give both or neither")
        if self.sender is None and self.bytes_per_s is None:
            raise ValueError("bytes_per_s is missing; a link without it needs from and to")
        return self


class MeshFacts(Table):
    """A mesh of elements: the first row from west to east, the next one back, and so on.

    The lines of each board lead north, east, south and west."""

    columns: int = Field(ge=1, le=16)
    """Its columns."""
    rows: int = Field(ge=1, le=15)
    """Its rows."""


class SystemFacts(Table):
    """A whole system file."""

    link: LinkKind = "serial"
    """How elements hand over frames: a serial line, shared memory with doorbells, or packets over
    the serial lines of a mesh."""
    topology: Topology | None = None
    """The ways of frames: "chain", through all elements in order, or "graph", directly to each
    element that reads them [default: chain, or the links' from and to]."""
    shared: Region | None = None
    """The memory for frames that all elements see at the same address, for link = "shared"."""
    mesh: MeshFacts | None = None
    """The size of the mesh, for link = "mesh"."""
    elements: list[ElementFacts] = Field(min_length=1)
    """The elements, in the order of the pipeline."""
    links: list[LinkFacts] = Field(default=[])
    """The links between elements.

    With `from` and `to`, frames take only these. Without, there is one for each pair of neighbours,
    or one for all [default: the boards' lines]."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = self._names()
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"elements: two are called '{twice}'; give each its own name")
        taken = next((name for name in names if name in TAKEN_NAMES), None)
        if taken:
            raise ValueError(
                f"elements: none can be called '{taken}', which stands for {TAKEN_NAMES[taken]}; "
                "give it another name"
            )
        _check_links(self)
        if self.shared is not None and self.shared.start_addr % CACHE_LINE_BYTES:
            raise ValueError(
                f"shared: start_addr must be a multiple of {CACHE_LINE_BYTES}, a cache line"
            )
        if self.shared is not None and self.link != "shared":
            raise ValueError('shared: is only for link = "shared"; delete it')
        if self.mesh is not None and self.link != "mesh":
            raise ValueError('mesh: is only for link = "mesh"; delete it, or write that link')
        if self.mesh is None and self.link == "mesh":
            raise ValueError("mesh: it is missing; add [mesh] with columns and rows")
        return self

    def _names(self) -> list[str]:
        return [
            name
            for facts in self.elements
            for name in dict.fromkeys((facts.name, *replica_names(facts.name, facts.replicas)))
        ]


def replica_names(name: str, replicas: int) -> list[str]:
    """Return the names of the elements that do a stage."""
    return [name] if replicas == 1 else [f"{name}_{i}" for i in range(replicas)]


def _check_links(facts: SystemFacts) -> None:
    """Raise ValueError unless all links name their ends, or none does and their number fits."""
    names = [element.name for element in facts.elements]
    named = [link for link in facts.links if link.sender is not None]
    if named and len(named) < len(facts.links):
        raise ValueError("links: some have from and to and some have not; give them to all")
    if named and facts.topology is not None:
        raise ValueError("topology: the links say with from and to where frames go; delete it")
    for number, link in enumerate(named):
        for field, name in (("from", link.sender), ("to", link.receiver)):
            if name not in names:
                raise ValueError(f"links[{number}].{field}: {unknown('element', str(name), names)}")
        if link.sender == link.receiver:
            raise ValueError(
                f"links[{number}]: it leads from '{link.sender}' to itself; name another element, "
                "or delete it"
            )
        if names.index(str(link.sender)) >= names.index(str(link.receiver)):
            raise ValueError(
                f"links[{number}]: '{link.sender}' is not before '{link.receiver}' in the list of "
                "elements, but each sends only to later ones; change their order"
            )
        if any((link.sender, link.receiver) == (o.sender, o.receiver) for o in named[:number]):
            raise ValueError(
                f"links[{number}]: another also leads from '{link.sender}' to '{link.receiver}'; "
                "delete one"
            )
    counts = (0, 1) if facts.topology == "graph" else (0, 1, len(names) - 1)
    if not named and len(facts.links) not in counts:
        neighbours = f"{len(names) - 1}, one for each pair of neighbours, or "
        raise ValueError(
            f"links: there are {len(facts.links)} for {counted(len(names), 'element')}; write "
            f"{'' if facts.topology == 'graph' else neighbours}one that stands for all, or give "
            "each from and to"
        )
