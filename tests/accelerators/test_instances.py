"""Devices that work at once, on QEMU: two of one accelerator, and one beside the NPU."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.plan import IoStyle, OffloadMode, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.twin_accelerator import TOML, busy_times, write_twins

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


def branches(path: Path) -> Path:
    """Write a network of two branches, in the order of a program for one device.

    Each has two convolutions with an operator of the CPU between them.
    """
    net = NetworkBuilder("branches", seed=4)
    x = net.input((1, 12, 12, 8), name="x")
    ends = []
    for _ in range(2):
        first = net.conv2d(x, 8, (3, 3), padding="VALID")
        ends.append(net.conv2d(net.mul(first, first), 4, (3, 3), padding="VALID"))
    path.write_bytes(net.build(net.add(*ends)))
    return path


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_two_instances_compute_two_branches_at_once(tmp_path: Path) -> None:
    told = tmp_path / "told"
    folder = write_twins(tmp_path, told)
    network = branches(tmp_path / "branches.tflite")
    report = verified(Recipe((network,), "corstone300", "none", accelerators=(str(folder),)))
    one, other = busy_times(told)
    assert len(one) == len(other) == 2 * SAMPLES
    for (start, end), (other_start, other_end) in zip(one, other, strict=True):
        assert start < other_end and other_start < end, "the second starts before the first ends"
    assert any("twin[0] beside" in line and "twin[1]" in line for line in report.plan.overlapped)


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
