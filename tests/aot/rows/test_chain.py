"""Chains that compute bands of rows: the bits of whole tensors, at every height."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program, compiler
from ethosgen.aot.fuse.fusion import fuse_chains
from ethosgen.aot.libraries import libraries
from ethosgen.aot.rows.streaming import RowChain, patches_in, streamed
from ethosgen.aot.schedule.schedule import StepSchedule, make_schedule
from ethosgen.oracle import LITERT
from ethosgen.samples.drawing import random_samples
from ethosgen.values.extension import Extension
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.program import Program
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]
HEIGHTS = [Fraction(h) for h in ("1", "2", "3", "7", "40", "1/2", "1/4")]
EXTENSIONS = [Extension.HELIUM, Extension.DSP, Extension.THUMB2, Extension.THUMB, Extension.NONE]


def _inverted_residual(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 17, 16, 4)), 8, (3, 3))
    x = net.depthwise(x, stride=(2, 2), activation="RELU6")
    y = net.depthwise(net.conv2d(x, 24, (1, 1)))
    return net.conv2d(net.add(x, net.conv2d(y, 8, (1, 1))), 12)


def _valid_with_rows_to_spare(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 24, 12, 4)), 8, (4, 3), (3, 2), padding="VALID")
    return net.depthwise(x, (2, 2), (2, 2), padding="VALID")


def _large_windows(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 13, 12, 4)), 4, (7, 7))
    x = net.depthwise(x, (5, 5), (2, 2))
    return net.depthwise(x, (5, 3))


def _dilated(net: NetworkBuilder) -> int:
    x = net.input((1, 15, 8, 8))
    x = net.conv2d(x, 8, (3, 3), dilation=(3, 2))
    return net.depthwise(x, (3, 3), dilation=(2, 2))


def _pools(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 16, 16, 4)), 8, (3, 3))
    x = net.max_pool(x, (3, 3), (2, 2), padding="SAME")
    x = net.average_pool(x, (2, 2), (1, 1))
    return net.max_pool(x, (2, 3), (1, 2))


def _point_with_a_stride(net: NetworkBuilder) -> int:
    x = net.depthwise(net.input((1, 17, 16, 8)))
    return net.depthwise(net.conv2d(x, 8, (1, 1), (2, 2)))


def _elementwise(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 9, 8, 4)), 8)
    y = net.mul(x, net.logistic(x), scale=0.05)
    y = net.add(y, net.constant(np.arange(8).reshape(1, 1, 1, 8) - 4, "int8", 0.05, 0))
    return net.depthwise(net.unary("HARD_SWISH", net.maximum(x, y)))


def _padded(net: NetworkBuilder) -> int:
    x = net.pad(net.input((1, 9, 10, 4)), [(0, 0), (3, 1), (0, 2), (0, 0)])
    return net.depthwise(net.conv2d(x, 8, (4, 3), (2, 1), padding="VALID"))


def _skips_of_several_lengths(net: NetworkBuilder) -> int:
    x = net.input((1, 12, 8, 8))
    y = net.conv2d(net.depthwise(x), 8)
    z = net.conv2d(net.depthwise(y, (5, 5)), 8)
    return net.depthwise(net.add(net.add(x, z), y))


def _padded_averages(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 15, 8, 4)), 8, (3, 3))
    x = net.average_pool(x, (3, 3), (1, 1), padding="SAME")
    x = net.average_pool(x, (4, 3), (2, 1), padding="SAME")
    return net.average_pool(x, (5, 8), (1, 1), padding="SAME")


def _pools_of_the_input(net: NetworkBuilder) -> int:
    x = net.input((1, 9, 8, 8))
    return net.add(net.average_pool(x, (3, 3), (1, 1), padding="SAME"), net.depthwise(x))


def _padded_and_wide(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 11, 8, 8), "int16", 0.001, 0), 6, (3, 3))
    x = net.max_pool(x, (3, 3), (1, 1), padding="SAME")
    return net.average_pool(net.depthwise(x), (3, 3), (1, 1), padding="SAME")


def _joined(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 12, 8, 4)), 8)
    pooled = net.max_pool(x, (3, 3), (1, 1), padding="SAME")
    like = {"scale": net.tensors[x].scale, "zero_point": net.tensors[x].zero_point}
    x = net.concat([x, net.conv2d(x, 4, (5, 5), **like), pooled, x], **like)
    return net.conv2d(net.concat([x, x], 2), 8)


def _pyramid(net: NetworkBuilder) -> int:
    """Enlarge a coarse picture and join it to a fine one, as detection networks do."""
    fine = net.conv2d(net.input((1, 16, 8, 4)), 8, (3, 3))
    coarse = net.conv2d(net.depthwise(fine, stride=(2, 2)), 8, (3, 3))
    return net.depthwise(net.add(fine, _resized(net, coarse, (16, 8))), (3, 3))


def _enlarged(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 5, 4, 4)), 8, (3, 3))
    x = net.depthwise(_resized(net, x, (15, 12), half_pixel_centers=True), stride=(2, 1))
    return net.conv2d(_resized(net, x, (32, 48)), 4, (3, 3))


def _resized(
    net: NetworkBuilder,
    x: int,
    size: tuple[int, int],
    how: str = "NEAREST_NEIGHBOR",
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> int:
    shape = net.constant(np.array(size, np.int32))
    options = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return net.apply(f"RESIZE_{how}", x, shape, **options)


def _blended(net: NetworkBuilder) -> int:
    """Enlarge a picture to twice and to an uneven size, with each rule for the positions."""
    x = net.conv2d(net.input((1, 6, 4, 4)), 8, (3, 3))
    x = net.depthwise(_resized(net, x, (12, 8), "BILINEAR", half_pixel_centers=True))
    x = net.conv2d(_resized(net, x, (23, 15), "BILINEAR", align_corners=True), 8, (3, 3))
    return net.conv2d(_resized(net, x, (37, 16), "BILINEAR"), 4, (3, 3))


def _blended_smaller(net: NetworkBuilder) -> int:
    x = net.depthwise(net.input((1, 31, 12, 4)), (5, 3))
    x = _resized(net, x, (22, 10), "BILINEAR", align_corners=True)
    x = net.depthwise(_resized(net, x, (7, 4), "BILINEAR"))
    return net.depthwise(_resized(net, x, (5, 3), "BILINEAR", half_pixel_centers=True))


def _nearest_unevenly(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 9, 8, 4)), 4, (3, 3))
    x = net.depthwise(_resized(net, x, (16, 12), align_corners=True))
    return net.depthwise(_resized(net, x, (5, 4), half_pixel_centers=True))


def _to_one_row_and_back(net: NetworkBuilder) -> int:
    """Shrink a picture to one row and repeat it, as a segmentation network's pooled branch does."""
    x = net.conv2d(net.input((1, 9, 4, 4)), 4, (3, 3))
    x = net.conv2d(_resized(net, x, (1, 4), "BILINEAR"), 4, (1, 1))
    return net.depthwise(_resized(net, x, (9, 8), "BILINEAR", align_corners=True), (3, 3))


