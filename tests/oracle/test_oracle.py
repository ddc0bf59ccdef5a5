"""Who decides about outputs: TFLite Micro, or LiteRT where it must or is asked for."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ethosgen import flow
from ethosgen.cli import cli
from ethosgen.commands.junit import JUnitFile
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT, MIXED, ORACLES, TFLM, Oracle, answers, pieces, tflm
from ethosgen.oracle.excerpt import single_operator
from ethosgen.oracle.litert import for_litert
from ethosgen.oracle.oddities import oddities
from ethosgen.oracle.pieces import take_apart
from ethosgen.project import open_project
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.errors import InternalError, ToolError, UnsupportedError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict import judgement
from ethosgen.verdict.judgement import Inputs
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder
from tests.support.signal_networks import plain, window


def _tiled(version: int) -> bytes:
    """Return a layer and an int8 TILE, which TFLite Micro does not have."""
    net = NetworkBuilder("tiled", seed=3)
    x = net.fully_connected(net.input((1, 6)), 4)
    return net.build(net.apply("TILE", x, [1, 3], version=version))


def _odd() -> bytes:
    """Return RELU6 with an output scale of its own, which TFLite Micro does not look at."""
    net = NetworkBuilder("odd", seed=3)
    x = net.input((1, 64), scale=0.1, zero_point=0)
    return net.build(net.unary("RELU6", x, scale=0.0235, zero_point=-128))


def _simulate(data: bytes, tmp_path: Path, npu: str, oracle: str | None = None) -> Report:
    path = tmp_path / "net.tflite"
    path.write_bytes(data)
    return flow.simulate(
        path,
        npu=npu,
        inputs=Inputs(None, 5, 1),
        watch=Watch(),
        options=OffloadOptions(oracle=oracle),
    )


@pytest.mark.slow
@pytest.mark.parametrize("npu", ["none", "ethos-u55-128"])
@pytest.mark.parametrize("version", [1, 3])
def test_litert_decides_where_tflite_micro_lacks_an_operator(
    version: int, npu: str, tmp_path: Path
) -> None:
    report = _simulate(_tiled(version), tmp_path, npu)
    assert report.passed and report.golden is not None and report.second is None
    assert (report.golden.oracle, report.golden.elements) == ("litert", 60)
    assert report.golden.version == LITERT.version
    assert "TILE" in report.golden.note
    assert report.as_json()["oracle"]["name"] == "litert"


@pytest.mark.slow
def test_litert_decides_where_tflite_micro_answers_by_chance(tmp_path: Path) -> None:
    net = NetworkBuilder("larger")
    inputs = [net.input((1, 8, 8, 4), "int16", 0.05, 0) for _ in range(2)]
    net.apply("GREATER", *inputs)
    report = _simulate(net.build(), tmp_path, "none")
    assert report.passed and report.golden is not None
    assert (report.golden.oracle, report.golden.elements) == ("litert", 1280)
    assert "never sets" in report.golden.note


def test_litert_decides_where_tflite_micro_has_no_room_for_a_shape(tmp_path: Path) -> None:
    """It overwrites memory, and answers NaN; LiteRT's zip tests have such a product."""
    net = NetworkBuilder("product")
    shape, dtype = (2,) * 8, "float32"
    inputs = [net.input(shape, dtype, None) for _ in range(2)]
    net.operator("MUL", inputs, [Spec(shape, dtype, None)], {"fused_activation_function": "NONE"})
    report = _simulate(net.build(), tmp_path, "none")
    assert report.passed and report.golden is not None and report.golden.oracle == "litert"
    assert "MUL of 8 dimensions in room for 5" in report.golden.note


