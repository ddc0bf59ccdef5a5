"""Files of weights of retrained networks: what fits a project's code, and why others do not."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import tflite

from ethosgen import flow
from ethosgen.flow.reserve import LEAST_RESERVE_BYTES
from ethosgen.flow.weights import build_weights, codes_of, read_file
from ethosgen.project import open_project
from ethosgen.project.manifest import MANIFEST
from ethosgen.values.errors import InputError
from ethosgen.values.plan import IoStyle
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.retrained import retrained

NETWORK = ROOT / "demo" / "digits_int8.tflite"
LIBRARY = "library"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library for the CPU alone."""
    place = tmp_path_factory.mktemp("weights") / "p"
    recipe = Recipe((NETWORK,), None, "none", ("digits",), platform=LIBRARY, apart=True)
    flow.create_project(recipe, directory=place, watch=Watch())
    return place


def test_a_retrained_network_fits(project: Path, tmp_path: Path) -> None:
    (tmp_path / "new.tflite").write_bytes(retrained(NETWORK.read_bytes()))
    built = build_weights(tmp_path / "new.tflite", project, output=tmp_path / "w", watch=Watch())
    assert read_file(built.file, codes_of(open_project(project))).network == "digits"
    assert built.bytes == (project / "model" / "digits.weights").stat().st_size
    first = (tmp_path / "w").read_bytes()
    assert first != (project / "model" / "digits.weights").read_bytes()
    with pytest.raises(InputError, match="exists; name another file with -o"):
        build_weights(NETWORK, project, output=tmp_path / "w", watch=Watch())
    build_weights(NETWORK, project, output=tmp_path / "w", force=True, watch=Watch())
    assert (tmp_path / "w").read_bytes() == (project / "model" / "digits.weights").read_bytes()


def with_input_scale(data: bytes, factor: float) -> bytes:
    graph = tflite.Model.GetRootAs(data, 0).Subgraphs(0)
    (scale,) = graph.Tensors(graph.Inputs(0)).Quantization().ScaleAsNumpy()
    old = struct.pack("<f", scale)
    assert data.count(old)
    return data.replace(old, struct.pack("<f", np.float32(scale * factor)))


def test_another_scale_of_an_input_is_refused_by_name(project: Path, tmp_path: Path) -> None:
    (tmp_path / "new.tflite").write_bytes(with_input_scale(NETWORK.read_bytes(), 2))
    with pytest.raises(InputError, match=r"input 'image' has scale and zero point .* instead of"):
        build_weights(tmp_path / "new.tflite", project, output=tmp_path / "w", watch=Watch())
    assert not (tmp_path / "w").exists()


def test_other_code_is_refused_with_its_first_line(project: Path, tmp_path: Path) -> None:
    files = {path: (project / path).read_bytes() for path in open_project(project).files}
    manifest = json.loads((project / MANIFEST).read_text())
    manifest["networks"][0]["weights"]["code"] = "0" * 32
    theirs = tmp_path / "p"
    for path, data in {**files, MANIFEST: json.dumps(manifest).encode()}.items():
        (theirs / path).parent.mkdir(parents=True, exist_ok=True)
        (theirs / path).write_bytes(data.replace(b"ethosgen_add_s8(", b"ethosgen_sub_s8("))
    with pytest.raises(
        InputError, match=r"digits_graph\.c would have `ethosgen_add_s8.*instead of"
    ):
        build_weights(NETWORK, theirs, output=tmp_path / "w", watch=Watch())


def without_scratch(project: Path, place: Path) -> None:
    """Copy the part of a project that matters, with other code that has no scratch."""
    manifest = json.loads((project / MANIFEST).read_text())
    manifest["networks"][0]["weights"]["scratches"]["scratch"] = 0
    manifest["networks"][0]["weights"]["code"] = "0" * 32
    (place / MANIFEST).parent.mkdir(parents=True)
    (place / MANIFEST).write_text(json.dumps(manifest))
    (place / "model" / "digits.tflite").write_bytes(NETWORK.read_bytes())


def test_the_scratch_has_a_reserve_and_must_not_grow(tmp_path: Path) -> None:
    whole = Recipe(
        (NETWORK,), None, "ethos-u55-128", ("digits",), IoStyle.CALLER, LIBRARY, apart=True
    )
    written = flow.create_project(whole, directory=tmp_path / "p", watch=Watch())
    (program,) = written.programs
    vela = flow.make_plan(
        program.plan.network,
        flow.PlanSettings(program.plan.accelerator, io=IoStyle.CALLER),
        Watch(),
    )
    assert program.plan.scratches[0].bytes >= vela.scratches[0].bytes + LEAST_RESERVE_BYTES
    build_weights(NETWORK, tmp_path / "p", output=tmp_path / "w", watch=Watch())
    without_scratch(tmp_path / "p", tmp_path / "none")
    with pytest.raises(InputError, match=r"the NPU's scratch needs [\d,]+ bytes instead of 0;"):
        build_weights(NETWORK, tmp_path / "none", output=tmp_path / "v", watch=Watch())


def test_a_file_for_another_network_or_code_is_named(project: Path, tmp_path: Path) -> None:
    codes = codes_of(open_project(project))
    file = tmp_path / "w"
    data = bytearray((project / "model" / "digits.weights").read_bytes())
    file.write_bytes(data)
    read_file(file, codes)
    recipe = Recipe((NETWORK,), None, "none", ("other",), platform=LIBRARY, apart=True)
    flow.create_project(recipe, directory=tmp_path / "o", watch=Watch())
    other = tmp_path / "o" / "model" / "other.weights"
    with pytest.raises(InputError, match="is for a network 'other', but"):
        read_file(other, codes)
    whole = Recipe((NETWORK,), None, "ethos-u55-128", ("digits",), platform=LIBRARY, apart=True)
    flow.create_project(whole, directory=tmp_path / "n", watch=Watch())
    other = tmp_path / "n" / "model" / "digits.weights"
    with pytest.raises(InputError, match="is for other code of 'digits'"):
        read_file(other, codes)


def test_weights_in_the_code_cannot_be_updated(tmp_path: Path) -> None:
    recipe = Recipe((NETWORK,), None, "none", ("digits",), platform=LIBRARY)
    flow.create_project(recipe, directory=tmp_path / "p", watch=Watch())
    with pytest.raises(InputError, match="has its weights in the code"):
        build_weights(NETWORK, tmp_path / "p", output=tmp_path / "w", watch=Watch())
