"""The way from the command to the NPU's compiler."""

import sys
import traceback
from types import CodeType

import pytest

from ethosgen.backend.ethosu.offload import vela
from ethosgen.cli import cli
from tests import ROOT

MOST_FILES = 10


class Reached(BaseException):
    """The compiler would start now."""


def test_the_way_to_the_compiler_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[CodeType] = []

    def compile_here(*_: object, **__: object) -> None:
        frames = traceback.walk_stack(sys._getframe(1))
        codes.extend(frame.f_code for frame, _ in frames)
        raise Reached

    monkeypatch.setattr(vela, "call", compile_here)
    line = ["verify", str(ROOT / "demo/digits_int8.tflite"), "--board", "corstone300"]
    with pytest.raises(Reached):
        cli.main([*line, "--no-check"], standalone_mode=False)
    ours = [code for code in reversed(codes) if "/ethosgen/" in code.co_filename]
    start = [code.co_filename.endswith("commands/verify.py") for code in ours].index(True)
    way = ours[start:]
    assert len({code.co_filename for code in way}) <= MOST_FILES
    inside = {code.co_qualname for code in way if "<locals>" in code.co_qualname}
    assert not {name for name in inside if not name.endswith("comp>")}
