"""The page for reviewers in each library: complete, and true to the manifest."""

import hashlib
import json
import re
from dataclasses import replace

import pytest

from ethosgen.board import load_board
from ethosgen.board.any_board import any_board
from ethosgen.platforms import CSOLUTION, LIBRARY_ONLY, ZEPHYR
from ethosgen.project import Project, render
from ethosgen.project.review import REVIEW
from ethosgen.values.plan import Check, CpuOperator
from tests.support.programs import make_program

PAGES = {
    "bare metal": lambda: render(make_program(), load_board("corstone300")),
    "Zephyr": lambda: render(make_program(), load_board("corstone300"), platform=ZEPHYR),
    "solution": lambda: render(make_program(), load_board("corstone300"), platform=CSOLUTION),
    "pack": lambda: render(
        make_program(), load_board("corstone300"), platform=CSOLUTION, pack="Acme::Net@1.0.0"
    ),
    "library": lambda: render(make_program(), any_board(), platform=LIBRARY_ONLY),
    "two networks": lambda: render(
        [make_program(), replace(make_program(), name="other")], load_board("corstone300")
    ),
}


def page_of(project: Project) -> str:
    return project.files[REVIEW].decode()


def rows_of(page: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE))


@pytest.mark.parametrize("kind", PAGES)
def test_each_file_has_a_purpose_and_nothing_is_left_out(kind: str) -> None:
    project = PAGES[kind]()
    rows = rows_of(page_of(project))
    assert set(rows) == {path.removeprefix("model/") for path in project.library}
    for path, purpose in rows.items():
        assert len(purpose.split()) >= 3 or path == "REVIEW.md", path
        assert purpose != "Part of the library.", path
    assert project.digest in page_of(project)


def test_the_facts_are_those_of_the_files() -> None:
    project = PAGES["bare metal"]()
    page = page_of(project)
    manifest = json.loads(project.files["model/ethosgen.json"])
    assert hashlib.sha256(project.files["model/plus_one.tflite"]).hexdigest() in page
    assert manifest["files"][REVIEW] == hashlib.sha256(project.files[REVIEW]).hexdigest()
    header = project.files["model/plus_one.h"].decode()
    (arena,) = re.findall(r"_ARENA_BYTES (\d+)", header)
    assert f"{int(arena):,} bytes of arena" in page
    assert f"(interrupt {load_board('corstone300').npu.irq} on this board)" in page
    assert "ethosgen verify model/plus_one.tflite --board corstone300 --npu " in page
    assert "No known erratum" in page and "Data cache" in page


def test_a_page_says_only_what_applies() -> None:
    page = page_of(PAGES["library"]())
    assert "ethosgen build ." not in page and "--board BOARD" in page
    assert "several threads" not in page.lower()
    assert "Several threads" in page_of(PAGES["Zephyr"]())
    assert "only one of them runs at a time" in page_of(PAGES["two networks"]())


def test_errata_and_the_check_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    program = make_program()
    kept = CpuOperator(0, "MEAN", "sum", "it averages the wrong axes", "mean-five-dimensions")
    summary = replace(program.summary(), cpu_operators=(kept,), check=Check("tflm", 5, 50))
    monkeypatch.setattr(type(program), "summary", lambda _self: summary)
    page = page_of(render(program, load_board("corstone300")))
    assert (
        "- MEAN (`sum`): it averages the wrong axes (`ethosgen explain mean-five-dimensions`)"
        in page
    )
    assert "50 outputs of 5 samples equal to those of `tflm`" in page
    assert "No known erratum" not in page
