"""What a start must not import: each command, worker and child process pays for it."""

import subprocess
import sys

import pytest

from ethosgen import pipeline

COMPILERS = {"tvm", "ethosu.vela", "tflite_micro", "ai_edge_litert"}
SLOW = COMPILERS | {"pydantic", "jinja2", "importlib.metadata", "matplotlib", "PIL", "rich"}
FLOWS = {f"ethosgen.pipeline.{module}" for module in pipeline._NAMES_OF}
BUILDING = {"ethosgen.board", "ethosgen.project", "ethosgen.target", "ethosgen.toolchain"}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("cli", SLOW | BUILDING | FLOWS),
        ("pipeline.workers", SLOW | BUILDING | FLOWS | {"ethosgen.oracle"}),
        ("pipeline.sample_runners", SLOW | BUILDING | {"ethosgen.pipeline.creation"}),
        ("pipeline.simulation", SLOW | BUILDING | {"ethosgen.pipeline.creation"}),
        ("pipeline.firmware", COMPILERS | {"ethosgen.target", "ethosgen.toolchain"}),
    ],
)
def test_a_start_imports_only_what_it_needs(module: str, absent: set[str]) -> None:
    name = f"ethosgen.{module}"
    asked = f"import sys, {name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert name in loaded
    assert not loaded & absent


def test_the_package_offers_its_names() -> None:
    assert sorted(name for names in pipeline._NAMES_OF.values() for name in names) == sorted(
        pipeline.__all__
    )
    for name in pipeline.__all__:
        assert getattr(pipeline, name).__module__.startswith("ethosgen.pipeline.")
    assert set(dir(pipeline)) == set(pipeline.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'simulat'"):
        getattr(pipeline, "simulat")  # noqa: B009 - mypy knows that it is not there
