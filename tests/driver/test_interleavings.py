"""Both drivers of the NPU, as rendered, against every order of what can happen around a run.

interleavings.c has the model and says what must hold. Arm's driver is real where ETHOSU_CORE_DRIVER
names its sources, and otherwise a stand-in for it.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.project import render
from tests.support.needs import needs_gcc
from tests.support.programs import make_program

HERE = Path(__file__).parent
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror")
OK, NOT_INITIALIZED, BUS_FAULT, STOPPED, TIMEOUT = 0, 1, 8, 12, 13
MUTATIONS = {
    "an interrupt that is not the NPU's": ("(status & STATUS_IRQ_RAISED) == 0", "0"),
    "an NPU that is nowhere": (
        "if (npu.base_addr == 0u) {\n        return; /*",
        "if (0) { return; /*",
    ),
    "a lost interrupt": ("(void)finish_if_ended();", ""),
    "a late interrupt": (
        "        npu.is_running = false;\n    }\n    ETHOSGEN",
        "    }\n    ETHOSGEN",
    ),
    "part of a stream": (" &&\n        npu.last.qread == npu.qsize", ""),
    "a hook that gives up": ("if (!npu.is_finished) {", "if (0) {"),
    "a second interrupt": ("if (!npu.is_running) {", "if (0) {"),
    "an earlier run's end": ("    npu.is_finished = false;\n}\n\n/* Mark", "}\n\n/* Mark"),
    "a hook that never sleeps": ("!is_up(&timer, ETHOSGEN_NPU_TIMEOUT_MS)", "!is_up(&timer, ~0u)"),
    "registers that keep their power": ("    put(CMD, CMD_STAY_ON);\n", ""),
    "a run inside a run": ("!ethosgen_npu_take()", "0"),
    "a run that never ends for others": ("    ethosgen_npu_release();\n", ""),
    "what the NPU reads": ("    ethosgen_npu_clean_cache(base, stream->base_bytes);\n", ""),
    "what the NPU writes": ("    ethosgen_npu_invalidate_cache(base, stream->base_bytes);\n", ""),
    "the verdict of init": ("readiness != ETHOSGEN_OK", "0"),
}

Compile = Callable[[str, str, str], Path]

pytestmark = needs_gcc


def drivers() -> list[str]:
    """Return the names of the drivers to test."""
    return ["direct", "standin", *(["arm"] if os.environ.get("ETHOSU_CORE_DRIVER") else [])]


@pytest.fixture
def compile_driver(tmp_path: Path) -> Compile:
    """Return a function that compiles a driver, after replacing a text, with the model."""
    project = render(make_program(), load_board("corstone300"))

    def make(driver: str, old: str, new: str) -> Path:
        files = {
            Path(path).name: content.decode()
            for path, content in project.files.items()
            if re.match(r"model/(ethosgen_(npu|status)|plus_one)[^/]*\.[ch]$", path)
        }
        places = ("ethosgen_npu_run.h", "ethosgen_npu_direct.c", "plus_one.c")
        holders = [name for name in places if old and old in files.get(name, "")]
        for name in holders:
            assert files[name].count(old) == 1
            files[name] = files[name].replace(old, new)
        assert len(holders) == bool(old)
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        (tmp_path / "cmsis_compiler.h").write_text("#define __WFE()\n#define __SEV()\n")
        kind = "direct" if driver == "direct" else "core"
        sources = [HERE / "interleavings.c", tmp_path / f"ethosgen_npu_{kind}.c"]
        names = ("ethosgen_npu_identity", "plus_one", "plus_one_graph", "plus_one_commands")
        sources += [tmp_path / f"{name}.c" for name in (*names, "plus_one_weights")]
        options: list[str] = []
        if driver == "standin":
            sources.append(HERE / "standin" / "ethosu_driver.c")
            options = [f"-I{HERE / 'standin'}"]
        elif driver == "arm":
            arm = Path(os.environ["ETHOSU_CORE_DRIVER"])
            sources += [arm / "src" / "ethosu_driver.c", HERE / "arm_device.c"]
            options = [f"-I{arm / 'include'}", f"-I{arm / 'src'}", "-DETHOSU55", "-DNDEBUG"]
            options += ["-DETHOSU_LOG_ENABLE=0", "-w"]
        program = tmp_path / f"{driver}.elf"
        command = ["gcc", *FLAGS, "-include", str(HERE / "npu.h"), f"-I{HERE}", f"-I{tmp_path}"]
        subprocess.run([*command, *options, *map(str, sources), "-o", str(program)], check=True)
        return program

    return make


def explore(program: Path, events: int, is_lazy: bool) -> tuple[str, dict[str, int]]:
    """Return the program's first line, and its counts."""
    command = [str(program), str(events), str(int(is_lazy))]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300).stdout
    counts = re.findall(r"^(scenarios|status \d+) (\d+)$", said, re.MULTILINE)
    return said.partition("\n")[0], {name: int(count) for name, count in counts}


@pytest.mark.parametrize("is_lazy", [False, True], ids=["at once", "as the simulator"])
@pytest.mark.parametrize("driver", drivers())
def test_ok_is_what_the_npu_said_of_this_run(
    compile_driver: Compile, driver: str, is_lazy: bool
) -> None:
    """Every order of two events around two runs: none is OK by anything but the NPU's state."""
    said, counts = explore(compile_driver(driver, "", ""), 2, is_lazy)
    assert not said.startswith("wrong"), said
    assert counts.pop("scenarios") > 100_000
    assert set(counts) == {f"status {status}" for status in (OK, BUS_FAULT, STOPPED, TIMEOUT)}
    assert min(counts.values()) > 10_000


@pytest.mark.parametrize("what", MUTATIONS)
def test_each_condition_is_needed(compile_driver: Compile, what: str) -> None:
    """Without any one of them the driver is wrong in some order, and the search finds it."""
    program = compile_driver("direct", *MUTATIONS[what])
    assert any(explore(program, 2, is_lazy)[0].startswith("wrong") for is_lazy in (False, True))
