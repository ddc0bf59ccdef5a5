"""DSP kernels of families that the plain C had: C on this machine, and a Cortex-M33 on QEMU."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.layers import board_without_helium
from ethosgen import pipeline
from ethosgen.aot import compile_program, libraries
from ethosgen.pipeline import Inputs
from ethosgen.values.watch import Watch
from tests.aot.test_dsp import dsp_plan
from tests.aot.test_packed import TRANSPOSED, SymmetricNetwork
from tests.support.aot_harness import GeneratedC, assert_equal, samples_and_golden
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

Build = Callable[[NetworkBuilder], int]
GROUPS: dict[str, dict[str, Build]] = {"transposed": TRANSPOSED}


@pytest.fixture
def even_if_dearer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all layers to the DSP kernels, whatever others cost."""
    monkeypatch.setattr("ethosgen.aot.libraries.estimate_cycles", lambda *_, **__: None)
    monkeypatch.setattr(libraries, "DSP_LIBRARIES", libraries.DSP_LIBRARIES[:1])


@needs_gcc
@pytest.mark.usefixtures("even_if_dearer")
@pytest.mark.parametrize("group", GROUPS)
def test_the_twins_equal_tflite_micro(group: str, tmp_path: Path) -> None:
    net = SymmetricNetwork("network", seed=8)
    plan = dsp_plan(net.build(*(build(net) for build in GROUPS[group].values())))
    program = compile_program(plan, "net")
    functions = program.sources["net_graph.c"].split("static ")[1:]
    assert functions
    assert all("  ethosgen_dsp_" in function for function in functions)
    generated = GeneratedC(program, tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network), strict=True):
        status, outputs = generated.run(sample)
        assert status == 0
        assert_equal(outputs, wanted)


@needs_qemu
@pytest.mark.usefixtures("even_if_dearer")
def test_a_cortex_m33_equals_tflite_micro(tmp_path: Path) -> None:
    net = SymmetricNetwork("network", seed=9)
    path = tmp_path / "network.tflite"
    path.write_bytes(
        net.build(*(build(net) for group in GROUPS.values() for build in group.values()))
    )
    report = pipeline.verify(
        recipe(path, board=str(board_without_helium(tmp_path)), npu="none"),
        inputs=Inputs(None, 2, 5),
        watch=Watch(),
    )
    assert report.passed
