"""A device under Linux: its registers and its memory are files that the program maps."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.flow.firmware import build_project
from ethosgen.host.resources import resource_folder
from ethosgen.host.tools import QEMU_USER
from ethosgen.platforms import LINUX
from ethosgen.values.errors import DeviceFault, TargetError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_gcc, needs_qemu_user

ENGINE = "matrix-engine"
DIGITS = ROOT / "demo" / "digits_int8.tflite"


def _recipe(engine: str = ENGINE) -> Recipe:
    return Recipe((DIGITS,), "aarch64-linux", "none", platform=LINUX, accelerators=(engine,))


def _unchecked(engine: str) -> Recipe:
    return replace(_recipe(engine), options=OffloadOptions(check=False))


def _changed(folder: Path, file: str, old: str, new: str) -> str:
    """Return a copy of the engine with a change in one file."""
    copy = folder / ENGINE
    shutil.copytree(resource_folder("accelerators") / ENGINE, copy)
    text = (copy / file).read_text()
    assert text.count(old) == 1
    (copy / file).write_text(text.replace(old, new))
    return str(copy)


@needs_gcc
@needs_qemu_user
@pytest.mark.parametrize("model", ["model.py:MatrixEngine", "model.c"])
def test_a_device_computes_for_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """The driver is the same as on a Cortex-M: only addresses and the wait differ."""
    monkeypatch.setenv("CFLAGS", "-Werror")
    engine = _changed(tmp_path, "accelerator.toml", "model.py:MatrixEngine", model)
    report = flow.verify(_recipe(engine), flow.RunOptions(Inputs(None, 4, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 4


@needs_gcc
@needs_qemu_user
def test_a_device_that_computes_wrongly_is_found(tmp_path: Path) -> None:
    engine = _changed(tmp_path, "model.py", "r.signed(A_OFFSET)", "r.signed(A_OFFSET) + 1")
    report = flow.verify(_unchecked(engine), flow.RunOptions(Inputs(None, 4, 0)), watch=Watch())
    assert isinstance(report, Report) and not report.passed


@needs_gcc
@needs_qemu_user
def test_a_device_reaches_nothing_but_the_programs_data(tmp_path: Path) -> None:
    engine = _changed(
        tmp_path,
        "matrix_engine.c",
        "ETHOSGEN_DEVICE_ADDRESS(address)",
        "ETHOSGEN_DEVICE_ADDRESS(address) - 0x10000000u",
    )
    with pytest.raises(DeviceFault, match=r"matrix-engine.*0x7"):
        flow.verify(_unchecked(engine), flow.RunOptions(Inputs(None, 1, 0)), watch=Watch())


@needs_gcc
@needs_qemu_user
def test_a_failed_call_shows_the_devices_registers(tmp_path: Path) -> None:
    engine = _changed(
        tmp_path, "accelerator.toml", "registers = 0x68\n",
        "registers = 0x68\nshown = { DONE = 0x08, STATUS = 0x0C }\n",
    )  # fmt: skip
    driver = tmp_path / ENGINE / "matrix_engine.c"
    text = driver.read_text()
    assert text.count("    return status;\n}") > 1
    driver.write_text(text.replace("    return status;\n}", "    return status + 700;\n}", 1))
    said = "which the driver of 'matrix-engine' returned; registers of 'matrix-engine': DONE is 0x1"
    with pytest.raises(TargetError, match=said):
        flow.verify(_unchecked(engine), flow.RunOptions(Inputs(None, 1, 0)), watch=Watch())


@needs_gcc
@needs_qemu_user
def test_a_program_says_which_file_it_misses(tmp_path: Path) -> None:
    project = tmp_path / "p"
    flow.create_project(_recipe(), directory=project, watch=Watch())
    program = build_project(project, watch=Watch()).elf
    command = [str(QEMU_USER.find()), str(program)]
    page, memory = tmp_path / "registers", tmp_path / "memory"
    page.write_bytes(bytes(4096))
    memory.write_bytes(bytes(4096))
    registers, shared = "ETHOSGEN_DEVICE_MATRIX_ENGINE", "ETHOSGEN_DEVICE_MEMORY"
    for variables, said in (
        ({}, f"{registers}: is not set"),
        ({registers: str(tmp_path / "absent")}, f"{registers}: No such file"),
        ({registers: str(page)}, f"{shared}: is not set"),
        ({registers: str(page), shared: str(memory)}, f"{shared}: write FILE@OFFSET:ADDRESS:BYTES"),
        (
            {registers: f"{page}@0", shared: f"{memory}@0:0x10000000:0x1000"},
            f"{shared}: the program does not fit into these bytes",
        ),
    ):
        done = subprocess.run(
            command,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 4 and said in done.stderr, done.stderr
