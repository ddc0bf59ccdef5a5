"""Real Zephyr: applications built, run on QEMU and on native_sim, and checked.

They run where ZEPHYR_BASE names Zephyr with its Python packages and the modules cmsis and
hal_ethos_u (in a west workspace, or in ZEPHYR_MODULES).
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.board import load_board
from ethosgen.flow import RunOptions, attach_model, create_project, verify
from ethosgen.host.tools import QEMU
from ethosgen.platforms import BAREMETAL, ZEPHYR
from ethosgen.project import open_project
from ethosgen.project.info import NetworkInfo
from ethosgen.targets.qemu import QemuTarget
from ethosgen.toolchain import build_zephyr
from ethosgen.values.errors import BuildError, TargetError
from ethosgen.values.profile import Profile
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_qemu, needs_zephyr
from tests.support.recipes import recipe
from tests.support.small_models import image_net
from tests.support.zephyr_warnings import strict_warnings

pytestmark = [needs_zephyr, needs_qemu]

DEMO = ROOT / "demo" / "digits_int8.tflite"
FLASH_BYTES = 37_000
RAM_BYTES = 11_500
"""At most, beside command streams, weights and arena: half of Zephyr's sample (zephyr#90787)."""
SUBJECT = """    {{
        .init = {name}_init, .run = {name}_run, .lock = {name}_lock, .unlock = {name}_unlock,
        .input = {name}_{input}, .output = {name}_{output},
        .input_bytes = {input_bytes}, .output_bytes = {output_bytes},
    }},
"""


def quiet() -> Watch:
    return Watch(lambda _text: None)


@pytest.mark.parametrize(
    ("on", "io"), [("qemu", "arena"), ("qemu", "caller"), ("native", "caller")]
)
def test_a_network_runs_bit_exact(on: str, io: str) -> None:
    report = verify(
        recipe(DEMO, io=io, platform=ZEPHYR), RunOptions(Inputs(None, 5, 0)), on=on, watch=quiet()
    )
    assert report.passed
    assert report.golden is not None and report.golden.mismatches == 0
    if on == "qemu":
        assert report.flash_bytes is not None and report.ram_bytes is not None
        flash, ram = report.flash_bytes, report.ram_bytes
        assert flash["total"] - flash["command_streams"] - flash["weights"] < FLASH_BYTES
        assert ram["total"] - ram["arena"] < RAM_BYTES


def counted(board: str, platform: str) -> Profile:
    """Return the profile of a network that runs on a board, and equals the oracle's outputs."""
    wanted = recipe(DEMO, board=board, platform=platform)
    report = verify(wanted, RunOptions(Inputs(None, 2, 0), profile=True), on="qemu", watch=quiet())
    assert isinstance(report, Report) and report.passed and report.profile is not None
    assert report.golden is not None and report.golden.mismatches == 0
    return report.profile


@pytest.mark.parametrize(
    "board",
    ["mps2-an385", "mps2-an386", "mps2-an500", "mps2-an521", "qemu-cortex-m3", "microbit"],
)
def test_a_board_without_an_npu_counts_as_on_bare_metal(board: str) -> None:
    if board == "microbit" and "hal_nordic" not in os.environ.get("ZEPHYR_MODULES", ""):
        pytest.skip("the board needs hal_nordic in ZEPHYR_MODULES")
    zephyr, bare = counted(board, ZEPHYR), counted(board, BAREMETAL)
    assert [cost.step for cost in zephyr.steps] == [cost.step for cost in bare.steps]
    assert zephyr.unit == bare.unit == "instructions"
    # Zephyr's memcpy and memset are slower than newlib's; its options must not slow the kernels.
    assert bare.total * 0.9 < zephyr.total < bare.total * 1.1


def test_a_profile_counts_the_npu_too() -> None:
    profile = counted("corstone300", ZEPHYR)
    assert profile.npu_cycles > 0
    assert profile.npu_cycles == sum(o.cycles for cost in profile.steps for o in cost.operations)


@pytest.mark.parametrize(
    ("npu", "mode"),
    [
        ("ethos-u55-128", "sram_only"),
        ("ethos-u65-256", "dedicated_sram"),
        ("ethos-u85-256", "shared_sram"),
        ("none", "shared_sram"),
    ],
)
def test_a_network_runs_in_every_memory_mode_and_without_an_npu(npu: str, mode: str) -> None:
    report = verify(
        recipe(DEMO, npu=npu, platform=ZEPHYR, memory_mode=mode),
        RunOptions(Inputs(None, 3, 0)),
        watch=quiet(),
    )
    assert report.passed
    assert report.golden is not None and report.golden.mismatches == 0


