"""Devices of the user's on QEMU: several models at once, with an NPU and without; their faults."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.board import load_board
from ethosgen.host.tools import QEMU
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.qemu import QemuTarget
from ethosgen.toolchain import build
from ethosgen.values.device import Device, DeviceModel
from ethosgen.values.errors import BuildError, DeviceFault, TargetError
from ethosgen.values.outcome import Arrays
from tests.support.device_programs import make_device_program, make_devices
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import ELEMENTS

pytestmark = [needs_qemu, needs_gcc]

INPUT, OUTPUT = "serving/input:0", "serving/output:0"
Built = tuple[Path, ProjectInfo, tuple[Device, ...]]


def build_toys(place: Path, has_npu: bool) -> Built:
    models = place / "models"
    models.mkdir(parents=True)
    devices = make_devices(models)
    project = place / "p"
    write(render(make_device_program(devices, has_npu), load_board("corstone300")), project)
    info = replace(open_project(project), devices=devices)
    return build(project, "qemu", {"ETHOSGEN_DEVICE_TIMEOUT_MS": "1500"}).elf, info, devices


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build_toys(tmp_path_factory.mktemp("toys"), has_npu=False)


def make_samples(count: int) -> list[Arrays]:
    random = np.random.default_rng(7)
    return [{INPUT: random.integers(-128, 128, (1, ELEMENTS), np.int8)} for _ in range(count)]


def run(built: Built, count: int = 1, **models: DeviceModel) -> None:
    """Run with some devices' models replaced."""
    elf, info, devices = built
    changed = tuple(replace(d, model=models.get(d.name, d.model)) for d in devices)
    targets.run(elf, replace(info, devices=changed), make_samples(count), attach=None)


@pytest.mark.parametrize("has_npu", [False, True])
def test_models_work_together(has_npu: bool, tmp_path: Path) -> None:
    elf, info, _ = build_toys(tmp_path, has_npu)
    samples = make_samples(5)
    outcome = targets.run(elf, info, samples, attach=PlusOneNpu if has_npu else None)
    assert outcome.ended
    for sample, result in zip(samples, outcome.samples, strict=True):
        expected = np.int8(11 if has_npu else 12) - sample[INPUT]
        assert np.array_equal(result.outputs[OUTPUT], expected)
    counts = [result.cpu_instructions or 0 for result in outcome.samples]
    # An interrupt may come after the wait that it ended: its handlers are counted then.
    assert 0 < max(counts) <= min(counts) + 60, "a wait is counted, or the work is not"


Write = Callable[[Path], str]


def python(body: str) -> str:
    """Return a model in Python whose poll function is `body`, called when there is a command."""
    indented = body.replace("\n", "\n        ")
    return f"""
class Model:
    def __init__(self, registers, memory, interrupt):
        self.registers, self.memory, self.interrupt = registers, memory, interrupt

    def poll(self):
        if self.registers[0] == self.registers[4]:
            return False
        {indented}
        return True
"""


def c(body: str) -> str:
    """Return a model in C whose poll function is `body`, called when there is a command."""
    return (
        '#include "ethosgen_model.h"\n#include <stdlib.h>\n'
        "void ethosgen_model_reset(void) {}\nbool ethosgen_model_poll(void)\n{\n"
        "    if (ethosgen_model_get(0) == ethosgen_model_get(4)) return false;\n"
        f"    {body}\n    return true;\n}}\n"
    )