def _segmentation(net: NetworkBuilder) -> int:
    """Join a coarse picture to the fine one, which an ADD reads too; unequal channels."""
    fine = net.conv2d(net.input((1, 16, 8, 4)), 8, (3, 3))
    like = {"scale": net.tensors[fine].scale, "zero_point": net.tensors[fine].zero_point}
    coarse = net.conv2d(net.depthwise(fine, stride=(2, 2)), 20, (3, 3), **like)
    coarse = _resized(net, coarse, (16, 8), "BILINEAR", half_pixel_centers=True)
    joined = net.concat([fine, coarse, net.conv2d(fine, 4, (1, 1), **like)], **like)
    y = net.add(fine, net.conv2d(joined, 8, (3, 3)))
    return _resized(net, net.conv2d(y, 4, (1, 1)), (40, 16), "BILINEAR")


def _wide(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 11, 8, 8), "int16", 0.001, 0), 6, (3, 3), padding="VALID")
    return net.depthwise(x, padding="VALID")


def _of_bytes(net: NetworkBuilder) -> int:
    x = net.quantize(net.input((1, 15, 12, 3), "uint8", 0.02, 128), "int8", 0.02, 0)
    return net.depthwise(net.conv2d(x, 8, (3, 3), (2, 2)))


def _of_floats(net: NetworkBuilder) -> int:
    x = net.quantize(net.input((1, 14, 8, 3), "float32"), "int8", 0.02, 3)
    return net.conv2d(net.add(x, net.conv2d(x, 3, (3, 3))), 8, (3, 3))


NETWORKS: dict[str, Build] = {
    "inverted residual": _inverted_residual,
    "valid": _valid_with_rows_to_spare,
    "large windows": _large_windows,
    "dilated": _dilated,
    "pools": _pools,
    "point with a stride": _point_with_a_stride,
    "elementwise": _elementwise,
    "padded": _padded,
    "skips": _skips_of_several_lengths,
    "int16": _wide,
    "padded averages": _padded_averages,
    "pools of the input": _pools_of_the_input,
    "padded int16": _padded_and_wide,
    "joined": _joined,
    "pyramid": _pyramid,
    "enlarged": _enlarged,
    "blended": _blended,
    "blended smaller": _blended_smaller,
    "nearest unevenly": _nearest_unevenly,
    "to one row": _to_one_row_and_back,
    "segmentation": _segmentation,
    "bytes": _of_bytes,
    "floats": _of_floats,
}


def whole_chain(plan: Plan, rows: Fraction, patches: int = 1) -> StepSchedule | None:
    """Return the schedule whose steps are all one chain, None if the height does not fit."""
    schedule, among = make_schedule(plan), libraries(plan.extension)
    chain = RowChain(0, len(schedule.steps), rows, patches)
    if patches_in(schedule, chain) is None:
        return None
    return fuse_chains(streamed(schedule, [chain], among, "net"), among)


