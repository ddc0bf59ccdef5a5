"""The kinds of targets, and one more that is added as CONTRIBUTING says."""

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pytest

from ethosgen.board import load_board
from ethosgen.flow import build_project
from ethosgen.project import open_project, render, write
from ethosgen.targets import TARGETS, Firmware, TargetKind, default_target, run, targets_of
from ethosgen.targets.buffers import PortIndex
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from tests.support.firmware_twin import Twin
from tests.support.programs import ELEMENTS, make_program


class TwinTarget:
    """Runs a firmware's twin in this process: the toy target; also its console."""

    last_fault = None

    def __init__(self, firmware: Firmware) -> None:
        self._twin = Twin(firmware.info.digest)
        self._ready = b""
        self.console = self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._twin.left or error is not None

    def write(self, data: bytes) -> None:
        self._ready += self._twin.feed(data)

    def read(self, timeout_s: float) -> bytes:
        data, self._ready = self._ready, b""
        return data

    def close(self) -> None: ...

    def check(self) -> None: ...

    def settle(self) -> None: ...

    def buffer(self, place: PortIndex) -> None:
        return None

    def wait_for_exit(self) -> int:
        return 0


TOY = TargetKind(TwinTarget, variant="board", can_run=lambda board: board.run.fvp is not None)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(render(make_program(), load_board("corstone300")), tmp_path / "p")
    return tmp_path / "p"


def test_a_registered_target_runs_firmware(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "toy", TOY)
    info = open_project(project)
    (source,) = info.networks[0].inputs
    sample = np.arange(ELEMENTS).astype(np.int8).reshape(source.shape)
    outcome = run(project / "none.elf", info, [{source.name: sample}], on="toy", attach=None)
    (target,) = info.networks[0].outputs
    assert outcome.ended
    assert np.array_equal(outcome.samples[0].outputs[target.name], sample + np.int8(1))
    assert outcome.samples[0].cpu_instructions is None, "its counter measures time"


def test_a_clock_that_stands_still_gives_no_figures(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, "toy", replace(TOY, counts_instructions=True, has_clock=False))
    info = open_project(project)
    (source,) = info.networks[0].inputs
    sample = np.zeros(source.shape, np.int8)
    outcome = run(project / "none.elf", info, [{source.name: sample}], on="toy", attach=None)
    assert outcome.ended
    (target,) = info.networks[0].outputs
    done = outcome.samples[0]
    assert np.array_equal(done.outputs[target.name], sample + np.int8(1))
    assert (done.cpu_instructions, done.init_instructions, done.stack_bytes) == (None, None, None)


def test_the_rest_knows_a_registered_target(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "toy", TOY)
    assert targets_of(load_board("corstone300")) == ["qemu", "fvp", "serial", "toy"]
    with pytest.raises(InputError, match=r"tox.*toy"):
        build_project(project, on="tox", watch=Watch())
    other = project.parent / "other"
    write(render(make_program(npu="ethos-u55-256"), load_board("alif-e7-hp")), other)
    with pytest.raises(InputError, match="does not run on toy; choose --on serial"):
        build_project(other, on="toy", watch=Watch())


@pytest.mark.parametrize(
    ("board", "target"), [("corstone300", "qemu"), ("corstone310", "fvp"), ("ra8p1", "serial")]
)
def test_the_default_is_the_easiest_target_that_runs_the_board(board: str, target: str) -> None:
    assert default_target(load_board(board)) == target
