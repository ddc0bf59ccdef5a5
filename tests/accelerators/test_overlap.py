"""An accelerator that computes while the CPU works, on QEMU: how long, counted by its driver."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import PLAIN, changed, write_folder

HEADER = """\
#include <stdint.h>
int32_t toy_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count);
int32_t toy_wait(void);
"""
DRIVER = """
#include "ethosgen_devices.h"
#ifdef __arm__
#define CLOCK (*(volatile uint32_t *)0x58100008u) /* it counts instructions on QEMU */
#else
#define CLOCK ++clock
static uint32_t clock;
#endif
enum { START = 0x00, DONE = 0x04, A = 0x08, B = 0x0C, SUM = 0x10, COUNT = 0x14, BESIDE = 0x18 };
static const struct ethosgen_device *const toy = &ethosgen_device_toy;
static uint32_t started, per_ms;

static void put(uint32_t offset, uint32_t value)
{
    *ethosgen_device_register(toy, offset) = value;
}

int32_t toy_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count)
{
    put(A, (uint32_t)(uintptr_t)a);
    put(B, (uint32_t)(uintptr_t)b);
    put(SUM, (uint32_t)(uintptr_t)sum);
    put(COUNT, (uint32_t)count);
    ETHOSGEN_DEVICE_BARRIER();
    put(START, *ethosgen_device_register(toy, DONE) + 1u);
    started = CLOCK;
    return 0;
}

int32_t toy_wait(void)
{
    uint32_t number = *ethosgen_device_register(toy, START);
    put(BESIDE, CLOCK - started);
    return ethosgen_device_await(toy, DONE, 0xFFFFFFFFu, number);
}
"""
MODEL = """
import json
from dataclasses import replace
from pathlib import Path

class Toy:
    def __init__(self, registers, memory, interrupt):
        self.registers, self.memory, self.interrupt = registers, memory, interrupt
        self.beside = []

    def poll(self):
        r = self.registers
        if r[0x00] == r[0x04] or r[0x18] == 0:  # it computes as late as it can: during the wait
            return False
        shape = (r[0x14],)
        a, b = (self.memory.read(r[at], shape, "int8", (1,)).astype(int) for at in (0x08, 0x0C))
        self.memory.write(r[0x10], (a + b).clip(-128, 127).astype("int8"), (1,))
        self.beside.append(int(r[0x18]))
        Path("PLACE").write_text(json.dumps(self.beside))
        r[0x18] = 0
        r[0x04] = r[0x00]
        self.interrupt()
        return True
"""


def write_device(folder: Path, told: Path, awaited: bool) -> Path:
    """Write the toy as a device; without `awaited` each call waits for its end."""
    toml = changed(
        'kind = "device"',
        'kind = "device"\ndevice = { registers = 0x20, model = "model.py:Toy" }',
    )
    driver = DRIVER
    if awaited:
        toml = toml.replace('"output_elements"]', '"output_elements"]\nawaited = "toy_wait"')
    else:
        driver = changed("    return 0;", "    return toy_wait();", DRIVER)
    write_folder(folder, toml, HEADER, driver)
    (folder / "model.py").write_text(MODEL.replace("PLACE", str(told)))
    return folder


def two_branches(path: Path) -> Path:
    """Write a network whose first branch the toy takes, and whose second the CPU."""
    net = NetworkBuilder("branches", seed=4)
    x, y = net.input((1, 256), name="x", **PLAIN), net.input((1, 256), name="y", **PLAIN)
    left = net.add(x, y, **PLAIN)
    other = net.fully_connected(net.mul(x, y, scale=0.1), 256, scale=0.5)
    path.write_bytes(net.build(net.add(left, other, scale=0.3, zero_point=1)))
    return path


@pytest.mark.slow
@needs_gcc
@needs_qemu
@pytest.mark.parametrize("awaited", [True, False])
def test_the_cpu_works_while_a_device_does(awaited: bool, tmp_path: Path) -> None:
    told = tmp_path / "beside.json"
    folder = write_device(tmp_path / "toy", told, awaited)
    network = two_branches(tmp_path / "branches.tflite")
    recipe = Recipe((network,), "corstone300", "none", accelerators=(str(folder),))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 3, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.golden is not None and report.golden.mismatches == 0
    beside = json.loads(told.read_text())
    assert len(beside) == 3
    if awaited:
        assert report.plan.overlapped == ("'add_2' on toy beside MUL, FULLY_CONNECTED",)
        assert min(beside) > 5_000, beside
    else:
        assert report.plan.overlapped == ()
        assert max(beside) < 100, beside


@needs_gcc
def test_an_estimate_counts_once_what_happens_at_once(tmp_path: Path) -> None:
    """The fronts of `compare` choose by it, and a limit of the SRAM does."""
    network, written = two_branches(tmp_path / "branches.tflite"), []
    for awaited in (True, False):
        place = tmp_path / str(awaited)
        place.mkdir()
        folder = write_device(place / "toy", place / "told", awaited)
        recipe = Recipe((network,), "corstone300", "none", accelerators=(str(folder),))
        limited = replace(recipe, sram_limit=1 << 20)
        written.append(flow.create_project(limited, directory=place / "p", watch=Watch()))
    beside, alone = (each.programs[0].hidden_cycles for each in written)
    assert beside > alone == 0
    with_it, without = (each.choices[0].chosen.cost.cycles for each in written)
    assert without - with_it == beside
