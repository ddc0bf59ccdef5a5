"""What type checkers see of the package: the functions' own types, also of parts."""

import ast
from pathlib import Path

import pytest

import ethosgen
from tests import ROOT

STUB = ROOT / "generator" / "ethosgen" / "__init__.pyi"
SNIPPET = """\
import ethosgen
from ethosgen.relax import Support, support_report

report = ethosgen.place("graph.json", mesh=(4, 4))
reveal_type(report)
reveal_type(ethosgen.sweep("study.toml"))
reveal_type(support_report)
reveal_type(ethosgen.simulate("net.tflite", samples=3).passed)
ethosgen.simulat
ethosgen.simulate("net.tflite", sample=3)
ethosgen.place("graph.json", mesh="4x4")
"""
SEEN = (
    (5, 'note: Revealed type is "ethosgen_place.report.PlacementReport"'),
    (6, 'note: Revealed type is "ethosgen_sweep.report.SweepReport"'),
    (7, "ethosgen_relax.report.Support]"),
    (8, 'note: Revealed type is "bool"'),
    (9, "error: Module has no attribute"),
    (10, 'error: Unexpected keyword argument "sample"'),
    (11, 'error: Argument "mesh" to "place" has incompatible type "str"'),
)
"""What mypy says of a line."""


def test_the_stub_has_the_names_of_the_package() -> None:
    tree = ast.parse(STUB.read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    exported = sorted(alias.asname or "" for node in imports for alias in node.names)
    assert exported == sorted(ethosgen.__all__)


def test_each_package_says_that_it_has_types() -> None:
    for folder in (ROOT / "generator").glob("ethosgen*"):
        assert (folder / "py.typed").is_file(), folder


@pytest.mark.slow
def test_type_checkers_see_real_types(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    path = tmp_path / "snippet.py"
    path.write_text(SNIPPET)
    said, _, status = api.run([str(path), "--config-file", str(ROOT / "pyproject.toml")])
    lines = said.splitlines()
    for number, expected in SEEN:
        assert any(f"snippet.py:{number}: " in line and expected in line for line in lines), said
    assert status == 1 and lines[-1].startswith("Found 3 errors")
