"""The depth of the main thread's stack, from call graphs as GCC writes them."""

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests import ROOT
from tests.support.needs import needs_arm_gcc

SCRIPT = ROOT / "zephyr_app" / "lib" / "stack.py"
INTERRUPT = 40


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ethosgen_stack", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def graph(place: Path, name: str, frames: dict[str, int], calls: list[tuple[str, str]]) -> None:
    """Write a call graph; functions of other files have no frame here."""
    lines = [f'graph: {{ title: "{name}"']
    for title, frame in frames.items():
        label = title.rsplit(":", 1)[-1]
        lines.append(
            f'node: {{ title: "{title}" label: "{label}\\n{name}:3:5\\n{frame} bytes (static)" }}'
        )
    lines += [f'edge: {{ sourcename: "{a}" targetname: "{b}" label: "x" }}' for a, b in calls]
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{Path(name).name}.ci").write_text("\n".join([*lines, "}"]))


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """An application: main, its server, a network called by pointer, a weak hook, a driver."""
    graph(tmp_path, "init.c", {"bg_thread_main": 16}, [("bg_thread_main", "main")])
    graph(
        tmp_path,
        "src/main.c",
        {"main": 24, "main.c:run": 8},
        [
            ("main", "server_run"),
            ("main.c:run", "__indirect_call"),
        ],
    )
    graph(tmp_path, "lib/server.c", {"server_run": 100}, [("server_run", "__indirect_call")])
    graph(
        tmp_path, "kws/model/kws.c", {"kws_run": 32}, [("kws_run", "hook"), ("kws_run", "memcpy")]
    )
    graph(tmp_path, "weak.c", {"weak.c:hook": 8}, [])
    graph(tmp_path, "strong.c", {"hook": 200}, [])
    return tmp_path


def test_the_deepest_path_goes_through_pointers_and_strong_functions(build: Path) -> None:
    need, path = load().check(build, 1024, INTERRUPT)
    assert need == 16 + 24 + 100 + 8 + 32 + 200 + INTERRUPT
    assert path.split(", ")[:4] == ["bg_thread_main 16", "main 24", "server_run 100", "run 8"]


def test_one_of_several_networks_may_be_the_deepest(build: Path) -> None:
    graph(build, "app/model/vww/vww.c", {"vww_run": 300}, [])
    graph(build, "app/model/ethosgen/lib/npu/core.c", {"nobodys": 900}, [])
    assert load().check(build, 1024, 0)[0] == 16 + 24 + 100 + 8 + 300


def test_what_was_not_compiled_counts_too(build: Path) -> None:
    (build / "strong.c.ci").unlink()
    script = load()
    assert script.check(build, 1024, 0)[0] == 16 + 24 + 100 + 8 + 32 + script.LEAF


def test_a_devices_start_may_be_deeper(build: Path) -> None:
    graph(
        build, "run.c", {"z_sys_init_run_level": 8}, [("z_sys_init_run_level", "__indirect_call")]
    )
    graph(build, "driver.c", {"ethosu_zephyr_init": 500, "deep_but_no_start": 900}, [])
    assert load().check(build, 1024, 0)[0] == 16 + 8 + 500


def test_too_small_a_stack_fails_the_build(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = load()
    need = 16 + 24 + 100 + 8 + 32 + 200 + INTERRUPT
    assert script.main([str(build), str(need), str(INTERRUPT)]) == 0
    assert f"needs {need} of {need} bytes" in capsys.readouterr().out
    assert script.main([str(build), str(need - 1), str(INTERRUPT)]) == 1
    assert capsys.readouterr().err == "ethosgen: set CONFIG_MAIN_STACK_SIZE=424 in prj.conf\n"


def test_a_build_without_call_graphs_does_not_pass(
    build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An object from a compiler cache may come without the call graph beside it."""
    (build / "main.c.ci").unlink()
    assert load().main([str(build), "100000", str(INTERRUPT)]) == 1
    assert "has no call graph of main(), so the main thread's stack" in capsys.readouterr().err


@needs_arm_gcc
def test_gcc_writes_what_is_read(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text(
        "extern int far(int);\n"
        "static __attribute__((noipa)) int near(int x)\n"
        "{ volatile int a[16]; a[x & 15] = far(x); return a[x & 15]; }\n"
        "int main(void) { return near(3) + 1; }\n"
    )
    options = ["-Os", "-mcpu=cortex-m55", "-mthumb", "-fcallgraph-info=su", "-c", "main.c"]
    subprocess.run(["arm-none-eabi-gcc", *options, "-o", "main.c.obj"], cwd=tmp_path, check=True)
    script = load()
    need, path = script.check(tmp_path, 1024, 0)
    names = [part.split()[0] for part in path.split(", ")]
    assert names[1:4] == ["main", "near", "far"]
    frames = [int(part.split()[-1]) for part in path.split(", ")]
    assert frames[2] >= 64 and frames[3] == script.LEAF and need == sum(frames)
