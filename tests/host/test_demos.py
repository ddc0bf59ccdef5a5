"""The demos: their files exist and are copied, and nothing of the user's is overwritten."""

from pathlib import Path

import pytest

from ethosgen.host.demos import DEMO_FILES, DEMOS, Demo, copy_demo, find_demo
from ethosgen.values.errors import InputError
from tests import ROOT


@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo.name)
def test_a_copy_has_what_its_commands_name(tmp_path: Path, demo: Demo) -> None:
    assert find_demo(demo.name) is demo
    folder = tmp_path / "deep" / "folder"
    copies = copy_demo(demo, folder)
    for path in copies:
        assert path.read_bytes() == (ROOT / "demo" / path.name).read_bytes()
    words = " ".join(demo.commands).split()
    assert {path.name for path in copies} <= set(words), "each file is used"
    assert copy_demo(demo, folder) == copies, "equal files may be there"


def test_names_are_unique() -> None:
    assert len(set(DEMO_FILES)) == len(DEMO_FILES)


def test_nothing_of_the_user_is_overwritten(tmp_path: Path) -> None:
    chosen = find_demo("kws")
    mine = tmp_path / chosen.files[-1]
    mine.write_text("mine")
    with pytest.raises(InputError, match="exists and is not the demo's"):
        copy_demo(chosen, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    assert mine.read_text() == "mine"
    with pytest.raises(InputError, match="cannot copy the demo to"):
        copy_demo(chosen, mine)


def test_an_unknown_demo_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown demo 'digit' \(did you mean 'digits'\?\)"):
        find_demo("digit")
