"""The parts of the suite: no room and no heavy test is forgotten, and changes choose what runs."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.changes import PYPROJECT, importers, requirements
from tests.support.choice import (
    EIGHTHS,
    TESTED,
    commits_of_tested,
    eighths_of,
    eighths_of_touched,
    eighths_of_untouched,
    files,
    is_chosen,
    is_core,
    is_drawn,
    is_everywhere,
    is_touched,
    needs_of,
)
from tests.support.modules import is_heavy
from tests.support.parts import (
    ACL,
    BROWSER,
    EVERY_TIME,
    EVERYWHERE,
    KERAS,
    PARTS,
    TORCH,
    TOSA,
    Part,
    part_of,
)

NEEDS = {
    r"needs_torch|environment\(.torch": TORCH,
    r"needs_tosa": TOSA,
    r"needs_keras": KERAS,
    r"needs_acl": ACL,
    r"needs_browser": BROWSER,
}
"""Marks of tests that need more than a light installation, a compiler and QEMU."""
ALL = {part.name for part in PARTS}
COMMITS = [f"{number:040x}" for number in range(EIGHTHS)]
FOLLOWING = {part.name for part in PARTS if not part.is_drawn}


def touched(*changed: str) -> set[str]:
    return {part.name for part in PARTS if is_touched(part, changed)}


def test_what_the_table_names_exists() -> None:
    named = [path for part in PARTS for path in (*part.tests, *part.sources)]
    paths = [path.partition(":")[0] for path in (*named, *EVERYWHERE, *EVERY_TIME)]
    assert not [path for path in paths if not (ROOT / path).exists()]


def leaves(path: Path, depth: int) -> list[Path]:
    """Return the files at a depth below a folder, and the folders there that are not left-overs."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    if all(file.suffix == ".pyc" for file in files):
        return []
    if depth == 0 or path.is_file():
        return [path]
    return [leaf for entry in path.iterdir() for leaf in leaves(entry, depth - 1)]


def sources() -> list[str]:
    """Return the top level, the rooms of the generator and the folders of templates."""
    project = tomllib.loads((ROOT / PYPROJECT).read_text())
    listed = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    folders = [ROOT / path.lstrip("/") for path in listed]
    depths = {"generator": 2, "templates": 1}
    paths = [leaf for folder in folders for leaf in leaves(folder, depths.get(folder.name, 0))]
    return [path.relative_to(ROOT).as_posix() + "/" * path.is_dir() for path in paths]


@pytest.mark.parametrize("path", sources())
def test_each_source_runs_a_part_or_is_covered_every_time(path: str) -> None:
    named = [source for part in PARTS for source in (*part.sources, *part.tests)]
    named += [*EVERYWHERE, *EVERY_TIME]
    assert any(prefix.startswith(path) or path.startswith(prefix) for prefix in named)


@pytest.mark.parametrize(("mark", "need"), NEEDS.items())
def test_what_needs_an_environment_is_in_a_part_that_installs_it(mark: str, need: str) -> None:
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    marked = [path for path in tests if re.search(mark, path.read_text())]
    parts = {path: part_of(path.relative_to(ROOT).as_posix()) for path in marked}
    assert parts
    assert not [path for path, part in parts.items() if part is None or need not in part.needs]


def test_make_installs_what_parts_need() -> None:
    assert needs_of(None, COMMITS[0]) == sorted(NEEDS.values())
    assert needs_of(["docs/place.md"], COMMITS[0]) == [BROWSER]
    assert not needs_of(["README.md"], COMMITS[0])
    subprocess.run(["make", "-n", *NEEDS.values()], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("changed", "some", "others"),
    [
        (["docs/place.md"], {"pages"}, ALL - {"pages"}),
        (["generator/ethosgen/plots/front.py"], {"pages"}, {"boards", "kernels", "torch"}),
        (
            ["generator/ethosgen/applications/kws.py"],
            {"applications", "plug-ins"},
            {"corpus", "kernels"},
        ),
        (["generator/ethosgen/backend/ethosu/simulator/memory.py"], {"corpus"}, {"kernels"}),
        (["generator/ethosgen/backend/ethosu/offload/vela.py"], {"corpus", "tosa"}, {"kernels"}),
        (["pyproject.toml", "pyproject.toml: ethos-u-vela"], FOLLOWING | {"corpus"}, {"targets"}),
        (["pyproject.toml", "pyproject.toml: numpy"], FOLLOWING, ALL - FOLLOWING),
        (["pyproject.toml"], {"distribution"}, {"corpus", "kernels", "torch"}),
        (["generator/ethosgen_place/simulation.py"], {"meshes"}, {"pages", "torch"}),
        (["tests/frontend/torch/test_torch_network.py"], {"torch"}, {"onnx"}),
        (["templates/kernels/ethosgen_helium.c"], {"kernels", "boards"}, {"meshes"}),
        (["generator/ethosgen/values/network.py"], set(), ALL),
        (["README.md"], set(), ALL),
    ],
)
def test_a_change_runs_the_parts_that_it_touches(
    changed: Sequence[str], some: set[str], others: set[str]
) -> None:
    assert some <= touched(*changed) and not others & touched(*changed)