@pytest.mark.parametrize(
    ("code", "dtype", "scales"), [("RELU6", "int8", (0.05, 0.03)), ("ELU", "float32", (None, None))]
)
def test_tflite_micro_decides_where_litert_cannot_in_a_shape_that_it_has_room_for(
    code: str, dtype: str, scales: tuple[float | None, float | None], tmp_path: Path
) -> None:
    net = NetworkBuilder("clamped")
    shape = (2, 2, 1, 3, 2, 2)
    x = net.input(shape, dtype, scales[0], 3 if scales[0] else 0)
    net.operator(code, [x], [Spec(shape, dtype, scales[1], -128 if scales[1] else 0)])
    report = _simulate(net.build(), tmp_path, "none")
    assert report.passed and report.golden is not None and report.golden.oracle == "mixed"
    assert report.golden.note == "operator by operator: TFLite Micro for all"


def test_only_the_version_changes_for_litert() -> None:
    network = parse_network(_tiled(3), "net")
    changed = parse_network(for_litert(network), "net")
    assert [op.version for op in changed.graph.operators] == [1, 2]
    operators = zip(network.graph.operators, changed.graph.operators, strict=True)
    assert all(before == replace(after, version=before.version) for before, after in operators)
    assert changed.graph.tensors == network.graph.tensors
    assert changed.source and for_litert(changed) is changed.source.data


def test_tflite_micro_decides_by_default_and_its_oddity_is_named(tmp_path: Path) -> None:
    report = _simulate(_odd(), tmp_path, "none")
    assert report.passed and report.golden and report.second
    assert (report.golden.oracle, report.second.oracle) == ("tflm", "litert")
    assert report.second.mismatches > 0
    assert report.findings["odd"].startswith("RELU6 of int8: TensorFlow Lite Micro clamps")


@pytest.mark.slow
def test_litert_decides_where_it_is_asked_for(tmp_path: Path) -> None:
    report = _simulate(_odd(), tmp_path, "none", "litert")
    assert report.verdict == "FAIL" and report.golden and report.second
    assert (report.golden.oracle, report.second.oracle) == ("litert", "tflm")
    assert report.second.mismatches == 0
    with pytest.raises(UnsupportedError, match="TFLite Micro cannot run"):
        _simulate(_tiled(1), tmp_path, "none", "tflm")


@pytest.mark.slow
def test_the_command_line_and_junit_name_the_oracle(tmp_path: Path) -> None:
    path = tmp_path / "tiled.tflite"
    path.write_bytes(_tiled(3))
    arguments = ["simulate", str(path), "--npu", "none", "--samples", "1", "--oracle", "litert"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0 and f"oracle    LiteRT {LITERT.version}" in done.output
    answer = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).output)
    assert answer["oracle"]["version"] == LITERT.version
    with JUnitFile(tmp_path / "junit.xml", "net") as junit:
        junit.record(_simulate(_tiled(3), tmp_path, "none"))
    cases = ET.parse(tmp_path / "junit.xml").getroot().findall(".//testcase")
    assert "outputs equal LiteRT's" in [case.get("name") for case in cases]


def _mixed() -> bytes:
    """Return a TILE, which TFLite Micro lacks, and a window of its signal library, which it has."""
    net = NetworkBuilder("mixed", seed=3)
    x = net.relu(net.fully_connected(net.input((1, 6)), 4))
    tiled = net.apply("TILE", x, [1, 3])
    return net.build(tiled, window(net, plain(net, (1, 32), "int16"), 32, 12))


@pytest.mark.slow
@pytest.mark.parametrize("npu", ["none", "ethos-u55-128"])
def test_each_oracle_runs_what_it_has_where_neither_has_all(npu: str, tmp_path: Path) -> None:
    report = _simulate(_mixed(), tmp_path, npu)
    assert report.passed and report.golden is not None and report.second is None
    assert (report.golden.oracle, report.golden.elements) == ("mixed", 5 * (12 + 32))
    assert report.plan.check is not None and report.plan.check.oracle == "mixed"
    assert report.golden.title == "TensorFlow Lite Micro and LiteRT"
    assert report.golden.note.startswith("operator by operator: LiteRT for TILE, TFLite Micro")
    assert report.golden.version == f"{TFLM.version} and {LITERT.version}"


