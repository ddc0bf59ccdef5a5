"""Imports make no circle, each class has a name of its own, and names say what they hold."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

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

SOURCES = (
    "accelerators",
    "bench",
    "demo",
    "generator",
    "templates",
    "tests",
    "tools",
    "zephyr_app",
)
VAGUE = {"found", "given", "made", "one"}
_WORD = rf"\b(?:{'|'.join(VAGUE)})\b"
VAGUE_BINDING = re.compile(rf"(?:\b(?:as|case|def)\s+|\*){_WORD}|{_WORD}\s*(?:[:=,)\]}}]|in\b)")
"""How a file looks that may give one of these names; most others need not be parsed."""


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


def bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names that a file gives to values, parameters and functions, and their lines.

    A name that it imports is another file's.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield name, node.lineno


def test_names_say_what_they_hold() -> None:
    paths = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(paths) > 1500, "the sources were not found"
    vague = []
    for path in paths:
        text = path.read_text()
        if path.is_relative_to(ROOT / "templates") and "{{ " in text:
            continue  # Jinja, not Python yet
        if VAGUE_BINDING.search(text):
            place = path.relative_to(ROOT)
            names = bound_names(ast.parse(text))
            vague += [f"{place}:{line}: {name}" for name, line in names if name in VAGUE]
    assert not vague, "call them by what they hold:\n" + "\n".join(vague)


@pytest.mark.parametrize(
    "source",
    [
        "one = 1",
        "one, (two, *three) = values",
        "for one in values: pass",
        "with open(path) as one: pass",
        "try: pass\nexcept ValueError as one: pass",
        "ones = [one for one in values]",
        "key = lambda one: one.name",
        "if (one := values.pop()): pass",
        "def one(): pass",
        "def first(*, one=1): pass",
        "def first(*one): pass",
        "async def first(**one): pass",
        "class Pair:\n    one: int",
        "self.one = 1",
        "match values:\n    case [1, *one]: pass",
        "match values:\n    case {'a': one}: pass",
        "match values:\n    case int() as one: pass",
    ],
)
def test_each_binding_is_seen(source: str) -> None:
    assert VAGUE_BINDING.search(source)
    assert [line for name, line in bound_names(ast.parse(source)) if name == "one"]


def test_a_name_that_is_read_or_imported_is_not_bound() -> None:
    source = "from other import one\nprint(one, other.one, call(one=1))"
    assert not [*bound_names(ast.parse(source))]
