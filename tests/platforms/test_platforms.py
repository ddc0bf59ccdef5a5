"""The registry of platforms: what each says of itself, and a platform that is registered there."""

import re

import pytest

from ethosgen.board import board_names, load_board
from ethosgen.platforms import (
    BAREMETAL,
    CSOLUTION,
    LIBRARY_ONLY,
    LINUX,
    PLATFORMS,
    ZEPHYR,
    Platform,
    find_platform,
    first_platform,
    names_of,
    usual_platform,
)
from ethosgen.project import LAYOUTS, render
from ethosgen.toolchain import TOOLCHAINS, toolchain_of
from ethosgen.values.errors import InputError
from tests import ROOT
from tests.support.programs import make_program


def test_each_platform_has_files_and_each_that_is_built_a_build() -> None:
    assert list(PLATFORMS) == [BAREMETAL, ZEPHYR, CSOLUTION, LINUX, LIBRARY_ONLY]
    assert {platform.layout_name for platform in PLATFORMS.values()} == set(LAYOUTS)
    assert names_of(lambda platform: platform.is_built) == list(TOOLCHAINS)


def test_a_platform_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="unknown platform 'arduino'; choose one of: baremetal, z"):
        find_platform("arduino")


def test_a_board_with_linux_has_it_as_its_default() -> None:
    for name in board_names():
        board = load_board(name)
        assert usual_platform(board.platforms) == (LINUX if board.linux else BAREMETAL)
    assert usual_platform(()) == BAREMETAL


def test_the_first_platform_with_a_property_is_found() -> None:
    assert (
        first_platform([ZEPHYR, CSOLUTION], lambda platform: platform.boots) is PLATFORMS[CSOLUTION]
    )
    assert first_platform([ZEPHYR], lambda platform: platform.boots) is None


def test_a_registered_platform_has_projects_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = Platform("toy", layout=BAREMETAL, toolchain=BAREMETAL, boots=True)
    monkeypatch.setitem(PLATFORMS, "toy", toy)
    board = load_board("corstone300")
    with pytest.raises(InputError, match="board 'corstone300' has no platform 'toy'; it has: "):
        render(make_program(), board, platform="toy")
    facts = board.model_dump() | {"platforms": [*board.platforms, "toy"]}
    project = render(make_program(), type(board).model_validate(facts), platform="toy")
    assert project.platform == "toy"
    usual = render(make_program(), board)
    changed = {path for path in usual.files if usual.files[path] != project.files[path]}
    assert changed == {"model/ethosgen.json"}
    assert toolchain_of("toy") is TOOLCHAINS[BAREMETAL]


def test_a_platform_without_files_or_build_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLATFORMS, "toy", Platform("toy"))
    board = load_board("corstone300")
    with pytest.raises(InputError, match=r"platform 'toy' has no files: .* ethosgen\.layouts"):
        render(make_program(), board, platform="toy")
    with pytest.raises(InputError, match=r"platform 'toy' has no build: .* ethosgen\.toolchains"):
        toolchain_of("toy")


def test_no_template_compares_the_name_of_a_platform() -> None:
    compares = re.compile(r"{[{%][^}]*\bplatform(?:\.name)? (?:[!=]=|in|not in) ")
    for path in sorted((ROOT / "templates").rglob("*")):
        if path.is_file() and path.suffix != ".woff2":
            text = path.read_text(errors="replace")
            assert not compares.search(text), f"{path}: ask a fact of Platform"