FAULTS = {
    "k_panic()": "Zephyr reports kernel panic at 0x1",
    "k_oops()": "Zephyr reports kernel oops at 0x1",
    "__builtin_trap()": r"Zephyr reports a processor fault \(its reason \d+\) at 0x1",
}
FAULTY = """
#include <zephyr/kernel.h>
#include "board.h"
int main(void)
{{
    board_init();
    console_init();
    {fault};
    return 0;
}}
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fatal_error_ends_the_run_with_a_sentence(fault: str, tmp_path: Path) -> None:
    place = tmp_path / "app"
    create_project(recipe(DEMO, platform=ZEPHYR), directory=place, watch=quiet())
    (place / "src" / "main.c").write_text(FAULTY.format(fault=fault))
    info = open_project(place)
    built = build_zephyr(info, "qemu")
    started = time.monotonic()
    with pytest.raises(TargetError, match=FAULTS[fault]):
        targets.run(built.elf, info, [], attach=attach_model(find_accelerator(info.npu)))
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("more", ["CONFIG_CACHE_MANAGEMENT=y\nCONFIG_DCACHE=y\n", ""])
def test_cache_hooks_fit_the_driver(more: str, tmp_path: Path) -> None:
    """The linker takes ours instead of the driver's weak ones, whichever signature these have."""
    place = tmp_path / "app"
    create_project(recipe(DEMO, platform=ZEPHYR), directory=place, watch=quiet())
    (place / "prj.conf").write_text((place / "prj.conf").read_text() + more)
    elf = build_zephyr(open_project(place), "qemu").elf
    listed = subprocess.run(
        ["arm-none-eabi-nm", str(elf)], capture_output=True, text=True, check=True
    ).stdout
    kinds = {line.split()[-1]: line.split()[-2] for line in listed.splitlines()}
    assert kinds["ethosu_flush_dcache"] == kinds["ethosu_invalidate_dcache"] == "T"


def require_no_warning(place: Path, on: str) -> None:
    """Fail if a file of ours has a warning, in a build where the NPU is driven."""
    warnings = strict_warnings(place, place / "build" / on)
    drivers = {"native": "native.c", "qemu": "bell.c", "board": "core.c"}
    assert {f"model/ethosgen/lib/npu/{drivers[on]}", "src/main.c"} <= warnings.keys()
    assert not {name: said for name, said in warnings.items() if said}


def make_threads(place: Path, networks: dict[str, Path]) -> None:
    """Render a project whose application is threads.c; one network runs in both threads."""
    create_project(
        recipe(*networks.values(), names=tuple(networks), platform=ZEPHYR),
        directory=place,
        watch=quiet(),
    )
    (place / "src" / "main.c").write_text((Path(__file__).parent / "threads.c").read_text())
    info = open_project(place)
    subjects = [subject(network, place) for network in info.networks]
    lines = [f'#include "{name}.h"' for name in networks]
    lines += ["static const struct subject subjects[] = {", *(subjects * 2)[:2], "};"]
    (place / "src" / "under_test.h").write_text("\n".join(lines) + "\n")


def subject(network: NetworkInfo, place: Path) -> str:
    """Return a network's functions, by the names that its header gives its input and output."""
    (header,) = (place / "model").rglob(f"{network.name}.h")
    name = network.name
    labels = re.findall(rf"static inline int8_t \*{name}_(\w+)\(void\)", header.read_text())
    sizes = [tensor.bytes for tensor in (*network.inputs, *network.outputs)]
    own = labels[: len(sizes)]  # then come input() and output(), their aliases
    for label, size in zip(own, sizes, strict=True):
        assert f"{name.upper()}_{label.upper()}_BYTES {size}\n" in header.read_text()
    return SUBJECT.format(
        name=name, input=labels[0], output=labels[1], input_bytes=sizes[0], output_bytes=sizes[1]
    )


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("on", ["qemu", "native"])
def test_threads_share_one_network_and_the_arena_of_two(
    on: str, count: int, tmp_path: Path
) -> None:
    networks = {"digits": DEMO, "pictures": image_net(tmp_path / "pictures.tflite")}
    make_threads(tmp_path / "app", dict(list(networks.items())[:count]))
    info = open_project(tmp_path / "app")
    built = build_zephyr(info, on)
    require_no_warning(tmp_path / "app", on)
    if on == "native":
        command = Path(sys.executable).parent / "ethosgen"
        environment = {**os.environ, "ETHOSGEN": str(command)}
        done = subprocess.run([str(built.elf)], env=environment, check=False, timeout=120)
        assert done.returncode == 0
        return
    attach = attach_model(find_accelerator(info.npu))
    with QemuTarget(QEMU.find(), built.elf, load_board("corstone300"), attach) as machine:
        deadline = time.monotonic() + 240
        while (status := machine.wait_for_exit()) is None and time.monotonic() < deadline:
            pass
        assert status == 0


def test_a_board_without_an_npu_is_named(tmp_path: Path) -> None:
    create_project(recipe(DEMO, platform=ZEPHYR), directory=tmp_path / "app", watch=quiet())
    overlay = tmp_path / "app" / "boards" / "on_board.overlay"
    overlay.write_text(overlay.read_text() + '\n&ethosu0 { status = "disabled"; };\n')
    with pytest.raises(BuildError, match=r"cannot be built: board mps3/\S+ has no NPU: its"):
        build_zephyr(open_project(tmp_path / "app"), "board")


def test_the_board_itself_builds_with_weights_where_the_memory_mode_says(tmp_path: Path) -> None:
    create_project(recipe(DEMO, platform=ZEPHYR), directory=tmp_path / "app", watch=quiet())
    built = build_zephyr(open_project(tmp_path / "app"), "board")
    require_no_warning(tmp_path / "app", "board")
    listed = subprocess.run(
        ["arm-none-eabi-readelf", "-SW", str(built.elf)], capture_output=True, text=True, check=True
    ).stdout
    places = {
        line.split("]")[1].split()[0]: int(line.split("]")[1].split()[2], 16)
        for line in listed.splitlines()
        if ".ethosgen_" in line
    }
    assert np.all([places[".ethosgen_weights"] >> 28 == 7, places[".ethosgen_arena"] >> 24 == 0x31])