FAULTS = {
    "reads outside": (python("self.memory.read(0, 16)"), "memory", "read 0x00000000 to 0x0000000f"),
    "writes outside": (
        python("import numpy\nself.memory.write(0x7ffff000, numpy.zeros(4, 'u1'))"),
        "memory",
        "wrote 0x7ffff000 to 0x7ffff003, outside the memory that it may write: .*ethosgen_arena",
    ),
    "register": (python("self.registers[0x20]"), "register", "accessed register 0x20"),
    "odd register": (python("self.registers[6] = 1"), "register", "accessed register 0x6"),
    "raises": (python("{}['speed']"), "raised", r"bad.py, line 9: it raised KeyError: 'speed'"),
    "exits": (python("import os\nos._exit(3)"), "died", "it exited with status 3"),
    "C reads outside": (c("ethosgen_model_read(8, 4);"), "memory", "read 0x00000008 to 0x0000000b"),
    "C writes outside": (c("ethosgen_model_write(8, 0xFFFFFFF0u);"), "memory", "wrote 0x00000008"),
    "C register": (c("ethosgen_model_set(0x1000, 1);"), "register", "accessed register 0x1000"),
    "C crashes": (c("abort();"), "died", "ended by SIGABRT"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_is_one_sentence_that_names_the_device(
    toys: Built, what: str, tmp_path: Path
) -> None:
    text, kind, words = FAULTS[what]
    entry = "bad.c" if what.startswith("C ") else "bad.py:Model"
    (tmp_path / entry.split(":", maxsplit=1)[0]).write_text(text)
    with pytest.raises(DeviceFault, match=f"device 'adder' failed: .*{words}") as caught:
        run(toys, adder=DeviceModel(tmp_path, entry))
    assert caught.value.kind == kind
    assert "\n" not in str(caught.value)


def test_a_model_that_hangs_meets_a_deadline(
    toys: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ethosgen.device.process.ANSWER_S", 0.3)
    (tmp_path / "bad.py").write_text(python("while True: pass"))
    with pytest.raises(DeviceFault, match="one call of its poll function has taken") as caught:
        run(toys, adder=DeviceModel(tmp_path, "bad.py:Model"))
    assert caught.value.kind == "late"


def test_a_device_that_never_finishes_is_a_status(toys: Built, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(python("return False"))
    with pytest.raises(TargetError, match=r"ETHOSGEN_DEVICE_TIMEOUT.*'adder'.*'negator'"):
        run(toys, adder=DeviceModel(tmp_path, "bad.py:Model"))


def _changed(toys: Built, place: Path, old: str, new: str) -> DeviceModel:
    """Return the adder's model with another line."""
    text = (toys[2][0].model.folder / "adder.py").read_text()  # type: ignore[union-attr]
    assert old in text
    (place / "other.py").write_text(text.replace(old, new, 1))
    return DeviceModel(place, "other.py:Adder")


def test_interrupts_without_reason_do_no_harm(toys: Built, tmp_path: Path) -> None:
    line = "r = self.registers\n"
    run(toys, 2, adder=_changed(toys, tmp_path, line, f"{line}        self.interrupt()\n"))


def test_an_interrupt_that_never_comes_is_told(toys: Built, tmp_path: Path) -> None:
    """The firmware still finishes, since it checks again at each tick."""
    model = _changed(toys, tmp_path, "        self.interrupt()\n", "")
    with pytest.raises(DeviceFault, match="has worked, but never raised its interrupt") as caught:
        run(toys, 2, adder=model)
    assert caught.value.kind == "silent"


@pytest.mark.parametrize(
    ("text", "entry", "words"),
    [
        ("class Other: pass", "bad.py:Model", "has no class 'Model' with a method 'poll'"),
        ("import speed_of_light", "bad.py:Model", "bad.py, line 1: it raised ModuleNotFoundError"),
        ("def f(:\n", "bad.py:Model", "bad.py, line 1: it raised SyntaxError"),
        ("class Model:\n    poll = print\n", "bad.py:Model", "it raised TypeError"),
    ],
)
def test_a_model_that_cannot_start_says_why(
    toys: Built, tmp_path: Path, text: str, entry: str, words: str
) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(DeviceFault, match=words):
        run(toys, adder=DeviceModel(tmp_path, entry))


def test_a_process_that_dies_before_it_reads_its_task_is_told(
    toys: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(DeviceFault, match="exited with status 1"):
        run(toys)


def test_c_that_does_not_compile_is_quoted(toys: Built, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("int x = ;\n")
    with pytest.raises(BuildError, match=r"device 'adder' does not compile: .*bad.c:1:9: error"):
        run(toys, adder=DeviceModel(tmp_path, "bad.c"))


def test_closing_ends_a_model_that_hangs(toys: Built, tmp_path: Path) -> None:
    hanging = python("while True: pass").replace("self.registers[0] ==", "self.registers[0] <")
    (tmp_path / "bad.py").write_text(hanging)
    elf, info, devices = toys
    adder, negator = devices
    hung = replace(adder, model=DeviceModel(tmp_path, "bad.py:Model"))
    with QemuTarget(
        QEMU.find(), elf, info.board, None, replace(info, devices=(hung, negator))
    ) as started:
        models = [model._process for model in started._models._models]
    assert all(model is not None and model.poll() is not None for model in models)
