"""Outputs over inputs that nothing reads later: each kernel at exactly the distance it declares."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.layers import board_of
from ethosgen.aot import compile_program
from ethosgen.aot.loops.distances import rows_distance, windows_distance
from ethosgen.aot.memory import plan as memory_plan
from ethosgen.aot.memory.block import Trail
from ethosgen.values.extension import Extension
from ethosgen.values.multiples import rounded_up
from ethosgen.values.plan import Plan
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import GeneratedC, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]

DSP, THUMB2, THUMB, HELIUM = Extension.DSP, Extension.THUMB2, Extension.THUMB, Extension.HELIUM


def same_pixels(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 9, 7, 16)), 16, (1, 1))


def more_pixels(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 9, 7, 16)), 48, (1, 1))


def fewer_pixels(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 9, 7, 48)), 16, (1, 1))


def windows(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 11, 8, 16)), 16, (3, 3))


def windows_apart(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 11, 8, 16)), 32, (3, 3), (2, 2))


def more_pixels_apart(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 14, 11, 24)), 40, (1, 1))


def short_pixels(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 14, 11, 8)), 12, (1, 1))


def wide_windows(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 9, 30, 5)), 9, (3, 3), padding="SAME")


def wide_windows_apart(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 9, 40, 6)), 8, (5, 3), (2, 2))


def wide_depthwise(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 7, 40, 24)), (3, 3))


def wide_depthwise_apart(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 9, 40, 24)), (3, 3), (2, 2))


def wide_odd_depthwise(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 6, 24, 7)), (3, 3))


def high_depthwise(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 25, 5, 64)), (3, 3))


def high_odd_depthwise(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 25, 5, 12)), (5, 5))


def few(n: NetworkBuilder) -> int:
    return n.conv2d(n.input((1, 12, 16, 4)), 2, (3, 3))


def depthwise(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 9, 8, 16)), (3, 3))


def depthwise_apart(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 9, 8, 16)), (3, 3), (2, 2))


def other_depthwise(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 10, 8, 12)), (5, 4))


def strips(n: NetworkBuilder) -> int:
    return n.depthwise(n.input((1, 70, 32, 12)), (3, 3))


def maxima(n: NetworkBuilder) -> int:
    return n.max_pool(n.input((1, 12, 8, 16)), (3, 3), (1, 1), padding="SAME")


def means(n: NetworkBuilder) -> int:
    return n.average_pool(n.input((1, 12, 8, 16)), (3, 3), (1, 1), padding="SAME")


CASES: dict[str, tuple[Extension, Build]] = {
    "dsp, pixels to more channels": (DSP, more_pixels),
    "dsp, pixels to fewer channels": (DSP, fewer_pixels),
    "dsp, windows": (DSP, windows),
    "dsp, windows apart": (DSP, windows_apart),
    "dsp, few channels": (DSP, few),
    "dsp, lanes": (DSP, other_depthwise),
    "dsp, strips": (DSP, strips),
    "dsp, maxima": (DSP, maxima),
    "dsp, means": (DSP, means),
    "armv7-m, pixels": (THUMB2, same_pixels),
    "armv7-m, pixels to more channels": (THUMB2, more_pixels),
    "armv7-m, pixels to fewer channels": (THUMB2, fewer_pixels),
    "armv7-m, windows": (THUMB2, windows),
    "armv7-m, depthwise": (THUMB2, depthwise),
    "armv7-m, depthwise apart": (THUMB2, depthwise_apart),
    "armv7-m, maxima": (THUMB2, maxima),
    "armv6-m, pixels to more channels": (THUMB, more_pixels),
    "armv6-m, pixels to fewer channels": (THUMB, fewer_pixels),
    "armv6-m, windows apart": (THUMB, windows_apart),
    "armv6-m, means": (THUMB, means),
    "helium, windows": (HELIUM, wide_windows),
    "helium, windows apart": (HELIUM, wide_windows_apart),
    "helium, depthwise": (HELIUM, wide_depthwise),
    "helium, depthwise apart": (HELIUM, wide_depthwise_apart),
    "helium, odd depthwise": (HELIUM, wide_odd_depthwise),
    "helium, maxima": (HELIUM, maxima),
    "helium, means": (HELIUM, means),
}
IN_PLACE: dict[str, tuple[Extension, Build]] = {
    "dsp, pixels": (DSP, same_pixels),
    "dsp, depthwise": (DSP, depthwise),
    "armv6-m, pixels": (THUMB, same_pixels),
    "armv6-m, depthwise": (THUMB, depthwise),
    "armv7-m, other windows": (THUMB2, other_depthwise),
}
TOO_NEAR = (
    "armv7-m, pixels",
    "armv7-m, depthwise",
    "dsp, strips",
    "dsp, windows",
    "dsp, few channels",
    "helium, means",
    "helium, depthwise",
    "helium, windows",
)
"""Kernels that a line of 16 bytes, or a row of the picture, less is shown to break."""
CORES = {DSP: "cortex-m4", THUMB2: "cortex-m3", THUMB: "cortex-m0plus", HELIUM: "cortex-m55"}


def plan_of(case: tuple[Extension, Build]) -> Plan:
    return replace(cpu_plan(network_of(case[1])), extension=case[0])


def network_of(build: Build) -> bytes:
    net = NetworkBuilder("network", seed=4)
    return net.build(build(net))


def run(plan: Plan, folder: Path) -> int:
    """Compare the C on this machine; return how far the input is from the output."""
    program = compile_program(plan, "net")
    GeneratedC(program, folder).check(*samples_and_golden(plan.network))
    (source,), (target,) = program.inputs, program.outputs
    assert source.offset is not None and target.offset is not None
    return source.offset - target.offset


@pytest.fixture
def trails(monkeypatch: pytest.MonkeyPatch) -> list[Trail]:
    """Record the distances that kernels declare."""
    seen: list[Trail] = []

    def recorded(*fields: int) -> Trail:
        seen.append(Trail(*fields))
        return seen[-1]

    monkeypatch.setattr(memory_plan, "Trail", recorded)
    return seen


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_is_exact_at_its_distance(name: str, trails: list[Trail], tmp_path: Path) -> None:
    apart = run(plan_of(CASES[name]), tmp_path)
    (least,) = {rounded_up(trail.distance, lcm(16, trail.unit)) for trail in trails}
    assert apart == least, "nothing else keeps them apart"


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
@pytest.mark.parametrize("name", IN_PLACE)
def test_a_kernel_that_copies_first_is_exact_in_place(name: str, tmp_path: Path) -> None:
    assert run(plan_of(IN_PLACE[name]), tmp_path) == 0


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
@pytest.mark.parametrize("name", TOO_NEAR)
def test_a_smaller_distance_breaks_it(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = plan_of(CASES[name])
    less = 16 if "pixels" in name else _row_bytes(plan) + 16

    def nearer(output: int, source: int, distance: int, *rest: int) -> Trail:
        return Trail(output, source, max(distance - less, 1), *rest)

    monkeypatch.setattr(memory_plan, "Trail", nearer)
    monkeypatch.setattr("ethosgen.aot.compiler.check_memory", lambda *_: None)
    with pytest.raises(AssertionError):
        run(plan, tmp_path)


def _loose(cores: Iterable[Extension]) -> Iterator[Any]:
    """Yield the extensions, with a marker for the kernel that calls memset() for padding alone."""
    loose = pytest.mark.loose_stack("without padding ethosgen_dsp_gather() calls no memset()")
    for extension in cores:
        yield pytest.param(extension, marks=[loose] if extension is Extension.DSP else [])


def _row_bytes(plan: Plan) -> int:
    tensor = plan.network.graph.tensors[plan.network.graph.outputs[0]]
    return int(np.prod(tensor.shape[2:]))


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer", "only_the_first_library")
@pytest.mark.parametrize("extension", [*_loose(CORES)])
def test_processors_are_exact_at_all_distances(extension: Extension, tmp_path: Path) -> None:
    """Each layer is a network of its own, so that nothing else decides about its memory."""
    cases = {**CASES, **IN_PLACE}
    for number, (of, build) in enumerate(cases.values()):
        if of is extension:
            folder = tmp_path / str(number)
            folder.mkdir()
            check_firmware(network_of(build), folder, board_of(folder, CORES[extension]))


def least_distance(
    rows: int, sizes: tuple[int, int], ahead: int, stride: int = 1, before: int = 0
) -> int:
    """Return the least distance for the worst order that a kernel may have, event by event."""
    read, written = sizes
    filled, furthest = 0, 0
    for row in range(rows):
        first_read = max(row * stride - before, 0) * read
        if ahead:  # it writes what it may, and reads again
            filled = max(filled, min(row + ahead, rows) * written)
        furthest = max(furthest, filled - first_read)
        filled = max(filled, (row + 1) * written)
    return max(furthest, 1)


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("ahead", [0, 1, 2, 9])
def test_the_distances_are_the_least(rows: int, ahead: int) -> None:
    for read in (1, 3, 8):
        for written in (1, 4, 24):
            sizes = read, written
            assert rows_distance(rows, *sizes, ahead) == least_distance(rows, sizes, ahead)
            for stride, before in ((1, 0), (1, 1), (2, 1), (3, 4)):
                distance = windows_distance(rows, *sizes, ahead, stride, before)
                assert distance == least_distance(rows, sizes, ahead, stride, before)
