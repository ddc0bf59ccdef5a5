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
from tests.aot.test_packed import PLAIN, RECURRENT, TRANSPOSED, SymmetricNetwork
from tests.support.aot_harness import GeneratedC, assert_equal, samples_and_golden
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe
from tests.support.recurrent_networks import lstm, svdf

Build = Callable[[NetworkBuilder], int]
DEEP: dict[str, Build] = {
    "svdf, two parts of the depth": lambda n: svdf(n, n.input((1, 518), scale=0.02), 5, 3),
    "lstm, three parts": lambda n: lstm(n, n.input((1, 2, 1021), scale=0.02), 9),
}
WIDE = "lstm, cell of most bits"
"""Its products have more than the 31 bits that the kernel multiplies."""
GROUPS: dict[str, dict[str, Build]] = {
    "transposed": TRANSPOSED,
    "recurrent": {name: build for name, build in RECURRENT.items() if name != WIDE} | DEEP,
}
OUTSIDE = {
    name: (RECURRENT | PLAIN)[name]
    for name in (WIDE, "lstm, cell beyond 16 bits", "svdf, state of int8")
}


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


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_has_no_form_is_left_to_others(case: str) -> None:
    net = NetworkBuilder("network", seed=8)
    program = compile_program(dsp_plan(net.build(OUTSIDE[case](net))), "net")
    assert not any(name.startswith("ethosgen_dsp") for name in program.sources)
