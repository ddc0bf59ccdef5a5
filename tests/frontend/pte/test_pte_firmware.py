"""A program on its whole way: a project for a board, built, and run on QEMU."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.frontend import read
from ethosgen.project import open_project
from ethosgen.values.plan import IoStyle
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Criteria, Inputs
from tests.support.needs import needs_build, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.program_file import ProgramFile, compile_raw, vela_stream

RANDOM = Inputs(None, 4, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write net.tflite, and a program of two delegates that compute it, with a copy between."""
    place = tmp_path_factory.mktemp("program")
    front, back = NetworkBuilder("front", 4), NetworkBuilder("back", 5)
    output = front.tensors[front.conv2d(front.input((1, 8, 8, 4)), 6, activation="RELU")]
    scale, zero_point = output.scale, output.zero_point
    assert isinstance(scale, float) and isinstance(zero_point, int)
    begin = back.input((1, 8, 8, 6), scale=scale, zero_point=zero_point)
    back.softmax(back.fully_connected(begin, 10))
    program = ProgramFile()
    x, y, z = (program.tensor(size) for size in ((1, 8, 8, 4), (1, 8, 8, 6), (1, 10)))
    between = program.tensor((1, 8, 8, 6))
    for net, source, target in ((front, x, y), (back, between, z)):
        (place / net.name).mkdir()
        raw = compile_raw(place / net.name, net.build(), "ethos-u55-128")
        program.call(vela_stream(raw), source, target)
        if net is front:
            program.kernel("aten::clone.out", y, program.none(), between, between)
    (place / "net.pte").write_bytes(program.build([x], [z], segments=True))
    whole = NetworkBuilder("net", 4)
    middle = whole.conv2d(whole.input((1, 8, 8, 4)), 6, activation="RELU")
    whole.random = np.random.default_rng(5)
    whole.softmax(whole.fully_connected(middle, 10))
    (place / "net.tflite").write_bytes(whole.build())
    return place


@needs_build
@needs_qemu
def test_a_program_passes_on_qemu_by_the_original_networks_answers(folder: Path) -> None:
    recipe = Recipe((folder / "net.pte",), "corstone300")
    report = flow.verify(
        recipe,
        flow.RunOptions(RANDOM, criteria=Criteria(golden=folder / "net.tflite")),
        watch=Watch(),
    )
    assert report.passed and report.golden is not None
    assert (report.golden.oracle, report.golden.elements, report.golden.mismatches) == (
        "tflm",
        4 * 10,
        0,
    )
    assert report.plan.npu == "ethos-u55-128" and report.plan.partitions == 2


@needs_build
@needs_qemu
def test_a_callers_buffers_pass_too(folder: Path) -> None:
    recipe = Recipe((folder / "net.pte",), "corstone300", io=IoStyle.CALLER)
    criteria = Criteria(golden=folder / "net.tflite")
    report = flow.verify(recipe, flow.RunOptions(RANDOM, criteria=criteria), watch=Watch())
    assert report.passed


@needs_build
@needs_qemu
def test_without_golden_outputs_nothing_is_compared(folder: Path) -> None:
    recipe = Recipe((folder / "net.pte",), "corstone300")
    report = flow.verify(recipe, flow.RunOptions(RANDOM), watch=Watch())
    assert report.ended and report.golden is None and not report.passed


def test_a_project_stores_the_program(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "project"
    recipe = Recipe((folder / "net.pte",), "corstone300")
    flow.create_project(recipe, directory=place, watch=Watch())
    (network,) = open_project(place).networks
    assert (network.format, network.source.name) == ("pte", "net.pte")
    assert network.source.read_bytes() == (folder / "net.pte").read_bytes()
    assert len(read(network.source, network.format).graph.operators) == 7
