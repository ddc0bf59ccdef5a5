"""What the bills say of the program that wrote a network, for files of each format's own tools."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.frontend import open_source, origin_of
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script
from tests import ROOT
from tests.support.float_onnx import small_onnx
from tests.support.needs import needs_torch, needs_tosa
from tests.support.pt2_files import pt2_files
from tests.support.pte_rows import export
from tests.support.tosa_files import converted

NETWORK = ROOT / "demo" / "digits_int8.tflite"


def bills(file: Path, folder: Path, npu: str = "none") -> tuple[dict[str, str], str]:
    """Generate a library; return the model's facts in CycloneDX, and SPDX's, of valid bills."""
    options = ["--platform", "library", "--npu", npu, "-o", str(folder / "p")]
    done = CliRunner().invoke(cli, ["project", str(file), *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    cdx, spdx = (folder / "p" / "model" / f"sbom.{form}.json" for form in ("cdx", "spdx"))
    require_valid(cdx, spdx)
    (model,) = (
        component
        for component in json.loads(cdx.read_text())["components"]
        if component["type"] == "machine-learning-model"
    )
    facts = {fact["name"].removeprefix("ethosgen:"): fact["value"] for fact in model["properties"]}
    (package,) = (
        entry for entry in json.loads(spdx.read_text())["packages"] if "packageFileName" in entry
    )
    return facts, package["sourceInfo"]


def require_valid(cdx: Path, spdx: Path) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(cdx.read_text()) is None
    assert validate_full_spdx_document(parse_file(str(spdx)), "SPDX-2.3") == []


def test_an_onnx_file_names_its_quantizer(tmp_path: Path) -> None:
    from ethosgen.studies.quantization import quantize
    from ethosgen.values.quantization import QuantizationRequest
    from ethosgen.values.watch import Watch

    images = np.random.default_rng(5).standard_normal((4, 3, 8, 8)).astype(np.float32)
    np.savez(tmp_path / "data.npz", image=images)
    original, quantized = small_onnx(tmp_path / "float.onnx"), tmp_path / "made.onnx"
    quantize(QuantizationRequest(original, tmp_path / "data.npz", quantized), Watch())
    model = onnx.load(quantized)
    facts, info = bills(quantized, tmp_path)
    assert model.producer_name and facts["producer"] == model.producer_name
    assert facts["ir_version"] == str(model.ir_version)
    domains = {opset.domain or "ai.onnx": opset.version for opset in model.opset_import}
    assert f"ai.onnx {domains['ai.onnx']}" in facts["opset"].split(", ")
    assert f"producer: {model.producer_name}; " in info and "format" not in info


def test_an_onnx_file_of_another_producer(tmp_path: Path) -> None:
    model = onnx.load(small_onnx(tmp_path / "float.onnx", batch=1))
    model.producer_name, model.producer_version = "pytorch", "2.5.1"
    model.metadata_props.add(key="quantizer", value="brevitas 0.11")
    model.metadata_props.add(key="long", value="x" * 81)
    model.metadata_props.add(key="escape", value="\x1b]0;x\x07")
    onnx.save(model, tmp_path / "other.onnx")
    facts, info = bills(tmp_path / "other.onnx", tmp_path)
    assert (facts["producer"], facts["producer_version"]) == ("pytorch", "2.5.1")
    assert facts["says:quantizer"] == "brevitas 0.11"
    assert not {"says:long", "says:escape"} & set(facts)
    assert "producer: pytorch; producer_version: 2.5.1; opset: ai.onnx 17; " in info


def test_a_tflite_file_says_what_its_metadata_say(tmp_path: Path) -> None:
    facts, info = bills(NETWORK, tmp_path)
    assert facts["format"] == "tflite" and f"types: {facts['types']}" in info
    assert origin_of(open_source(NETWORK)) == {}


@needs_tosa
def test_a_tosa_file_states_its_version(tmp_path: Path) -> None:
    network = converted(NETWORK.read_bytes(), "digits")
    assert network.source is not None
    file = tmp_path / "digits.tosa"
    file.write_bytes(network.source.data)
    facts, info = bills(file, tmp_path)
    assert facts["tosa_version"] == "1.0.0"  # as tosa-opt was told
    assert "tosa_version: 1.0.0" in info


def versions_in_torch() -> dict[str, Any]:
    place = Path(__file__).with_name("torch_versions.py")
    return run_script(ENVIRONMENTS["torch"], place, "versions", {}).values


@needs_torch
@pytest.mark.slow
def test_a_pt2_file_names_its_torch(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (file,) = pt2_files(tmp_path_factory, "xnnpack", "small")
    facts, info = bills(file, tmp_path)
    known = versions_in_torch()
    assert (facts["producer"], facts["producer_version"]) == ("torch", known["torch"])
    assert facts["schema_version"] == known["schema"]
    assert f"producer: torch; producer_version: {known['torch']}" in info


@needs_torch
@pytest.mark.slow
def test_a_pte_file_says_how_vela_compiled_it(tmp_path: Path) -> None:
    export(tmp_path, ["small"])
    facts, info = bills(tmp_path / "small.pte", tmp_path, "ethos-u55-128")
    assert facts["producer"] == "ExecuTorch" and facts["delegates"] == "EthosUBackend"
    assert facts["schema_version"] == "0"
    assert "producer: ExecuTorch; schema_version: 0; delegates: EthosUBackend" in info
    assert [name for name in facts if name.startswith("says:")]