@pytest.mark.slow
@pytest.mark.parametrize("npu", ["none", "ethos-u55-128"])
def test_litert_does_not_decide_about_operators_that_tflite_micro_has(
    npu: str, tmp_path: Path
) -> None:
    """A RELU6 beside a TILE was judged by LiteRT, which differs, and failed."""
    net = NetworkBuilder("beside", seed=3)
    x = net.input((1, 64), scale=0.1, zero_point=0)
    tiled = net.apply("TILE", net.unary("RELU6", x, scale=0.0235, zero_point=-128), [1, 3])
    report = _simulate(net.build(tiled), tmp_path, npu)
    assert report.passed and report.golden is not None
    assert (report.golden.oracle, report.golden.elements) == ("mixed", 5 * 192)


def test_an_empty_constant_is_no_input_of_a_piece() -> None:
    net = NetworkBuilder("scalar", seed=3)
    x = net.input((1,))
    network = parse_network(net.build(net.reshape(x, ())), "net")
    shape = network.graph.tensors[network.graph.operators[0].inputs[1]]
    assert (shape.elements, shape.data) == (0, None)
    sample = {network.inputs[0].name: np.array([7], np.int8)}
    (outputs,) = take_apart(network, [sample]).outputs
    assert [array.tolist() for array in outputs.values()] == [7]


def test_a_bug_of_ours_is_no_refusal_of_the_oracles(monkeypatch: pytest.MonkeyPatch) -> None:
    network = parse_network(_mixed(), "net")
    tiled = single_operator(network, 2)  # nothing computes its input
    monkeypatch.setattr(pieces, "single_operator", lambda *_, **__: tiled)
    with pytest.raises(InternalError, match="KeyError"):
        take_apart(network, draw_samples(network, 1, 1))


def test_a_project_asks_the_oracle_that_it_is_told_and_remembers_it(tmp_path: Path) -> None:
    path = tmp_path / "odd.tflite"
    path.write_bytes(_odd())
    for oracle, kept in ((None, ["relu6-scale"]), ("litert", [])):
        place = tmp_path / f"by_{oracle}"
        arguments = ["project", str(path), "--npu", "ethos-u55-128", "-o", str(place)]
        more = ["--platform", "library", *(["--oracle", oracle] if oracle else [])]
        done = CliRunner().invoke(cli, [*arguments, *more])
        assert done.exit_code == 0, done.output
        network = open_project(place).network
        assert network.options.oracle == oracle
        assert [op.erratum for op in network.summary.cpu_operators] == kept
        check = network.summary.check
        assert check is not None and check.oracle == (oracle or TFLM.name)


def test_networks_without_odd_operators_have_no_oddities() -> None:
    assert oddities(parse_network(_tiled(1), "net")) == ()
    assert len(oddities(parse_network(_odd(), "net"))) == 1
    assert TFLM.version and LITERT.version


def test_a_registered_oracle_decides_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict takes the name, the title and the version from the registry."""
    network = parse_network(_odd(), "odd")
    samples = draw_samples(network, 2, 1)
    toy = Oracle("toy", "Toy", ("numpy",), TFLM.run)
    monkeypatch.setattr(answers, "ORACLES", {**ORACLES, "toy": toy})
    outputs = TFLM.run(network, samples)
    criteria = judgement.Criteria(oracle="toy")
    golden, second = judgement.judge(network, samples, outputs, Watch(), criteria)
    assert golden is not None and second is not None and golden.mismatches == 0
    assert (golden.oracle, golden.title, golden.version) == ("toy", "Toy", np.__version__)
    assert second.oracle == TFLM.name


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_missing_oracle_is_named_where_it_has_a_wheel(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tflm, "PACKAGE", "ethosgen-no-such-package")
    monkeypatch.setattr("platform.machine", lambda: machine)
    absent = replace(TFLM, packages=(tflm.PACKAGE,))
    if machine == "aarch64":
        assert absent.version == "none"
        both = replace(MIXED, packages=(tflm.PACKAGE, *LITERT.packages))
        assert both.version == f"none and {LITERT.version}"
        return
    with pytest.raises(ToolError, match=r"its package ethosgen-no-such-package is not installed"):
        _ = absent.version
