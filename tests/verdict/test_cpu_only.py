"""Networks without an NPU: --npu none through every stage."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload.vela import FASTEST, MEMORY_MODE, compile_network
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InputError
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe
from tests.support.small_models import image_net

RANDOM = Inputs(None, 2, 11)


def test_every_operator_stays_and_vela_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ethosgen.backend.ethosu.offload.vela.compile_network", None)
    network = parse_network(image_net(tmp_path / "n.tflite").read_bytes(), "net")
    plan = flow.make_plan(network, flow.PlanSettings(None, io=IoStyle.CALLER), Watch())
    assert plan.partitions == () and plan.residual is network.graph
    assert [cpu.code for cpu in plan.cpu_operators] == [op.code for op in network.graph.operators]
    assert plan.summary().npu == "none"


def test_simulate_without_an_npu(tmp_path: Path) -> None:
    path = image_net(tmp_path / "n.tflite")
    report = flow.simulate(path, npu="none", inputs=RANDOM, watch=Watch())
    assert report.passed
    assert report.as_json()["npu"]["name"] == "none"


@needs_qemu
@pytest.mark.parametrize("io", ["arena", "caller"])
def test_firmware_without_an_npu(tmp_path: Path, io: str) -> None:
    path = image_net(tmp_path / "n.tflite")
    report = flow.verify(recipe(path, npu="none", io=io), flow.RunOptions(RANDOM), watch=Watch())
    assert report.passed
    assert report.init_instructions is not None and report.init_instructions < 300


def test_a_project_without_an_npu_has_no_driver(tmp_path: Path) -> None:
    path, place = image_net(tmp_path / "n.tflite"), tmp_path / "net"
    flow.create_project(recipe(path, npu="none", names=("net",)), directory=place, watch=Watch())
    files = [file for file in place.rglob("*") if file.is_file() and file.suffix != ".json"]
    assert not [file.name for file in files if file.name.startswith("ethosgen_npu")]
    about_npus = [file.name for file in files if b'"ethosgen_npu' in file.read_bytes()]
    assert about_npus == ["main.c"]  # which asks for ETHOSGEN_HAS_NPU first


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(None, "none"), ("none", None)])
def test_a_project_does_not_win_or_lose_its_npu(
    tmp_path: Path, before: str | None, after: str | None
) -> None:
    path, place = image_net(tmp_path / "n.tflite"), tmp_path / "net"

    def create(npu: str | None) -> None:
        flow.create_project(recipe(path, npu=npu, names=("net",)), directory=place, watch=Watch())

    create(before)
    with pytest.raises(InputError, match="--npu"):
        create(after)


def test_a_compiled_file_needs_its_npu(tmp_path: Path) -> None:
    network = parse_network(image_net(tmp_path / "n.tflite").read_bytes(), "net")
    npu = find_accelerator("ethos-u55-128")
    compiled = compile_network(network, npu, IoStyle.ARENA, (), None, MEMORY_MODE, FASTEST)
    with pytest.raises(InputError, match="uncompiled"):
        flow.make_plan(compiled.network, flow.PlanSettings(None), Watch())
