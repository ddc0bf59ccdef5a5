"""The imports of the package make no circle, and each class has a name of its own."""

import ast
from collections import defaultdict

import pytest

from tests import ROOT
from tests.support.structure import (
    PACKAGES,
    WHEEL,
    House,
    circle_of,
    describe,
    houses,
    module_imports,
)


def test_no_modules_import_each_other_in_a_circle() -> None:
    imports = module_imports()
    assert len(imports) > 500, "the modules were not found"
    assert "ethosgen.flow.planning" in imports["ethosgen.flow"], "lazy imports count"
    assert not circle_of(imports), " -> ".join(circle_of(imports))


@pytest.mark.parametrize("house", list(houses()), ids=lambda house: str(house.package))
def test_no_rooms_import_each_other_in_a_circle(house: House) -> None:
    assert not house.circle(), " -> ".join(house.circle())


def test_parts_of_the_wheel_stand_beside_each_other_on_the_core() -> None:
    (wheel,) = (house for house in houses() if house.package == WHEEL)
    core, *parts = PACKAGES
    assert parts and wheel.arrows == {part: {core} for part in parts}


def test_the_libraries_of_kernels_stand_beside_each_other() -> None:
    (libraries,) = (h for h in houses() if h.package == "ethosgen.aot.libraries")
    used = {room: {*below} for room, below in libraries.arrows.items() if room != "framework"}
    assert used == {room: {"framework"} for room in ("dsp", "floats", "helium", "thumb")}


def test_floors_and_circles_are_described() -> None:
    tower = House("tower", {"roof": frozenset({"hall", "cellar"}), "hall": frozenset({"cellar"})})
    assert tower.floors() == {"cellar": 1, "hall": 2, "roof": 3}
    assert list(describe(tower))[1] == "   3  roof -> cellar, hall"
    ring = House("ring", {"one": frozenset({"two"}), "two": frozenset({"one"})})
    assert ring.circle() in (["one", "two", "one"], ["two", "one", "two"])
    assert "circle" in list(describe(ring))[1]


def test_no_two_classes_have_the_same_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "generator").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 500, "the classes were not found"
    shared = (f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1)
    assert not (first := next(shared, "")), f"one word, one meaning; {first}"
