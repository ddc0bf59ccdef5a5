"""Devices that work at once, on QEMU: two of one accelerator, and one beside the NPU."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.platforms import BAREMETAL, LIBRARY_ONLY, LINUX, ZEPHYR
from ethosgen.values.plan import IoStyle, OffloadMode, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_gcc, needs_qemu, needs_qemu_user, needs_zephyr
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import changed
from tests.support.twin_accelerator import TOML, branches, busy_times, write_twins

SAMPLES = 3
FAST = TOML.replace("output_elements * kernel_h * kernel_w * input_channels", "500").replace(
    '"weights_zero_point == 0', '"kernel_h == 5", "weights_zero_point == 0'
)
"""It takes only what is 5 high, and is faster than the NPU."""


def verified(recipe: Recipe) -> Report:
    """Return the report of a run whose outputs equal TensorFlow Lite Micro's."""
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, SAMPLES, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.golden is not None and report.golden.mismatches == 0
    return report


def on_twins(
    folder: Path, board: str = "corstone300", platform: str = BAREMETAL
) -> tuple[Report, list[list[tuple[int, int]]]]:
    """Run two branches with two instances; return the report and when each instance works."""
    told = folder / "told"
    accelerator = str(write_twins(folder, told))
    network = branches(folder / "branches.tflite")
    recipe = Recipe((network,), board, "none", platform=platform, accelerators=(accelerator,))
    return verified(recipe), busy_times(told)


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_two_instances_compute_two_branches_at_once(tmp_path: Path) -> None:
    report, (first, other) = on_twins(tmp_path)
    assert len(first) == len(other) == 2 * SAMPLES
    for (start, end), (other_start, other_end) in zip(first, other, strict=True):
        assert start < other_end and other_start < end, "the second starts before the first ends"
    assert any("twin[0] beside" in line and "twin[1]" in line for line in report.plan.overlapped)


@needs_zephyr
@needs_qemu
@needs_gcc
def test_two_instances_compute_at_once_on_zephyr(tmp_path: Path) -> None:
    _, ((first, *_), (second, *_)) = on_twins(tmp_path, platform=ZEPHYR)
    assert first[0] < second[1] and second[0] < first[1]


@needs_qemu_user
@needs_gcc
def test_two_instances_compute_at_once_under_linux(tmp_path: Path) -> None:
    report, ((first, *_), (second, *_)) = on_twins(tmp_path, "aarch64-linux", LINUX)
    assert [share.operators for share in report.plan.shares] == [4]
    assert first[0] < second[1] and second[0] < first[1]


def test_a_projects_files_have_each_device_and_the_accelerator_once(tmp_path: Path) -> None:
    folder = write_twins(tmp_path, tmp_path / "told")
    places = "base = [0x58103000, 0x58104000]\nirq = [57, 58]\n\n[[operator]]"
    toml = changed("[[operator]]", f"[device.boards.corstone300]\n{places}", TOML)
    (folder / "accelerator.toml").write_text(toml)
    network = branches(tmp_path / "branches.tflite")
    recipe = Recipe(
        (network,),
        "corstone300",
        "none",
        platform=LIBRARY_ONLY,
        options=OffloadOptions(check=False),
        accelerators=(str(folder),),
    )
    flow.create_project(recipe, directory=tmp_path / "p", watch=Watch())
    page = (tmp_path / "p/README.md").read_text()
    for number, address, irq in ((0, "0x58103000u", 57), (1, "0x58104000u", 58)):
        assert f"ethosgen_device_init(&ethosgen_device_twin[{number}], {address});" in page
        assert f"&ethosgen_device_twin[{number}])` from interrupt {irq};" in page
    assert page.count("--accelerator model/twin") == 1
    header = (tmp_path / "p/model/ethosgen_devices.h").read_text()
    assert header.count("extern struct ethosgen_device ethosgen_device_twin[2];") == 1


@pytest.mark.slow
@needs_gcc
@needs_qemu
@pytest.mark.parametrize("io", IoStyle)
def test_a_device_computes_beside_the_npu(io: IoStyle, tmp_path: Path) -> None:
    """The NPU's partition is between the start, of which the driver tells, and the wait."""
    told = tmp_path / "told"
    folder = write_twins(tmp_path, told, 1, FAST)
    net = NetworkBuilder("beside", seed=4)
    x = net.input((1, 24, 24, 8), name="x")
    deep = net.conv2d(net.conv2d(x, 8, (3, 3), padding="VALID"), 8, (3, 3), padding="VALID")
    wide = net.conv2d(x, 8, (5, 5), padding="VALID")
    network = tmp_path / "beside.tflite"
    network.write_bytes(net.build(deep, wide))
    recipe = Recipe(
        (network,),
        "corstone300",
        "ethos-u55-128",
        io=io,
        options=OffloadOptions(mode=OffloadMode.AUTO),
        accelerators=(str(folder),),
    )
    report = verified(recipe)
    assert len(report.plan.overlapped) == 1
    assert "on twin beside" in report.plan.overlapped[0]
    assert report.plan.overlapped[0].endswith("on the NPU")
    assert len(busy_times(told, 1)[0]) == SAMPLES
