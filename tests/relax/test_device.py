"""Single PrimFuncs run on QEMU, alone and to find the fastest schedule."""

import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, tirx
from tvm.script import tirx as T  # noqa: N812 - TVMScript's own name

from ethosgen.board import load_board
from ethosgen.board.facts import Flasher
from ethosgen.host.tools import QEMU
from ethosgen.relax import RemoteDevice, tiles, tune
from ethosgen.values.errors import InputError
from ethosgen_relax import device as devices
from ethosgen_relax import tuning
from tests import ROOT
from tests.support.needs import needs_build, needs_qemu

RANDOM = np.random.default_rng(1)
LEFT = RANDOM.integers(-128, 128, (8, 24)).astype("int8")
RIGHT = RANDOM.integers(-128, 128, (12, 24)).astype("int8")
PRODUCT = LEFT.astype("int32") @ RIGHT.astype("int32").T


def product() -> tirx.PrimFunc:
    """Return the product of two matrices of int8."""
    left = te.placeholder(LEFT.shape, "int8", "left")
    right = te.placeholder(RIGHT.shape, "int8", "right")
    k = te.reduce_axis((0, LEFT.shape[1]), "k")

    def total(i: Any, j: Any) -> Any:
        return te.sum(left[i, k].astype("int32") * right[j, k].astype("int32"), k)

    return te.create_prim_func([left, right, te.compute(PRODUCT.shape, total, "total")])


@T.prim_func(s_tir=True)
def ends(  # type: ignore[no-untyped-def]
    values: T.Buffer((9,), "float32"),
    times: T.int32,
    most: T.Buffer((), "float32"),
    scaled: T.Buffer((9,), "float32"),
):
    most[()] = values[0]
    for i in range(9):
        scaled[i] = values[i] * T.Cast("float32", times)
        most[()] = T.max(most[()], scaled[i])


@T.prim_func(s_tir=True)
def grows(total: T.Buffer((4,), "int32")):  # type: ignore[no-untyped-def]
    for i in range(4):
        total[i] = total[i] + 1


@T.prim_func(s_tir=True)
def wide(number: T.int64, total: T.Buffer((4,), "int32")):  # type: ignore[no-untyped-def]
    for i in range(4):
        total[i] = T.Cast("int32", number)


@T.prim_func(s_tir=True)
def hungry(values: T.Buffer((4,), "int32"), total: T.Buffer((4,), "int32")):  # type: ignore[no-untyped-def]
    room = T.alloc_buffer((4000000,), "int32")
    for i in range(4000000):
        room[i] = values[i % 4] + i
    for i in range(4):
        total[i] = room[i * 999999]


@T.prim_func(s_tir=True)
def modest(values: T.Buffer((4,), "int32"), total: T.Buffer((4,), "int32")):  # type: ignore[no-untyped-def]
    for i in range(4):
        total[i] = values[3 - i]


@needs_qemu
@needs_build
@pytest.mark.parametrize("board", ["corstone300", "mps2-an386"])
def test_a_function_computes_on_the_device_as_here(board: str) -> None:
    ran = RemoteDevice(board).run(product(), LEFT, tvm.runtime.tensor(RIGHT), None)
    assert not ran.fault and ran.unit in ("cycles", "instructions")
    assert ran.count > PRODUCT.size  # at least one for each output
    (output,) = ran.outputs
    assert output.dtype == np.int32 and np.array_equal(output, PRODUCT)


@needs_qemu
@needs_build
def test_numbers_floats_and_several_outputs() -> None:
    values = np.linspace(-2, 1, 9, dtype="float32")
    most, scaled = RemoteDevice().run(ends, values, -3, None, None).outputs
    assert scaled.tolist() == (values * np.float32(-3)).tolist()
    assert most.shape == () and most == 6


