"""The structure of the packages in the wheel, from their imports alone: `make structure`.

Every import counts: those inside functions and those for type checkers too. A room is a package, or
a module beside packages; an arrow leads from a room to one that it imports. The floor of a room is
one above the highest room that it imports.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

import grimp

from tests import ROOT

PACKAGES = tuple(path.name for path in sorted((ROOT / "generator").glob("ethosgen*")))
WHEEL = "the wheel"
"""The house whose rooms are the packages."""

Arrows = Mapping[str, frozenset[str]]
"""What each room imports."""


@dataclass(frozen=True)
class House:
    """The rooms of one package and their arrows."""

    package: str
    arrows: Arrows

    def circle(self) -> list[str]:
        """Return the first circle of rooms, [] if there is none."""
        return circle_of(self.arrows)

    def floors(self) -> Mapping[str, int]:
        """Return each room's floor, from 1; ValueError if there is a circle."""
        floors: dict[str, int] = {}
        for room in TopologicalSorter(self.arrows).static_order():
            floors[room] = 1 + max(
                (floors[below] for below in self.arrows.get(room, ())), default=0
            )
        return floors


def circle_of(arrows: Arrows) -> list[str]:
    """Return the first circle, as a list that begins and ends with the same name; [] for none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle[::-1]
    return []


@cache
def module_imports() -> Arrows:
    """Return the modules of the packages, and what each imports of them."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    return {
        module: frozenset(graph.find_modules_directly_imported_by(module))
        for module in sorted(graph.modules)
    }


def houses() -> Iterator[House]:
    """Yield the wheel, then each package within it that has several rooms."""
    arrows: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for importer, imported in module_imports().items():
        for name in imported:
            package, *rooms = _divide(importer, name)
            if len(rooms) == 2:
                arrows[package][rooms[0]].add(rooms[1])
    for package, below in sorted(arrows.items()):
        yield House(package, {room: frozenset(lower) for room, lower in sorted(below.items())})


def _divide(importer: str, imported: str) -> list[str]:
    """Return the package that two modules share, and the room of each where they part."""
    above, below = importer.split("."), imported.split(".")
    shared = next(
        (i for i, (a, b) in enumerate(zip(above, below, strict=False)) if a != b),
        min(len(above), len(below)),
    )
    return [
        ".".join(above[:shared]) or WHEEL,
        *above[shared : shared + 1],
        *below[shared : shared + 1],
    ]


def describe(house: House) -> Iterator[str]:
    """Yield a house in lines, from the top floor down."""
    circle = house.circle()
    yield f"{house.package}: {sum(map(len, house.arrows.values()))} arrows"
    if circle:
        yield f"  circle: {' -> '.join(circle)}"
        return
    floors = house.floors()
    for floor in range(max(floors.values()), 0, -1):
        for room in sorted(name for name, its in floors.items() if its == floor):
            below = ", ".join(sorted(house.arrows.get(room, ())))
            yield f"  {floor:>2}  {room}" + f" -> {below}" * bool(below)


def main() -> None:
    """Print packages, floors, arrows and circles."""
    circle = circle_of(module_imports())
    print(
        f"{len(module_imports())} modules; {'in a circle: ' * bool(circle)}"
        f"{' -> '.join(circle) or 'no circle'}"
    )
    for house in houses():
        print()
        print("\n".join(describe(house)))


if __name__ == "__main__":
    main()
