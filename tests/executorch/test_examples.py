"""ExecuTorch's own examples, lowered with ethosgen's partitioner, on QEMU and on the NPU model.

The delegates are TOSA that Vela compiled, so all outputs equal those of TOSA's reference model.
"""

import json
from pathlib import Path

import pytest

from ethosgen import flow, frontend
from ethosgen.values.errors import InputError
from ethosgen.values.levels import described, levels_in
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Criteria, Inputs
from tests import ROOT
from tests.support.beside_torch import run_beside_torch
from tests.support.needs import needs_qemu, needs_torch
from tests.support.recipes import recipe

pytestmark = [pytest.mark.slow, needs_torch]

SCRIPT = ROOT / "tests" / "executorch" / "lower_examples.py"
EXAMPLES = ("add_two", "softmax", "qadd2", "layers", "lstm")
NPUS = ("ethos-u55-128", "ethos-u85-256")


def lowered(folder: Path, npu: str, accelerators: str, *names: str) -> Path:
    done = run_beside_torch(SCRIPT, folder, npu, accelerators, *names)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", params=NPUS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lowered(tmp_path_factory.mktemp(request.param), request.param, "-", *EXAMPLES)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lowered(tmp_path_factory.mktemp("own"), "ethos-u55-128", "matrix-engine", "layers")


def simulate(folder: Path, name: str, golden: str | None) -> Report:
    return flow.simulate(
        folder / f"{name}.pte",
        npu=None,
        inputs=Inputs(folder / f"{name}_in.npz", None, 0),
        criteria=Criteria(folder / f"{name}_{golden}.npz" if golden else None),
        watch=Watch(),
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_whole_and_exact(folder: Path, name: str) -> None:
    support = json.loads((folder / f"{name}.json").read_text())
    assert support and all(operator["is_supported"] for operator in support)
    assert {operator["backend"] for operator in support} == {"EthosUBackend"}
    report = simulate(folder, name, "tosa")
    assert report.passed and report.golden is not None
    assert report.golden.elements > 0 and report.golden.mismatches == 0
    assert report.plan.partitions == 1 and report.plan.npu.startswith("ethos-u")


def test_a_file_states_the_levels_of_its_operators(folder: Path) -> None:
    network = frontend.read(folder / "layers.pte")
    texts = [described(levels_in(network, op)) for op in network.graph.operators]
    (text,) = filter(None, texts)
    assert text.startswith("PRO-INT: ") and "3 x CONV2D" in text and "2 x MAX_POOL2D" in text


@needs_qemu
def test_firmware_with_an_own_accelerator_is_exact(own: Path) -> None:
    verified = flow.verify(
        recipe(own / "layers.pte", offload="auto"),
        flow.RunOptions(Inputs(own / "layers_in.npz", None, 0)),
        watch=Watch(),
    )
    assert isinstance(verified, Report) and verified.passed
    assert verified.golden is not None and verified.golden.mismatches == 0
    assert verified.plan.npu == "ethos-u55-128"
    assert verified.plan.npu_operators == 5
    assert [(s.name, s.operators) for s in verified.plan.shares] == [("matrix-engine", 2)]


def test_outputs_are_torchs_up_to_a_step(own: Path) -> None:
    report = flow.simulate(
        own / "layers.pte",
        npu=None,
        inputs=Inputs(own / "layers_in.npz", None, 0),
        criteria=Criteria(own / "layers_out.npz", fidelity=1),
        watch=Watch(),
    )
    assert report.passed and report.fidelity is not None
    assert report.fidelity.equal >= 0.8 * report.fidelity.elements


def test_a_missing_accelerator_is_named_in_a_sentence(own: Path) -> None:
    path = own / "elsewhere.pte"
    path.write_bytes((own / "layers.pte").read_bytes().replace(b"matrix-engine", b"matrix-motors"))
    with pytest.raises(InputError, match="matrix-motors"):
        flow.simulate(path, npu=None, inputs=Inputs(None, None, 0), watch=Watch())
