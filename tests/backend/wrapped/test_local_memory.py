"""A memory of the accelerator's own: what a call needs is copied there and back."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.errors import AcceleratorFault
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.conv_accelerator import HEADER, SOURCE, TOML
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import changed, write_folder

LOCAL = """\
alignment = 16
[memory.local]
bytes = 4096
symbol = "engine_memory"
copy_in = "engine_copy"
copy_out = "engine_copy"
"""
MORE = """\
extern uint8_t engine_memory[];
int32_t engine_copy(void *to, const void *from, int32_t bytes);
"""
COPY = """\
#include <string.h>
uint8_t engine_memory[4096];
int32_t engine_copy(void *to, const void *from, int32_t bytes)
{
    const uint8_t *end = engine_memory + sizeof engine_memory;
    const uint8_t *place = (uint8_t *)to >= engine_memory && (uint8_t *)to < end ? to : from;
    if (place < engine_memory || place + bytes > end) {
        return 9;
    }
    memcpy(to, from, (size_t)bytes);
    return 0;
}
static int is_outside(const void *address)
{
    const uint8_t *place = address;
    return place && (place < engine_memory || place >= engine_memory + sizeof engine_memory);
}
"""
GUARD = """\
    int32_t *sums = scratch;
    if (is_outside(input) || is_outside(weights) || is_outside(output) || is_outside(scratch)) {
        return 8;
    }
"""


def folder_with(place: Path, local: str = LOCAL) -> Path:
    source = COPY + changed("    int32_t *sums = scratch;\n", GUARD, SOURCE)
    return write_folder(place, changed("alignment = 32\n", local, TOML), HEADER + MORE, source)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    net = NetworkBuilder("convs", seed=5)
    x = net.conv2d(net.input((1, 6, 5, 4)), 8, bias=False)
    x = net.conv2d(x, 3, (1, 1))
    path = tmp_path / "convs.tflite"
    path.write_bytes(net.build(x))
    return path


def simulate(model: Path, folder: Path) -> Report:
    inputs, options = Inputs(None, 5, 0), OffloadOptions()
    return flow.simulate(
        model,
        npu="none",
        accelerators=(str(folder),),
        inputs=inputs,
        options=options,
        watch=Watch(),
    )


@needs_gcc
def test_everything_is_copied_there_and_back(model: Path, tmp_path: Path) -> None:
    report = simulate(model, folder_with(tmp_path / "engine"))
    assert report.passed
    assert report.plan.shares[0].partitions == 2


@needs_gcc
def test_what_does_not_fit_stays_on_the_cpu(model: Path, tmp_path: Path) -> None:
    report = simulate(model, folder_with(tmp_path / "engine", LOCAL.replace("4096", "600")))
    assert report.passed
    assert report.plan.shares[0].partitions == 1
    assert "bytes of its own memory, which has 600" in report.plan.cpu_operators[0].reason


@needs_gcc
def test_a_copy_that_fails_ends_the_call(model: Path, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "engine")
    source = folder / "toy_add.c"
    source.write_text(source.read_text().replace("memcpy(to", "return 5; memcpy(to"))
    with pytest.raises(AcceleratorFault, match="returned status 5"):
        simulate(model, folder)


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_it_runs_on_qemu(model: Path, tmp_path: Path) -> None:
    folders = (str(folder_with(tmp_path / "engine")),)
    recipe = Recipe((model,), "corstone300", "none", accelerators=folders)
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 3, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].partitions == 2
