"""Calls into a child process: its values, its prints, and every way in which it can end.

The tests' own Asker, which replaces `call` to save time, must behave in the same way.
"""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from ethosgen.host import child
from ethosgen.host.child import ChildAnswer, ChildError
from tests.support.fork_server import shared_server

Call = Callable[..., ChildAnswer]


@pytest.fixture(params=["child", "fork"])
def call(request: pytest.FixtureRequest) -> Call:
    return child.call if request.param == "child" else shared_server().call


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(
        textwrap.dedent(
            """
            import os, sys, time

            def double(values):
                os.write(1, b"written by C++\\n")
                print("printed", file=sys.stderr)
                return [2 * value for value in values]

            def complain():
                print("what happened")
                raise ValueError("too bad")

            def insist():
                assert os.sep == ""

            def crash():
                os.abort()

            def leave():
                os._exit(7)

            def hang():
                time.sleep(60)

            def hoard():
                return len(bytearray(1 << 40))
            """
        )
    )
    return path


def test_the_value_comes_back_and_prints_are_kept(
    script: Path, call: Call, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = call(script, "double", [1, 2, 3])
    assert answer.value == [2, 4, 6]
    assert "written by C++" in answer.log
    assert "printed" in answer.log
    assert capfd.readouterr() == ("", "")


def test_an_exception_is_told(script: Path, call: Call) -> None:
    with pytest.raises(ChildError, match="ValueError: too bad") as caught:
        call(script, "complain")
    assert caught.value.how == "raised"
    assert "what happened" in caught.value.log


def test_an_exception_without_text_is_told_by_its_place(script: Path, call: Call) -> None:
    place = r"AssertionError in insist of script.py, line \d+: assert os.sep == "
    with pytest.raises(ChildError, match=place):
        call(script, "insist")


@pytest.mark.parametrize(("function", "cause"), [("crash", "SIGABRT"), ("leave", "status 7")])
def test_a_death_is_told(script: Path, call: Call, function: str, cause: str) -> None:
    with pytest.raises(ChildError, match=cause) as caught:
        call(script, function)
    assert caught.value.how == "died"


def test_a_hang_ends(script: Path, call: Call) -> None:
    with pytest.raises(ChildError, match=r"did not finish in 0\.5 s") as caught:
        call(script, "hang", limit_s=0.5)
    assert caught.value.how == "late"


def test_memory_is_limited(script: Path, call: Call) -> None:
    with pytest.raises(ChildError, match="MemoryError"):
        call(script, "hoard")


def test_a_file_that_cannot_be_loaded_is_told(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text("import no_such_package")
    with pytest.raises(ChildError, match="ModuleNotFoundError: No module named 'no_such_package'"):
        call(script, "run")
