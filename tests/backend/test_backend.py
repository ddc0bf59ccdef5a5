"""A toy backend, added as CONTRIBUTING says: its accelerator runs ADD where scales are equal."""

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen import backend, flow
from ethosgen.backend.protocol import (
    AcceleratorBackend,
)
from ethosgen.board import load_board
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import draw_samples
from ethosgen.studies.coverage import survey
from ethosgen.values.errors import InputError
from ethosgen.values.plan import (
    IoStyle,
    OffloadMode,
    OffloadOptions,
)
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.plugins.toy.toy_plugin.adder import DRIVER
from tests.plugins.toy.toy_plugin.backend import ADDER, ERRATUM, Toy
from tests.support.aot_harness import GeneratedC
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    toys = Toy()
    load: Callable[[], AcceleratorBackend] = lambda: toys  # noqa: E731
    monkeypatch.setattr(backend, "FAMILIES", (*backend.FAMILIES, load))
    return toys


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two sums that the adder takes, between operators of the CPU, and one that needs rescaling."""
    net = NetworkBuilder("sums", seed=3)
    plain = {"scale": 0.05, "zero_point": 0}
    x, y = net.input((1, 6), name="x", **plain), net.input((1, 6), name="y", **plain)
    z = net.add(net.add(x, y, **plain), net.relu(x, **plain), **plain)
    path = tmp_path / "sums.tflite"
    path.write_bytes(net.build(net.add(z, y, scale=0.07, zero_point=2)))
    return path


def simulate(path: Path, npu: str = ADDER.name, **options: Any) -> Report:
    wanted = OffloadOptions(**options)
    return flow.simulate(path, npu=npu, inputs=Inputs(None, 5, 0), options=wanted, watch=Watch())


def test_its_outputs_equal_the_oracles(toy: Toy, model: Path) -> None:
    report = simulate(model)
    assert report.passed and report.plan.npu == ADDER.name
    assert (report.plan.partitions, report.plan.npu_operators) == (2, 2)
    assert [cpu.code for cpu in report.plan.cpu_operators] == ["RELU", "ADD"]
    assert report.plan.check is not None and report.plan.check.elements > 0


@pytest.mark.slow
def test_an_operator_may_stay_on_the_cpu(toy: Toy, model: Path) -> None:
    assert simulate(model, cpu_ops=("ADD",)).plan.partitions == 0
    toy.errata_of = {0: ERRATUM}
    report = simulate(model)
    assert report.passed and report.plan.partitions == 1
    assert report.plan.cpu_operators[0].erratum == ERRATUM.erratum


@pytest.mark.slow
def test_what_is_faster_on_the_cpu_stays_there(toy: Toy, model: Path) -> None:
    plan = simulate(model, mode=OffloadMode.AUTO).plan
    assert (plan.partitions, len(plan.cpu_operators)) == (2, 2)  # 16 cycles against 40 and more
    assert [choice.npu_cycles for choice in plan.choices] == [16, 16]


@pytest.mark.slow
def test_the_check_finds_operators_that_it_computes_wrongly(toy: Toy, model: Path) -> None:
    toy.is_wrong = True
    report = simulate(model)
    assert report.passed and report.plan.partitions == 0
    assert {cpu.erratum for cpu in report.plan.cpu_operators} == {"", "found-by-check"}
    wrong = simulate(model, trust_compiler=True)
    assert not wrong.passed
    assert wrong.diagnosis is not None and wrong.diagnosis.culprit is not None
    assert (wrong.diagnosis.culprit.code, wrong.diagnosis.culprit.on) == ("ADD", "npu")


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
def test_the_generated_c_calls_its_function(
    toy: Toy, model: Path, io: IoStyle, tmp_path: Path
) -> None:
    network = parse_network(model.read_bytes(), "sums")
    plan = flow.make_plan(network, flow.PlanSettings(ADDER, io=io), Watch())
    program = flow.make_program(plan, Watch())
    assert not any("ethosu" in text or "npu_invoke" in text for text in program.sources.values())
    linked = replace(program, sources={**program.sources, "toy_add.c": DRIVER})
    samples = draw_samples(network, 5, 1)
    generated = GeneratedC(linked, tmp_path)
    for sample, golden in zip(samples, golden_outputs(network, samples), strict=True):
        outputs = generated.outputs(sample)
        for name, array in golden.items():
            np.testing.assert_array_equal(outputs[name], array)


def test_users_find_it_by_name(toy: Toy) -> None:
    assert backend.find_accelerator(ADDER.name) is ADDER
    with pytest.raises(InputError, match="did you mean 'adder-8'"):
        backend.find_accelerator("adder-9")
    assert backend.default_accelerator().family == "ethos-u"
    row = next(row for row in survey() if row.operator == "ADD")
    assert row.npu["adder"] == ("int8",)


def test_serve_npu_serves_the_backend_that_is_named(toy: Toy) -> None:
    answers = BytesIO()
    flow.serve_npu("toy", BytesIO(b"sum"), answers)
    assert answers.getvalue() == b"SUM"
    flow.serve_npu(None, BytesIO(), answers)  # Ethos-U, for older applications
    assert answers.getvalue() == b"SUM"
    with pytest.raises(InputError, match=r"unknown backend 'tor' .did you mean 'toy'"):
        flow.serve_npu("tor", BytesIO(), answers)


def test_a_network_of_its_compiler_is_known(toy: Toy, model: Path) -> None:
    network = parse_network(model.read_bytes(), "sums")
    toy.compiled_operators = {"toy-sums": 1}
    first, *rest = network.graph.operators
    assert not backend.is_compiled(network)
    compiled = replace(network.graph, operators=(replace(first, custom_code="toy-sums"), *rest))
    assert backend.is_compiled(replace(network, graphs=(compiled,)))
    assert backend.compiled_operators() == {"ethos-u": 4, "toy-sums": 1}


def test_a_board_asks_it_for_memory_modes(toy: Toy) -> None:
    board = load_board("corstone300")
    assert board.memory_modes(ADDER) == ["sram_only"]
    with pytest.raises(InputError, match=r"adder-8 does not support .*: it reads only SRAM"):
        board.choose_memory_mode("shared_sram", ADDER)
    with pytest.raises(InputError, match="has no adder-8"):
        board.accelerator(ADDER.name)


def test_without_it_the_name_is_unknown() -> None:
    with pytest.raises(InputError, match="NPU 'adder-8'"):
        backend.find_accelerator(ADDER.name)