def test_a_helper_runs_what_imports_it() -> None:
    reached = importers(["tests/support/catalogue/recurrent.py"])
    assert {"tests/frontend/test_writer.py", "bench/shapes/shape.py"} <= {*reached}
    assert "tests/corpus/wild/test_wild.py" in reached, "through fragments.py"
    assert "tests/place/test_files.py" not in reached
    assert "tests/conftest.py" not in importers(["tests/support/parts.py"])


def test_a_changed_line_of_pyproject_names_its_requirement() -> None:
    lines = (
        '-    "numpy>=2,<3",\n+    "numpy>=2.1,<3",  # why\n+    "/docs", "/tests",\n+line = 1\n'
    )
    assert requirements(lines) == ["pyproject.toml: numpy"]


WITHOUT_CORE = {"keras", "meshes", "origins", "pages", "quantization", "torch", "tosa"}
"""Parts whose heavy tests need more than a light installation."""


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_make_test_runs_some_of_each_part(part: Part) -> None:
    assert bool(part.core or part.is_drawn) == (part.name not in WITHOUT_CORE)
    for name in part.core:
        file, _, test = name.partition("::")
        assert part_of(file) == part
        assert f"def {test.partition('[')[0]}(" in (ROOT / file).read_text() or not test
        assert is_core(part, f"{name}::test[1]" if not test else name, COMMITS[0])
    assert not is_core(PARTS[0], "tests/accelerators/test_overlap.py::test_it", COMMITS[0])


@pytest.mark.slow
def test_the_parameters_of_core_tests_exist() -> None:
    named = sorted(name for part in PARTS for name in part.core if "[" in name)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-qq"]
    done = subprocess.run([*command, *named], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("text", "is_all"),
    [
        ("pytestmark = needs_build\n", True),
        ("import x\npytestmark = [\n    needs_extra('onnx'),\n    pytest.mark.slow,\n]\n", True),
        ("pytestmark = needs_extra('sweep')\n", False),
        ("@needs_qemu\ndef test_one() -> None: ...\n", False),
    ],
)
def test_a_file_that_is_heavy_as_a_whole_is_known_before_it_is_imported(
    text: str, is_all: bool
) -> None:
    assert is_heavy(text) == is_all


@pytest.mark.parametrize(("touched", "eighths"), [(1, 8), (4, 8), (5, 6), (8, 4), (len(PARTS), 1)])
def test_the_more_parts_a_change_touches_the_less_of_each_runs(touched: int, eighths: int) -> None:
    changed = [part.tests[0] for part in sorted(PARTS, key=lambda part: part.is_drawn)[:touched]]
    assert eighths_of_touched(changed) == eighths
    assert eighths_of_touched(None) == EIGHTHS


def test_a_part_may_have_passed_later_than_the_rest() -> None:
    assert commits_of_tested("abc\ndef corpus\n") == ("abc", {"corpus": "def"})
    assert commits_of_tested("") == ("", {})
    corpus = next(part for part in PARTS if part.name == "corpus")
    assert eighths_of_untouched(corpus, None) == EIGHTHS // 4
    everywhere = ["generator/ethosgen/values/network.py"]
    plain = next(part for part in PARTS if not part.is_drawn)
    assert eighths_of_untouched(plain, everywhere) == 1 and not eighths_of_untouched(plain, [])


def test_each_line_of_tested_names_a_part() -> None:
    first, later = commits_of_tested(TESTED.read_text())
    assert len(first) == 40 and later.keys() <= {part.name for part in PARTS}


def test_tests_of_a_file_run_together_unless_their_part_is_drawn() -> None:
    changed = ["generator/ethosgen/values/network.py"]
    for part in PARTS:
        tests = [f"{part.tests[0]}::test[{number}]" for number in range(100)]
        chosen = {is_chosen(part, test, COMMITS[0], changed) for test in tests}
        assert len(chosen) == 1 + part.is_drawn


def test_what_needs_an_environment_is_installed_if_one_of_its_files_runs() -> None:
    changed = ["generator/ethosgen/values/network.py"]
    for commit in COMMITS:
        running = {
            need
            for part in PARTS
            for need in part.needs
            if any(is_chosen(part, file, commit, changed) for file in files(part))
        }
        assert needs_of(changed, commit) == sorted(running)
    assert all(files(part) for part in PARTS)


def test_an_unknown_change_runs_everything() -> None:
    assert all(is_touched(part, None) and is_everywhere(None) for part in PARTS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_an_eighth_of_each_part_runs_for_what_is_below_all(part: Part) -> None:
    tests = [f"{part.tests[0]}test_{number}.py::test[{number}]" for number in range(100)]
    drawn = 2 if part.is_drawn else 0
    for changed, eighths in (
        (["generator/ethosgen/values/network.py"], drawn or 1),
        (["README.md"], drawn),
        ([], drawn),
    ):
        assert eighths_of(part, changed) == eighths
        for test in tests:
            assert sum(is_drawn(part, test, commit, eighths) for commit in COMMITS) == eighths
    assert eighths_of(part, [part.tests[0]]) == EIGHTHS
    wide = [path for other in PARTS for path in other.tests]
    assert eighths_of(part, wide) == (EIGHTHS if part.runs_whole else drawn or 1)
    core = {test for test in tests if is_core(part, test, COMMITS[0])}
    assert core <= {test for test in tests if is_chosen(part, test, COMMITS[0], [])}
