"""A target that is a program of this machine: what it says is read while it says it."""

import sys
import time

import pytest

from ethosgen.targets.process import ProcessTarget
from ethosgen.values.errors import TargetError

LINES = 400
TALK = f"import sys\nfor i in range({LINES}): print(f'line {{i:04}}', flush=True)\nsys.exit(3)"


class Talker(ProcessTarget):
    def _open(self) -> None:
        self._spawn([sys.executable, "-S", "-c", TALK])

    def read_all(self) -> str:
        return self._read_log()


def test_what_a_program_says_is_whole_however_often_it_is_looked_at() -> None:
    with Talker("the talker") as target:
        end = time.monotonic() + 60
        with pytest.raises(TargetError, match=r"the talker ended early with status 3:(?s:.*)0399"):
            while time.monotonic() < end:
                target.read_all()
                target.check()
        assert target.read_all().splitlines() == [f"line {i:04}" for i in range(LINES)]


def test_a_program_that_cannot_start_is_told() -> None:
    class Missing(ProcessTarget):
        def _open(self) -> None:
            self._spawn(["/none/at/all"])

    with (
        pytest.raises(TargetError, match="cannot start '/none/at/all': No such file"),
        Missing("it"),
    ):
        pass
