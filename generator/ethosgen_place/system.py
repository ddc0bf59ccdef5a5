"""The system: a mesh of elements, each a processor with memory, and links between neighbours."""

from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from ethosgen.stages.task_graph import MOST, MOST_ELEMENTS, Figure, GraphTable
from ethosgen.values.grammar import counted
from ethosgen_place.arrays import Floats, Ints

Rate = Annotated[float, Field(gt=0, le=1e15)]
Share = Annotated[float, Field(ge=0, lt=1)]
Joules = Annotated[float, Field(ge=0, le=1)]
Coordinate = Annotated[int, Field(ge=0, lt=MOST_ELEMENTS)]


def _as_span(value: Any) -> Any:
    """Read a single coordinate as a span of one."""
    return (value, value) if isinstance(value, int) else value


Span = Annotated[
    tuple[Coordinate, Coordinate],
    BeforeValidator(_as_span, json_schema_input_type=int | tuple[int, int]),
    Field(strict=False),
]
"""A coordinate, or the first and the last of several."""

Place = Annotated[tuple[Coordinate, Coordinate], Field(strict=False)]
"""x and y of an element."""

STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))
"""The steps in x and y to the neighbours: east, west, south and north."""

Side = Literal["west", "east", "north", "south"]


def _port_kind(ports: Any) -> str:
    return "[side]" if isinstance(ports, str) else "[places]"


PortPlaces = Annotated[
    Annotated[Side, Tag("[side]")]
    | Annotated[
        tuple[Place, ...], Field(min_length=1, max_length=1024, strict=False), Tag("[places]")
    ],
    Discriminator(_port_kind),
]
"""A side of the mesh, or elements."""


class Mesh(GraphTable):
    """The size of the mesh; element (0, 0) is in the north-west."""

    width: Annotated[int, Field(ge=1, le=MOST_ELEMENTS)]
    """The elements of a row: x is from 0 to width - 1, eastwards."""
    height: Annotated[int, Field(ge=1, le=MOST_ELEMENTS)]
    """The rows: y is from 0 to height - 1, southwards."""

    @model_validator(mode="after")
    def _not_too_large(self) -> Self:
        if self.elements > MOST_ELEMENTS:
            raise ValueError(
                f"{self} are {counted(self.elements, 'element')}, more than the "
                f"{MOST_ELEMENTS:,} that are possible; choose a smaller mesh"
            )
        return self

    @property
    def elements(self) -> int:
        """The number of elements."""
        return self.width * self.height

    def neighbour(self, element: int, step: tuple[int, int]) -> int | None:
        """Return the element a step in x and y further; None outside the mesh."""
        y, x = divmod(element, self.width)
        x, y = x + step[0], y + step[1]
        return y * self.width + x if 0 <= x < self.width and 0 <= y < self.height else None

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


class MeshElement(GraphTable):
    """The properties of all elements, except where an override changes them."""

    clock_hz: Rate = 400e6
    """The clock of the processor and its accelerator."""
    memory_bytes: Annotated[int, Field(ge=1, le=MOST)] = 1 << 20
    """Its memory for tasks."""


class Link(GraphTable):
    """The properties of all links: one to each neighbour in each direction."""

    bytes_per_s: Rate = 1e9
    """Its bandwidth."""
    latency_s: Annotated[float, Field(ge=0, le=1)] = 20e-9
    """The time from the start of a transfer on it until the next link can start."""

    def transfer_s(self, links: int, size: int) -> float:
        """Return the seconds of a transfer that never waits, by virtual cut-through; 0 for none."""
        return links * self.latency_s + size / self.bytes_per_s if size else 0.0

    def transfers_s(self, links: Ints, sizes: Ints) -> Floats:
        """Return the seconds of several transfers, each of at least one byte."""
        return links * self.latency_s + sizes / self.bytes_per_s


class Ports(GraphTable):
    """The elements with a port: an additional link, into the mesh or out of it."""

    input: PortPlaces = "north"
    """Ports through which the network's inputs enter: all elements of a side, or these, as [x, y].
    An input takes the port with the shortest path."""
    output: PortPlaces = "north"
    """Ports through which its outputs leave, in the same form."""


