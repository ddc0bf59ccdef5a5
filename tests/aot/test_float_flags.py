"""Floating-point results: the same by whatever options the integrator compiles."""

import subprocess
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.aot import compile_program
from ethosgen.aot.code.csource import computes_floats
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.host.tools import CMAKE, NINJA, QEMU
from ethosgen.values.plan import IoStyle
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.aot_harness import cpu_plan, write_sources
from tests.support.catalogue.layers import LAYERS
from tests.support.needs import needs_arm_gcc
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

CORE = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-std=c11"]
HARMFUL = [
    "-ffast-math", "-fmath-errno", "-ffp-contract=fast", "-fsingle-precision-constant",
]  # fmt: skip
"""errno affects no result, but a sqrtf that sets it compiles to different code."""


def float_network() -> bytes:
    net = NetworkBuilder("floats", 7)
    return net.build(*(build(net, "float32") for build in LAYERS))


def disassembly(folder: Path, *options: str) -> str:
    """Return the instructions of the graph's C by these options."""
    code = folder / "graph.o"
    source = str(folder / "floats_graph.c")
    command = ["arm-none-eabi-gcc", *CORE, *options, "-c", source, "-o", str(code)]
    subprocess.run(command, check=True)
    command = ["arm-none-eabi-objdump", "-d", "--no-show-raw-insn", str(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@needs_arm_gcc
@pytest.mark.parametrize("level", ["-Os", "-O3"])
def test_the_source_alone_yields_the_same_instructions(tmp_path: Path, level: str) -> None:
    network = parse_network(float_network(), "floats.tflite")
    write_sources(compile_program(cpu_plan(network, IoStyle.CALLER), "floats"), tmp_path)
    plain = disassembly(tmp_path, level)
    assert "vmul.f32" in plain or "vmla.f32" in plain
    assert disassembly(tmp_path, level, *HARMFUL) == plain
    assert "vfma" not in plain, "one rounding where TFLite Micro has two"
    assert ".f32\tq" not in plain, "Helium's vectors take subnormal numbers for zero"


@needs_arm_gcc
def test_the_library_is_exact_by_the_fastest_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in (CMAKE, NINJA, QEMU):
        tool.find()
    monkeypatch.setenv("CFLAGS", "-Ofast -ffp-contract=fast")
    net = NetworkBuilder("floats", 7)
    outputs = [build(net, "float32") for build in LAYERS if "softmax" not in build.__name__]
    network, place = tmp_path / "floats.tflite", tmp_path / "p"
    network.write_bytes(net.build(*outputs))
    flow.create_project(recipe(network, npu="none"), directory=place, watch=Watch())
    flow.build_project(place, watch=Watch())
    report = flow.run_project(place, flow.RunOptions(Inputs(None, 2, 0)), watch=Watch())
    assert isinstance(report, Report)
    assert report.golden is not None and report.golden.elements > 100
    assert report.golden.mismatches == report.golden.close == 0


def test_a_graph_of_integers_needs_no_guard(tmp_path: Path) -> None:
    net = NetworkBuilder("integers", 7)
    x = net.input((1, 4), "int8")
    network = parse_network(net.build(net.unary("ABS", x)), "integers.tflite")
    source = compile_program(cpu_plan(network), "integers").sources["integers_graph.c"]
    assert not computes_floats(source) and "#pragma" not in source
