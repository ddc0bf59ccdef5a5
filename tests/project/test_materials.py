"""The SBOMs: valid by their formats' own libraries, and equal for equal libraries."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ethosgen.board import load_board
from ethosgen.board.any_board import any_board
from ethosgen.platforms import LIBRARY_ONLY, ZEPHYR
from ethosgen.project import Project, render
from ethosgen.project.licences import LATER, NO_CLAIM, OURS
from tests.support.programs import make_cpu_program, make_program

CDX, SPDX = "model/sbom.cdx.json", "model/sbom.spdx.json"
SOURCE = b"TFL3 stands here"


@pytest.fixture(scope="module", params=["bare metal", "Zephyr", "library of two", "CPU alone"])
def project(request: pytest.FixtureRequest) -> Project:
    board, npu = load_board("corstone300"), make_program()
    return {
        "bare metal": lambda: render(npu, board),
        "Zephyr": lambda: render(npu, board, platform=ZEPHYR),
        "library of two": lambda: render(
            [npu, make_program(name="plus_two")], any_board(), platform=LIBRARY_ONLY
        ),
        "CPU alone": lambda: render(make_cpu_program(), load_board("mps2-an386")),
    }[request.param]()


def bill(project: Project, path: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(project.files[path])
    return content


def components(project: Project) -> dict[str, dict[str, Any]]:
    return {component["bom-ref"]: component for component in bill(project, CDX)["components"]}


def test_cyclonedx_is_valid(project: Project) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(project.files[CDX].decode()) is None


def test_spdx_is_valid(project: Project, tmp_path: Path) -> None:
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    file = tmp_path / "sbom.spdx.json"
    file.write_bytes(project.files[SPDX])
    assert validate_full_spdx_document(parse_file(str(file)), "SPDX-2.3") == []


def test_a_bill_that_lacks_something_is_found(project: Project) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    content = bill(project, CDX)
    del content["components"][0]["name"]
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(content)) is not None


def test_both_have_every_file_of_the_library_with_its_digest(project: Project) -> None:
    wanted = {
        path.removeprefix("model/"): hashlib.sha256(project.files[path]).hexdigest()
        for path in project.library
        if path.removeprefix("model/") not in (*LATER, "REVIEW.md")  # it lists the bills' digests
    }
    spdx = {
        file["fileName"].removeprefix("./"): file["checksums"][1]["checksumValue"]
        for file in bill(project, SPDX)["files"]
    }
    assert spdx == wanted
    groups = [components(project)[group]["components"] for group in ("runtime", "derived")]
    cdx = {file["name"]: file["hashes"][0]["content"] for group in groups for file in group}
    networks = {f"{n}.tflite" for n in project.names} | {f"{n}/{n}.tflite" for n in project.names}
    assert cdx == {path: digest for path, digest in wanted.items() if path not in networks}


def test_a_network_is_a_model_with_its_digest(project: Project) -> None:
    digest = hashlib.sha256(SOURCE).hexdigest()
    for name in project.names:
        model = components(project)[f"network:{name}"]
        assert model["type"] == "machine-learning-model"
        assert model["hashes"] == [{"alg": "SHA-256", "content": digest}]
        assert model["modelCard"]["modelParameters"]["inputs"] == [{"format": "int8[1,1500]"}]
        facts = {fact["name"]: fact["value"] for fact in model["properties"]}
        assert facts["ethosgen:format"] == "tflite"
        assert facts["ethosgen:types"] == "int8"
        assert facts["ethosgen:quantization"] == "per tensor"


def test_the_licences_are_those_of_the_files(project: Project) -> None:
    listed = {file["fileName"]: file["licenseConcluded"] for file in bill(project, SPDX)["files"]}
    name = project.names[0]
    folder = f"{name}/" if len(project.names) > 1 else ""
    assert listed[f"./{folder}{name}.c"] == OURS
    assert listed[f"./{folder}{name}_graph.c"] == NO_CLAIM
    assert listed[f"./{folder}{name}.tflite"] == NO_CLAIM


def test_equal_libraries_have_equal_bills_and_others_have_others() -> None:
    board = load_board("corstone300")
    first, again = (render(make_program(), board) for _ in range(2))
    other = render(make_program(name="other"), board)
    for path in (CDX, SPDX):
        assert first.files[path] == again.files[path]
    serials = {bill(each, CDX)["serialNumber"] for each in (first, other)}
    spaces = {bill(each, SPDX)["documentNamespace"] for each in (first, other)}
    assert len(serials) == len(spaces) == 2


def outside(project: Project) -> dict[str, str]:
    """Return the scopes of CycloneDX's components of others."""
    return {
        ref.removeprefix("outside:"): component["scope"]
        for ref, component in components(project).items()
        if ref.startswith("outside:")
    }


def test_arms_driver_is_listed_where_a_build_takes_it() -> None:
    board, program = load_board("corstone300"), make_program()
    assert outside(render(program, board)) == {"ethos-u-core-driver": "optional"}
    assert outside(render(program, board, platform=ZEPHYR)) == {"hal_ethos_u": "required"}
    assert outside(render(make_cpu_program(), load_board("mps2-an386"))) == {}


def test_the_tools_are_listed_with_their_versions() -> None:
    from importlib.metadata import version

    def tools(project: Project) -> dict[str, str]:
        listed = bill(project, CDX)["metadata"]["tools"]["components"]
        return {tool["name"]: tool["version"] for tool in listed}

    own = {name: version(name) for name in ("ethosgen", "apache-tvm", "ethos-u-vela")}
    assert tools(render(make_program(), load_board("corstone300"))) == own
    del own["ethos-u-vela"]
    assert tools(render(make_cpu_program(), load_board("mps2-an386"))) == own