def _compiled(schedule: StepSchedule, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(compiler, "ready_schedule", lambda _plan, _name: schedule)
    return compile_program(plan, "net")


@needs_gcc
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_height_has_the_bits_of_whole_tensors(
    name: str, extension: Extension, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = NetworkBuilder("network", seed=4)
    plan = replace(cpu_plan(net.build(NETWORKS[name](net))), extension=extension)
    heights = [rows for rows in HEIGHTS if whole_chain(plan, rows)]
    assert len(heights) > 3
    tried = heights[EXTENSIONS.index(extension) % 2 :: 2]
    _compare(plan, tried, *samples_and_golden(plan.network, 2), tmp_path, monkeypatch)


PATCHES = {
    "inverted residual": 4,
    "valid": 2,
    "large windows": 3,
    "dilated": 2,
    "pools": 3,
    "point with a stride": 3,
    "elementwise": 3,
    "padded": 4,
    "skips": 4,
    "int16": 2,
    "padded averages": 4,
    "pools of the input": 2,
    "padded int16": 3,
}
"""Networks whose operators can compute some columns alone, and a number of patches."""


@needs_gcc
@pytest.mark.parametrize("name", PATCHES)
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_patches_have_the_bits_of_whole_tensors(
    name: str, extension: Extension, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = NetworkBuilder("network", seed=4)
    plan = replace(cpu_plan(net.build(NETWORKS[name](net))), extension=extension)
    heights = [rows for rows in HEIGHTS if whole_chain(plan, rows, PATCHES[name])]
    assert len(heights) > 3
    tried = heights[EXTENSIONS.index(extension) % len(heights) :: len(EXTENSIONS)]
    samples = samples_and_golden(plan.network, 2)
    _compare(plan, tried, *samples, tmp_path, monkeypatch, PATCHES[name])


@needs_gcc
def test_rows_of_an_int16_resize_equal_litert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TFLite Micro has no RESIZE_BILINEAR of int16."""
    net = NetworkBuilder("network", seed=4)
    x = net.max_pool(net.input((1, 7, 6, 4), "int16", 0.001, 0), (3, 3), (1, 1), padding="SAME")
    x = _resized(net, x, (18, 10), "BILINEAR", half_pixel_centers=True)
    x = _resized(net, x, (11, 7), "BILINEAR", align_corners=True)
    plan = cpu_plan(net.build(net.max_pool(x, (3, 2), (1, 1))))
    samples = random_samples(plan.network, 3, seed=3)
    _compare(plan, HEIGHTS, samples, LITERT.run(plan.network, samples), tmp_path, monkeypatch)


def _compare(
    plan: Plan,
    heights: Sequence[Fraction],
    samples: Sequence[Arrays],
    golden: Sequence[Arrays],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    patches: int = 1,
) -> None:
    """Assert that chains of some heights have the golden outputs."""
    for rows in heights:
        schedule = whole_chain(plan, rows, patches)
        assert schedule is not None and len(schedule.steps) == 1
        program = _compiled(schedule, plan, monkeypatch)
        folder = tmp_path / str(rows).replace("/", "_")
        folder.mkdir()
        generated = GeneratedC(program, folder)
        for sample, wanted in zip(samples, golden, strict=True):
            assert_equal(generated.outputs(sample), wanted)


@needs_gcc
def test_the_callers_buffers_are_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = NetworkBuilder("network", seed=4)
    plan = cpu_plan(net.build(_inverted_residual(net)), IoStyle.CALLER)
    schedule = whole_chain(plan, Fraction(1))
    assert schedule is not None
    generated = GeneratedC(_compiled(schedule, plan, monkeypatch), tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network, 2), strict=True):
        assert_equal(generated.outputs(sample), wanted)


def test_a_profile_counts_each_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    net = NetworkBuilder("network", seed=4)
    plan = cpu_plan(net.build(_inverted_residual(net)))
    schedule = whole_chain(plan, Fraction(1))
    assert schedule is not None
    program = _compiled(schedule, plan, monkeypatch)
    chain, *inner = program.steps
    operators = plan.network.graph.operators
    assert [step.name for step in inner] == [op.code for op in operators] == chain.name.split(" + ")
    assert {step.inside for step in inner} == {1} and chain.inside == 0
    source = program.sources["net_graph.c"]
    assert all(source.count(f"ETHOSGEN_STEP({n});") == 1 for n in range(2, len(operators) + 2))


def test_bands_share_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other heights only depthwise layers have some in another order."""
    net = NetworkBuilder("network", seed=4)
    plan = cpu_plan(net.build(_inverted_residual(net)))
    usual = _constant_bytes(compile_program(plan, "net"))
    for rows, more in (("1", 0), ("3", 0.15)):
        schedule = whole_chain(plan, Fraction(rows))
        assert schedule is not None
        own = _constant_bytes(_compiled(schedule, plan, monkeypatch))
        assert usual <= own <= usual * (1 + more)


def _constant_bytes(program: Program) -> int:
    return sum(len(constant.data) for constant in program.constants)
