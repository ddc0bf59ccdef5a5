"""Networks on a Cortex-M55's CPU, compiled by GCC and by Clang: cycles, and bytes of flash."""

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from bench.command import Figures, ethosgen
from bench.layers import Firmware, Layer
from bench.shapes import ours
from ethosgen.flow.firmware import build_project
from ethosgen.project import open_project
from ethosgen.toolchain.baremetal import build
from ethosgen.toolchain.sizes import Built
from ethosgen.values.watch import Watch

CLANG = "clang-19"
COMPILERS = {"gcc": None, "clang": CLANG}


def measure(model: Path) -> Figures:
    """Return the figures of a network by each compiler that is here."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-compilers-") as name:
        folder = Path(name)
        project = folder / "project"
        ethosgen("project", model, "--board", ours.BOARD, "--npu", "none", "-o", project)
        present = {
            key: clang for key, clang in COMPILERS.items() if clang is None or shutil.which(clang)
        }
        return {"name": model.stem} | {
            key: _figures(model, project, clang, folder / key) for key, clang in present.items()
        }


def _figures(model: Path, project: Path, clang: str | None, folder: Path) -> Figures:
    copy = folder / "project"  # a build folder is one compiler's
    shutil.copytree(project, copy)
    firmware = Firmware([Layer(model, "")], built(copy, clang), open_project(copy))
    (counted,) = ours.run_counted(firmware, folder)
    sizes = firmware.built.sizes
    return {
        "cycles": ours.cycles_of(firmware)(counted.count),
        "library_bytes": sizes.library["code"] + sizes.library["constants"],
        "flash_bytes": sizes.flash["total"],
    }


def built(project: Path, clang: str | None) -> Built:
    """Compile a project for QEMU by GCC, or by the Clang named."""
    if clang is None:
        return build_project(project, watch=Watch())
    toolchain = project.absolute() / "cmake" / "clang.cmake"
    return build(
        project, "qemu", {"CMAKE_TOOLCHAIN_FILE": str(toolchain), "CMAKE_C_COMPILER": clang}
    )


def rows(figures: Iterable[Figures]) -> tuple[list[str], list[list[str]]]:
    """Return a table's head and rows: each figure by GCC and by Clang."""
    kinds = {"cycles": "cycles", "library B": "library_bytes", "flash B": "flash_bytes"}
    head = [f"{title}, {key}" for title in kinds for key in ("GCC", "Clang")]
    table = []
    for model in figures:
        by = [model.get(key) or {} for key in COMPILERS]
        cells = [costs.get(kind) for kind in kinds.values() for costs in by]
        table.append([model["name"], *("-" if c is None else f"{c:,}" for c in cells)])
    return ["network", *head], table
