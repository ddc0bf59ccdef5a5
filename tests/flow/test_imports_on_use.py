"""What a start must not import: each command, worker and child process pays for it."""

import subprocess
import sys

import pytest

from ethosgen import flow

COMPILERS = {"tvm", "ethosu.vela", "tflite_micro", "ai_edge_litert"}
SLOW = COMPILERS | {"pydantic", "jinja2", "importlib.metadata", "matplotlib", "PIL", "rich"}
FLOWS = {f"ethosgen.flow.{module}" for module in flow._NAMES_OF}
BUILDING = {"ethosgen.board", "ethosgen.project", "ethosgen.targets", "ethosgen.toolchain"}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("cli", SLOW | BUILDING | FLOWS),
        ("studies.workers", SLOW | BUILDING | FLOWS | {"ethosgen.oracle"}),
        ("studies.sample_runners", SLOW | BUILDING | {"ethosgen.flow.creation"}),
        ("flow.simulation", SLOW | BUILDING | {"ethosgen.flow.creation"}),
        ("flow.firmware", COMPILERS | {"ethosgen.targets", "ethosgen.toolchain"}),
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
    assert sorted(name for names in flow._NAMES_OF.values() for name in names) == sorted(
        flow.__all__
    )
    for name in flow.__all__:
        assert getattr(flow, name).__module__.startswith("ethosgen.flow.")
    assert set(dir(flow)) == set(flow.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'simulat'"):
        getattr(flow, "simulat")  # noqa: B009 - mypy knows that it is not there
