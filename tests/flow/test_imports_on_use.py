"""What a start must not import: each command, worker and child process pays for it."""

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from ethosgen import flow, targets

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


def test_the_programs_of_fvps_import_no_projects() -> None:
    asked = "import sys, ethosgen_fvp.simulation; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ethosgen.targets.attach.firmware" in loaded
    assert not loaded & (COMPILERS | {"jinja2", "ethosgen.project", "ethosgen.toolchain"})


@pytest.mark.parametrize("package", [flow, targets])
def test_the_package_offers_its_names(package: ModuleType) -> None:
    later = {name for names in package._NAMES_OF.values() for name in names}
    eager = {"Attach", "NpuModel", "SharedMemory"} if package is targets else set()
    assert later | eager == set(package.__all__)
    for module, names in package._NAMES_OF.items():
        source = import_module(f"{package.__name__}.{module}")
        for name in names:
            assert getattr(package, name) is getattr(source, name)
    assert set(dir(package)) == set(package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'simulat'"):
        getattr(package, "simulat")  # noqa: B009 - mypy knows that it is not there
