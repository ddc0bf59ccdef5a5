"""Which chains a limit chooses, and what they cost."""

from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.aot import compile_program
from ethosgen.aot.rows import choice
from ethosgen.values.extension import Extension
from ethosgen.values.plan import EXACT, Plan
from ethosgen.values.report import Report
from ethosgen.values.schedule import Schedule, Streaming
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe


def _mobile() -> bytes:
    """Return a small MobileNetV2, whose first block needs most of the memory."""
    net = NetworkBuilder("network", seed=4)
    x = net.conv2d(net.input((1, 32, 32, 4)), 8, (3, 3), (2, 2), activation="RELU6")
    for channels, stride in ((8, 1), (12, 2), (12, 1)):
        depth = net.tensors[x].shape[3]
        y = net.conv2d(x, 6 * depth, (1, 1), activation="RELU6")
        y = net.depthwise(y, stride=(stride, stride), activation="RELU6")
        y = net.conv2d(y, channels, (1, 1))
        x = net.add(x, y) if stride == 1 and depth == channels else y
    return net.build(net.fully_connected(net.mean(x), 10))


def _panorama() -> bytes:
    """Return a network whose rows are wide, and few."""
    net = NetworkBuilder("network", seed=4)
    x = net.conv2d(net.input((1, 16, 128, 4)), 8, (3, 3), (2, 2))
    x = net.depthwise(net.conv2d(x, 48, (1, 1)))
    return net.build(net.max_pool(net.conv2d(x, 8, (1, 1)), (8, 8), (8, 8)))


def _scheduled(plan: Plan, schedule: Schedule) -> Plan:
    return replace(plan, options=replace(EXACT, schedule=schedule))


@needs_gcc
@pytest.mark.parametrize("extension", [Extension.HELIUM, Extension.DSP, Extension.THUMB])
def test_a_limit_is_met_with_the_same_bits(extension: Extension, tmp_path: Path) -> None:
    plan = replace(cpu_plan(_mobile()), extension=extension)
    samples, golden = samples_and_golden(plan.network, 2)
    usual = compile_program(plan, "net")
    least = compile_program(_scheduled(plan, Schedule(stream=Streaming.ALWAYS)), "net")
    assert least.arena_bytes < 0.6 * usual.arena_bytes
    for number, share in enumerate((0.9, 0.5, 0.0)):
        size = least.arena_bytes + share * (usual.arena_bytes - least.arena_bytes)
        program = compile_program(_scheduled(plan, Schedule(arena_bytes=int(size))), "net")
        assert program.arena_bytes <= size
        assert program.stream_cycles > 0
        (tmp_path / str(number)).mkdir()
        generated = GeneratedC(program, tmp_path / str(number))
        for sample, wanted in zip(samples, golden, strict=True):
            assert_equal(generated.outputs(sample), wanted)


@needs_gcc
def test_patches_need_less_than_whole_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _scheduled(cpu_plan(_panorama()), Schedule(stream=Streaming.ALWAYS))
    patched = compile_program(plan, "net")
    assert "_patch_0_" in patched.sources["net_graph.c"]
    GeneratedC(patched, tmp_path).check(*samples_and_golden(plan.network, 2))
    monkeypatch.setattr(choice, "PATCHES", ())
    whole = compile_program(plan, "net")
    assert "_patch_" not in whole.sources["net_graph.c"]
    assert patched.arena_bytes < 0.9 * whole.arena_bytes


def test_slices_have_no_patches() -> None:
    asked = Schedule(stream=Streaming.ALWAYS, steps=True)
    program = compile_program(_scheduled(cpu_plan(_panorama()), asked), "net")
    assert "_patch_" not in program.sources["net_graph.c"]


def test_nothing_changes_without_a_need() -> None:
    plan = cpu_plan(_mobile())
    usual = compile_program(plan, "net")
    assert usual.arena_bytes > 1000 and usual.stream_cycles == 0
    for schedule in (
        Schedule(arena_bytes=usual.arena_bytes),
        Schedule(arena_bytes=100, stream=Streaming.OFF),
        Schedule(stream=Streaming.OFF),
    ):
        program = compile_program(_scheduled(plan, schedule), "net")
        assert program.sources == usual.sources
        assert program.arena_bytes == usual.arena_bytes


def test_a_limit_that_nothing_meets_gets_the_least() -> None:
    plan = cpu_plan(_mobile())
    least = compile_program(_scheduled(plan, Schedule(stream=Streaming.ALWAYS)), "net")
    program = compile_program(_scheduled(plan, Schedule(arena_bytes=16)), "net")
    assert program.arena_bytes == least.arena_bytes


@needs_qemu
@pytest.mark.parametrize("board", ["corstone300", "mps2-an386", "mps2-an385", "microbit"])
def test_the_firmware_equals_tflite_micro(board: str, tmp_path: Path) -> None:
    path = tmp_path / "mobile.tflite"
    path.write_bytes(_mobile())
    asked = recipe(path, board=board, npu="none", check=False)
    options = replace(asked.options, schedule=Schedule(stream=Streaming.ALWAYS))
    inputs = flow.RunOptions(Inputs(None, 2, 11))
    report = flow.verify(replace(asked, options=options), inputs, watch=Watch())
    assert isinstance(report, Report) and report.passed