class Override(GraphTable):
    """A rectangle of elements that differ; later ones win."""

    x: Span
    """Their x, or the first and the last one."""
    y: Span
    """Their y, or the first and the last one."""
    dead: bool = False
    """Whether they cannot do any task; their routers still pass transfers on."""
    clock_hz: Rate | None = None
    """Their clock."""
    memory_bytes: Figure | None = None
    """Their memory."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for name, (first, last) in (("x", self.x), ("y", self.y)):
            if first > last:
                raise ValueError(f"{name}: the first, {first}, is after the last, {last}")
        return self


class BrokenLink(GraphTable):
    """A pair of links that do not work: transfers take another way."""

    between: Annotated[tuple[Place, Place], Field(strict=False)]
    """Two elements that are neighbours, as [x, y]; both directions are broken."""


class Defects(GraphTable):
    """Defects that are drawn: the same seed gives the same ones."""

    seed: Annotated[int, Field(ge=0, le=MOST)] = 0
    """The seed."""
    dead_rate: Share = 0.0
    """The probability of each element to be dead."""
    broken_link_rate: Share = 0.0
    """The probability of each pair of links between neighbours to be broken."""


class MeshEnergy(GraphTable):
    """The energy of work and of transfers, in joules; 0 if it does not count."""

    cycle_j: Joules = 0.0
    """Of a cycle of an element that works."""
    multiplication_j: Joules = 0.0
    """Of one of the multiplications that the task graph states."""
    link_byte_j: Joules = 0.0
    """Of a byte on a link."""


class MeshSystem(GraphTable):
    """A whole elements file."""

    schema_version: Literal[1] = 1
    """The version of this format."""
    title: str = ""
    """A name for people."""
    mesh: Mesh
    """Its size [default: from --mesh]."""
    element: MeshElement = MeshElement()
    """The properties of all elements."""
    link: Link = Link()
    """The properties of all links."""
    ports: Ports = Ports()
    """The ports for inputs and outputs."""
    override: Annotated[tuple[Override, ...], Field(strict=False)] = ()
    """Elements that differ."""
    broken_link: Annotated[tuple[BrokenLink, ...], Field(strict=False)] = ()
    """Links that do not work."""
    defects: Defects = Defects()
    """More elements and links that do not work, drawn by a seed."""
    energy: MeshEnergy = MeshEnergy()
    """What work and transfers cost."""

    @model_validator(mode="after")
    def _inside(self) -> Self:
        for index, override in enumerate(self.override):
            for name, last, size in (
                ("x", override.x[1], self.mesh.width),
                ("y", override.y[1], self.mesh.height),
            ):
                if last >= size:
                    raise ValueError(
                        f"override[{index}].{name}: {last} is outside the mesh of {self.mesh}, "
                        f"whose last {name} is {size - 1}"
                    )
        for index, link in enumerate(self.broken_link):
            (x0, y0), (x1, y1) = link.between
            if abs(x0 - x1) + abs(y0 - y1) != 1:
                raise ValueError(
                    f"broken_link[{index}].between: ({x0}, {y0}) and ({x1}, {y1}) are not "
                    "neighbours; name two elements that a link joins"
                )
            if max(x0, x1) >= self.mesh.width or max(y0, y1) >= self.mesh.height:
                raise ValueError(
                    f"broken_link[{index}].between: it is outside the mesh of {self.mesh}"
                )
        for name, ports in (("input", self.ports.input), ("output", self.ports.output)):
            for index, place in enumerate(() if isinstance(ports, str) else ports):
                where = f"ports.{name}[{index}]"
                if place[0] >= self.mesh.width or place[1] >= self.mesh.height:
                    raise ValueError(
                        f"{where}: element {place} is outside the mesh of {self.mesh}; the last "
                        f"one is ({self.mesh.width - 1}, {self.mesh.height - 1})"
                    )
                if place in ports[:index]:
                    raise ValueError(f"{where}: element {place} is named twice; remove one")
        return self

    def place(self, element: int) -> tuple[int, int]:
        """Return x and y of an element; elements count from (0, 0) row by row."""
        return element % self.mesh.width, element // self.mesh.width

    @cached_property
    def clocks(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The clock of each element in Hz, 0 for a dead one."""
        clocks = self._each("clock_hz", np.float64)
        clocks[~self.alive] = 0
        return clocks

    @cached_property
    def memories(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The memory of each element in bytes, -1 for a dead one."""
        memories = self._each("memory_bytes", np.int64)
        memories[~self.alive] = -1
        return memories

    @cached_property
    def alive(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each element can do tasks."""
        alive = np.ones((self.mesh.height, self.mesh.width), bool)
        for override in self.override:
            alive[_area(override)] = not override.dead
        drawn = self._draw(0).random(self.mesh.elements) < self.defects.dead_rate
        return alive.ravel() & ~drawn & self.connected

    @cached_property
    def broken_pairs(self) -> frozenset[tuple[int, int]]:
        """The neighbours between which no link works, the smaller number first."""
        width, number = self.mesh.width, np.arange(self.mesh.elements)
        east, south = number[number % width < width - 1], number[:-width]
        first, second = np.concatenate((east, south)), np.concatenate((east + 1, south + width))
        drawn = self._draw(1).random(len(first)) < self.defects.broken_link_rate
        pairs = set(zip(first[drawn].tolist(), second[drawn].tolist(), strict=True))
        for link in self.broken_link:
            smaller, larger = sorted(y * width + x for x, y in link.between)
            pairs.add((smaller, larger))
        return frozenset(pairs)

    @cached_property
    def connected(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each element is in the largest part of the mesh that working links join."""
        parts = np.full(self.mesh.elements, -1 if self.broken_pairs else 0)
        for start in range(self.mesh.elements):
            if parts[start] < 0:
                self._join(start, parts)
        return np.asarray(parts == np.bincount(parts).argmax())

    def _join(self, start: int, parts: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Number the part of the mesh around an element by that element."""
        parts[start], waiting = start, [start]
        while waiting:
            here = waiting.pop()
            for step in STEPS:
                there = self.mesh.neighbour(here, step)
                if there is None or parts[there] >= 0:
                    continue
                if (min(here, there), max(here, there)) not in self.broken_pairs:
                    parts[there] = start
                    waiting.append(there)

    def _draw(self, kind: int) -> np.random.Generator:
        return np.random.default_rng([self.defects.seed, kind])

    def _each(self, field: str, dtype: Any) -> np.ndarray[Any, Any]:
        shape = self.mesh.height, self.mesh.width
        values = np.full(shape, getattr(self.element, field), dtype)
        for override in self.override:
            value = getattr(override, field)
            if value is not None:
                values[_area(override)] = value
        return values.ravel()


def _area(override: Override) -> tuple[slice, slice]:
    return slice(override.y[0], override.y[1] + 1), slice(override.x[0], override.x[1] + 1)
