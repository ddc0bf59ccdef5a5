"""The parts of the suite: no room and no heavy test is forgotten, and changes choose what runs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.parts import (
    EVERY_TIME,
    EVERYWHERE,
    PARTS,
    QUARTERS,
    Part,
    is_drawn,
    is_touched,
    part_of,
)

GENERATOR = ROOT / "generator" / "ethosgen"
NEEDING = ("environment", "acl", "browser")
"""Markers of tests that need more than a light installation, a compiler and QEMU."""


def touched(*changed: str) -> set[str]:
    return {part.name for part in PARTS if is_touched(part, changed)}


def test_what_the_table_names_exists() -> None:
    named = [path for part in PARTS for path in (*part.tests, *part.sources)]
    missing = [path for path in (*named, *EVERYWHERE, *EVERY_TIME) if not (ROOT / path).exists()]
    assert not missing


@pytest.mark.parametrize(
    "room", [p.name for p in GENERATOR.iterdir() if p.is_dir() and any(p.glob("*.py"))]
)
def test_each_room_runs_a_part_or_is_covered_every_time(room: str) -> None:
    path = f"generator/ethosgen/{room}/"
    sources = [source for part in PARTS for source in part.sources]
    every = (*EVERYWHERE, *(f"{one}/" for one in EVERY_TIME))
    assert any(source.startswith(path) or path.startswith(source) for source in (*sources, *every))


def needing(path: Path) -> bool:
    source = path.read_text()
    return any(f"pytest.mark.{marker}" in source for marker in NEEDING)


@pytest.mark.parametrize(
    "path",
    [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if needing(path) and path.name not in ("test_markers.py", "test_parts.py")
    ],
)
def test_what_needs_an_environment_is_in_a_part(path: str) -> None:
    assert part_of(path), "a part of tests/support/parts.py has it"


@pytest.mark.parametrize(
    ("changed", "some", "others"),
    [
        (["docs/place.md"], {"pages"}, {"kernels", "torch"}),
        (["generator/ethosgen/mesh/simulation.py"], {"meshes"}, {"pages", "torch"}),
        (["tests/frontend/torch/test_torch_network.py"], {"torch"}, {"onnx"}),
        (["templates/kernels/ethosgen_helium.c"], {"kernels", "boards"}, {"meshes"}),
        (["generator/ethosgen/values/network.py"], {part.name for part in PARTS}, set()),
        (["README.md"], set(), {part.name for part in PARTS}),
    ],
)
def test_a_change_runs_the_parts_that_it_touches(
    changed: Sequence[str], some: set[str], others: set[str]
) -> None:
    assert some <= touched(*changed) and not others & touched(*changed)


def test_an_unknown_change_runs_everything() -> None:
    assert all(is_touched(part, None) for part in PARTS)


@pytest.mark.parametrize("part", [p for p in PARTS if p.is_drawn], ids=lambda part: part.name)
def test_each_test_that_is_drawn_is_in_one_quarter(part: Part) -> None:
    tests = [f"{part.tests[0]}test_file.py::test[{number}]" for number in range(100)]
    commits = [f"{number:040x}" for number in range(QUARTERS)]
    for test in tests:
        assert sum(is_drawn(part, test, commit) for commit in commits) == 1
