"""Networks that torch quantizes and ExecuTorch exports, against torch and TOSA's reference model.

Vela compiles TOSA, which rescales integers where torch computes in float. So the outputs equal the
reference model's, all of them, and torch's up to a step now and then.
"""

from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Criteria, Inputs
from tests.support.needs import needs_torch
from tests.support.pte_rows import export

pytestmark = [pytest.mark.slow, needs_torch]

WHOLE = ["small", "channels_last", "u65", "attention"]
"""Wholly on the NPU, in int8."""
LEAST = 0.99
"""The share of outputs that must equal torch's in int8."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("torch")
    export(place, [*WHOLE, "split", "int16"])
    return place


def simulate(folder: Path, name: str, golden: str, limit: float | None = None) -> Report:
    return flow.simulate(
        folder / f"{name}.pte",
        npu=None,
        inputs=Inputs(folder / f"{name}_in.npz", None, 0),
        criteria=Criteria(folder / f"{name}_{golden}.npz", fidelity=limit),
        watch=Watch(),
    )


@pytest.mark.parametrize("name", [*WHOLE, "int16"])
def test_outputs_are_those_of_the_graph_that_vela_compiled(folder: Path, name: str) -> None:
    report = simulate(folder, name, "tosa")
    assert report.passed and report.golden is not None
    with np.load(folder / f"{name}_tosa.npz") as tosa:
        assert report.golden.elements == tosa["output_0"].size
    assert (report.golden.mismatches, report.golden.close) == (0, 0)


@pytest.mark.parametrize("name", [*WHOLE, "split"])
def test_outputs_are_torchs_up_to_a_step(folder: Path, name: str) -> None:
    report = simulate(folder, name, "out", 1)
    assert report.passed and report.fidelity is not None
    assert report.fidelity.equal >= LEAST * report.fidelity.elements
    assert report.plan.partitions == (2 if name == "split" else 1)


@pytest.mark.parametrize("name", [*WHOLE, "split"])
def test_a_bundle_has_its_samples_and_torchs_outputs(folder: Path, name: str) -> None:
    report = flow.simulate(
        folder / f"{name}.bpte", npu=None, inputs=Inputs(None, None, 0), watch=Watch()
    )
    theirs = simulate(folder, name, "out", 1)
    assert report.passed and report.samples == theirs.samples == 20
    assert report.fidelity is not None and theirs.fidelity is not None
    assert report.fidelity.equal == theirs.fidelity.equal
    assert report.fidelity.title == f"{name}.bpte"


def test_int16_rounds_more_often(folder: Path) -> None:
    """At 16 bits a step is small beside the rescaling's own rounding."""
    report = simulate(folder, "int16", "out", 1)
    assert report.passed and report.fidelity is not None
    assert report.fidelity.equal >= 0.9 * report.fidelity.elements