@needs_qemu
@needs_build
def test_one_that_does_not_fit_leaves_the_others() -> None:
    values = np.array([4, 5, 6, 7], "int32")
    first, second = RemoteDevice().run_each([hungry, modest], values, None)
    assert "does not fit" in first.fault or "stack" in first.fault, first
    assert second.fault == "" and second.outputs[0].tolist() == [7, 6, 5, 4]


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (42, (), "a device runs a PrimFunc, not int"),
        (grows, (None,), "reads buffer 'total' before it writes it"),
        (wide, (1, None), "parameter 'number' is int64; a number must be int32"),
        (ends, (LEFT,), "has 4 parameters, and you pass 1 argument"),
        (ends, (LEFT, 1, None, None), r"'values' is float32 \[9\], and you pass int8 \[8, 24\]"),
        (ends, (None, 1, None, None), r"'values' is float32 \[9\], and you pass None"),
        (ends, (np.zeros(9, "float32"), 0.5, None, None), "'times' is a number; pass an int"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    function: Any, arguments: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        RemoteDevice().run(function, *arguments)


def test_functions_with_other_parameters_do_not_run_together() -> None:
    with pytest.raises(InputError, match="function 1 has other parameters than function 0"):
        RemoteDevice().run_each([modest, product()], np.zeros(4, "int32"), None)


@needs_qemu
@needs_build
def test_a_schedule_is_found_on_the_device() -> None:
    tuned = tune(product(), LEFT, RIGHT, None, device=RemoteDevice(), trials=6, seed=2)
    assert 1 <= len(tuned.candidates) <= 6 and not any(each.fault for each in tuned.candidates)
    assert tuned.count == min(each.count for each in tuned.candidates) < tuned.before
    assert tuned.gain > 1.5
    again = RemoteDevice().run(tuned.function, LEFT, RIGHT, None)
    assert np.array_equal(again.outputs[0], PRODUCT)


def broken(schedule: Any) -> None:
    """Compute only a part of the outputs, which no schedule may do."""
    first = schedule.sample_categorical([0, 1], [0.5, 0.5])
    assert first is not None
    raise tvm.s_tir.ScheduleError


@needs_qemu
@needs_build
def test_a_space_that_draws_nothing_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"no schedule of 2 trials runs.* draws none"):
        tune(product(), LEFT, RIGHT, None, device=RemoteDevice(), space=broken, trials=2)
    with pytest.raises(InputError, match="trials is 0"):
        tune(product(), LEFT, RIGHT, None, device=RemoteDevice(), space=tiles, trials=0)


@needs_qemu
@needs_build
@pytest.mark.slow
def test_the_page_computes_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "tuning.md").read_text()
    code = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec("\n".join(code), names)
    said = capsys.readouterr().out
    first, second, *_ = said.splitlines()
    assert first.startswith("True ") and first.endswith(" cycles"), first
    assert float(second.split()[2]) > 2, second
    assert "@T.prim_func" in said and names["tuned"].gain >= 1


STAND_IN = """
import os, signal, subprocess, sys
elf, port, notes, qemu = sys.argv[1:]
if os.path.exists(notes):
    os.kill(int(open(notes).read()), signal.SIGKILL)
line = f"tcp:127.0.0.1:{port},server=on,wait=off"
command = [qemu, "-M", "mps2-an386", "-kernel", elf, "-display", "none", "-monitor", "none"]
subprocess.run([*command, "-serial", line, "-daemonize", "-pidfile", notes], check=True)
"""
"""Takes the place of a flash tool: it starts the firmware with its serial line on a TCP port."""


@needs_qemu
@needs_build
def test_a_board_on_a_port_is_flashed_for_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, notes = tmp_path / "flash.py", tmp_path / "pid"
    script.write_text(STAND_IN)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, str(script), "{elf}", port, str(notes), str(QEMU.find())]
    board = load_board("mps2-an386").model_copy(
        update={"flash": {"tool": Flasher(command=command)}}
    )
    monkeypatch.setattr(devices, "load_board", lambda _name: board)
    there = RemoteDevice("mps2-an386", port=f"socket://127.0.0.1:{port}")
    try:
        for factor in (2, -5):
            scaled = there.run(ends, np.ones(9, "float32"), factor, None, None).outputs[1]
            assert scaled.tolist() == [factor] * 9
    finally:
        subprocess.run(["kill", "-9", notes.read_text()], check=False)


def test_candidates_depend_on_the_seed_alone() -> None:
    first, again, other = (
        [each.script() for each in tuning._drawn(product(), tiles, 3, seed)] for seed in (5, 5, 6)
    )
    assert len(first) == 3 and first == again != other
