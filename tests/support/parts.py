"""Parts of the suite: what `make test` leaves out, and what a change must run of it.

`make test` runs the quick tests and, with a compiler and QEMU, whatever is in no part: `--core`.
`make test-all` runs everything and notes the commit in .ci/tested. CI runs the parts whose sources
have changed since that commit: `--changed`. Of parts that are drawn, as the corpus is,
both run at least a quarter, which the commit chooses. A change of what is below all parts runs a
quarter of the files of each, and so does a change that touches most of them: tests of a file share
their costly fixtures.
"""

import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.changes import PYPROJECT, changes, git

TESTED = ROOT / ".ci" / "tested"
"""The commit at which every test passed."""
HEAVY = {"slow", "compiler", "qemu", "browser", "environment", "acl"}
"""Markers; a test without them is quick, and runs always."""
QUARTERS = 4
TORCH, TOSA, ACL, BROWSER = "environment-torch", "environment-tosa", "library-acl", "browser"


@dataclass(frozen=True)
class Part:
    """Heavy tests, and the sources whose change may break them: paths from the root, or starts.

    Of a part that is drawn, a quarter of the tests runs if its own sources have not changed; of the
    others, a quarter of the files after a change below all parts, or of most of them. A part that
    `runs_whole` runs in full whenever they have, however wide the change is. `needs` are
    the targets of make that install what its tests need.
    """

    name: str
    tests: tuple[str, ...]
    sources: tuple[str, ...]
    is_drawn: bool = False
    runs_whole: bool = False
    needs: tuple[str, ...] = ()


_GENERATOR = "generator/ethosgen/"
EVERYWHERE = (
    f"{_GENERATOR}values/",
    f"{_GENERATOR}host/",
    "tests/conftest.py",
    "tests/support/apart.py",
    "tests/support/fork_server.py",
    "tests/support/forks.py",
    "tests/support/needs.py",
    "tests/support/object_cache.py",
)
"""Sources that all parts have below them: their change runs a quarter of each part."""
REQUIREMENTS = f"{PYPROJECT}: "
"""What comes before a requirement that has changed; it runs every part that is not drawn."""
EVERY_TIME = (
    *(f"{_GENERATOR}{room}" for room in "api cycles flow oracle platforms project samples".split()),
    *(f"{_GENERATOR}{room}" for room in "targets toml toolchain verdict".split()),
    *(f"{_GENERATOR}{name}.py" for name in "__init__ __main__ cli plugins relax version".split()),
    f"{_GENERATOR}py.typed",
    *(".ci", ".pre-commit-config.yaml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"),
    *("README.md", "tools", "zephyr_app"),
)
"""What `make test` covers: a change of it alone runs no part, unless one names it."""


def _of(*rooms: str) -> tuple[str, ...]:
    return tuple(_GENERATOR + room for room in rooms)


PARTS = (
    Part(
        "accelerators",
        (
            "tests/accelerators/",
            "tests/backend/wrapped/test_conv.py",
            "tests/backend/wrapped/test_overhead.py",
            "tests/backend/wrapped/test_toy.py",
            "tests/commands/test_accelerators.py",
        ),
        (
            *("accelerators/", "templates/accelerator/", "templates/device/", "tools/acl.sh"),
            *_of("backend/wrapped/", "device/"),
        ),
        needs=(ACL,),
    ),
    Part(
        "kernels",
        (
            "tests/aot/libraries/",
            "tests/aot/test_exponents.py",
            "tests/aot/test_extremes.py",
            "tests/aot/test_layer_types.py",
            "tests/aot/test_on_target.py",
            "tests/aot/test_operator_breadth.py",
            "tests/aot/test_recurrent.py",
            "tests/aot/test_signals.py",
            "tests/aot/test_twins.py",
            "tests/bench/",
            "tests/cycles/",
            "tests/flow/test_firmware_graphs.py",
        ),
        (*_of("aot/", "cycles/"), "templates/kernels/", "bench/"),
    ),
    Part(
        "applications",
        ("tests/applications/", "tests/commands/test_serve.py", "tests/suites/test_mlperf.py"),
        (*_of("applications/", "targets/commands.py", "targets/terminal.py"), "templates/apps/"),
    ),
    Part(
        "boards",
        ("tests/board/", "tests/project/test_ci.py"),
        ("boards/", *_of("board/", "project/"), "templates/"),
    ),
    Part(
        "compilers",
        (
            "tests/project/test_build_systems.py",
            "tests/project/test_compilers.py",
            "tests/toolchain/test_csolution.py",
        ),
        (*_of("aot/code/", "project/", "toolchain/"), "templates/"),
    ),
    Part(
        "tosa",
        (
            "tests/frontend/tosa/",
            "tests/suites/test_tosa.py",
            "tests/backend/ethosu/offload/test_chains.py",
            "tests/backend/ethosu/offload/test_tosa.py",
            "tests/corpus/test_fields.py",
            "tests/host/test_environments.py",
        ),
        _of("backend/ethosu/offload/", "frontend/tosa/"),
        needs=(TORCH, TOSA),
    ),
    Part(
        "corpus",
        (
            "tests/corpus/",
            "tests/backend/ethosu/offload/test_errata.py",
            "tests/backend/ethosu/offload/test_errata_factors.py",
            "tests/backend/ethosu/offload/test_errata_rescaling.py",
            "tests/backend/ethosu/simulator/test_fuzz.py",
        ),
        (*_of("backend/ethosu/"), "tests/errata/", f"{PYPROJECT}: ethos-u-vela"),
        is_drawn=True,
        runs_whole=True,
    ),
    Part(
        "onnx",
        (
            "tests/frontend/onnx/",
            "tests/frontend/relax/",
            "tests/relax/",
            "tests/suites/test_onnx_nodes.py",
        ),
        (*_of("aot/", "frontend/onnx/", "frontend/relax/"), "generator/ethosgen_relax/"),
    ),
    Part(
        "torch",
        ("tests/frontend/pte/", "tests/frontend/torch/", "tests/frontend/test_digits.py"),
        _of("frontend/pte/", "frontend/torch/", "quantization/"),
        needs=(TORCH,),
    ),
    Part(
        "quantization",
        ("tests/quantization/", "tests/commands/test_quantize.py"),
        _of("frontend/", "quantization/"),
        needs=(TORCH,),
    ),
    Part("hosts", ("tests/host/",), (*_of("host/", "targets/"), "generator/ethosgen_sweep/")),
    Part(
        "fvps",
        ("tests/fvp/test_on_qemu.py", "tests/suites/test_executorch.py"),
        (*_of("backend/", "board/", "targets/"), "generator/ethosgen_fvp/"),
    ),
    Part("meshes", ("tests/place/",), (*_of("stages/"), "generator/ethosgen_place/")),
    Part(
        "studies",
        ("tests/studies/", "tests/sweep/", "tests/flow/test_profiling.py"),
        (*_of("aot/", "metrics.py", "studies/"), "generator/ethosgen_sweep/"),
    ),
    Part(
        "systems",
        ("tests/stages/",),
        (*_of("stages/", "systems/", "targets/"), "templates/element/"),
    ),
    Part(
        "targets",
        (
            "tests/driver/",
            "tests/targets/attach/",
            "tests/targets/test_bells.py",
            "tests/targets/test_buffers.py",
            "tests/targets/test_cache_on_qemu.py",
            "tests/targets/test_cores.py",
            "tests/targets/test_counts.py",
            "tests/targets/test_devices.py",
            "tests/targets/test_failed_runs.py",
            "tests/targets/test_faults.py",
            "tests/targets/test_security.py",
            "tests/targets/test_stack.py",
            "tests/targets/test_weights_on_qemu.py",
        ),
        (*_of("aot/code/", "board/", "device/", "targets/", "toolchain/"), "boards/", "templates/"),
        is_drawn=True,
    ),
    Part(
        "plug-ins",
        ("tests/plugins/test_toy.py",),
        (
            *("tests/plugins/toy/", f"{_GENERATOR}plugins.py"),
            *_of("applications/", "board/", "commands/", "frontend/", "platforms/", "report/"),
        ),
        is_drawn=True,
    ),
    Part(
        "distribution",
        ("tests/test_distribution.py",),
        (*_of("project/"), "demo/", PYPROJECT),
    ),
    Part(
        "pages",
        (
            "tests/commands/test_report_page.py",
            "tests/plots/test_costs.py",
            "tests/report/test_page.py",
            "tests/test_notebooks.py",
            "tests/test_site.py",
        ),
        (
            *_of("api/", "commands/", "plots/", "report/"),
            "docs/",
            "evidence/",
            "mkdocs.yml",
            "templates/report/",
            "tools/",
        ),
        needs=(BROWSER,),
    ),
)


def part_of(path: str) -> Part | None:
    """Return the part that has a file of tests, None if `make test` runs all of it."""
    return next((part for part in PARTS if path.startswith(part.tests)), None)


def is_touched(part: Part, changed: Sequence[str] | None) -> bool:
    """Return whether changed files may break a part; None stands for an unknown change."""
    starts = (*part.sources, *part.tests, *(() if part.is_drawn else (REQUIREMENTS,)))
    return changed is None or any(path.startswith(starts) for path in changed)


def is_everywhere(changed: Sequence[str] | None) -> bool:
    """Return whether changed files are below all parts."""
    return changed is None or any(path.startswith(EVERYWHERE) for path in changed)


def is_wide(changed: Sequence[str] | None) -> bool:
    """Return whether changed files touch more than half of the parts, as a renamed class may."""
    return changed is not None and sum(is_touched(part, changed) for part in PARTS) > len(PARTS) / 2


def is_in_quarter(part: Part, test: str, commit: str) -> bool:
    """Return whether a test, or the file of tests, is in the quarter that a commit chooses."""
    drawn = test if part.is_drawn else test.partition("::")[0]
    return zlib.crc32(drawn.encode()) % QUARTERS == int(commit or "0", 16) % QUARTERS


def quarters_of(part: Part, changed: Sequence[str] | None) -> int:
    """Return how many quarters of a part's heavy tests run after a change: all, one or none."""
    if is_touched(part, changed):
        return QUARTERS if part.runs_whole or not is_wide(changed) else 1
    return int(part.is_drawn or is_everywhere(changed))


def is_chosen(part: Part, test: str, commit: str, changed: Sequence[str] | None) -> bool:
    """Return whether a heavy test runs after a change."""
    return _runs(part, quarters_of(part, changed), test, commit)


def _runs(part: Part, quarters: int, test: str, commit: str) -> bool:
    return quarters == QUARTERS or (quarters > 0 and is_in_quarter(part, test, commit))


def add_options(parser: pytest.Parser) -> None:
    """Declare the options."""
    parser.addoption("--core", action="store_true", help="leave out the heavy tests of all parts")
    parser.addoption(
        "--changed",
        action="store_true",
        help=f"leave out the parts that no change since {TESTED.relative_to(ROOT)} touches",
    )


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the options say, and put the costly files first.

    The processes take files in this order, so none is left with a costly one at the end.
    """
    if config.getoption("--core") or config.getoption("--changed"):
        left_out = {item for item in items if not _is_chosen(config, item)}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=[*left_out])
    heavy = Counter(item.path for item in items if _is_heavy(item))
    items.sort(key=lambda item: -heavy[item.path])


def _is_heavy(item: pytest.Item) -> bool:
    return any(marker.name in HEAVY for marker in item.iter_markers())


def _is_chosen(config: pytest.Config, item: pytest.Item) -> bool:
    part = part_of(item.path.relative_to(ROOT).as_posix()) if _is_heavy(item) else None
    is_after = bool(config.getoption("--changed"))
    return part is None or _runs(part, _quarters(part, is_after), item.nodeid, _commit())


@cache
def _quarters(part: Part, is_after: bool) -> int:
    """Return the quarters that run, after the change or without one."""
    return quarters_of(part, _changes() if is_after else ())


@cache
def _commit() -> str:
    """Return the checked-out commit, "" without git."""
    return (git("rev-parse", "HEAD") or "").strip()


@cache
def _changes() -> tuple[str, ...] | None:
    """Return the paths that differ from the last tested commit, None if it is unknown."""
    tested = TESTED.read_text().strip() if TESTED.is_file() else ""
    return changes(tested) if tested else None


def note_tested() -> None:
    """Write the commit where everything passed; an edited tree has none."""
    if git("status", "--porcelain", "--untracked-files=no") == "":
        Path(TESTED).write_text(f"{_commit()}\n")
        print(f"commit {TESTED.relative_to(ROOT)}: everything passed at {_commit()[:12]}")


def needs_of(changed: Sequence[str] | None, commit: str) -> list[str]:
    """Return the targets of make that install what the tests that a change runs need."""
    parts = [part for part in PARTS if part.needs and quarters_of(part, changed)]
    running = [
        part
        for part in parts
        if any(is_chosen(part, file, commit, changed) for file in files(part))
    ]
    return sorted({need for part in running for need in part.needs})


def files(part: Part) -> list[str]:
    """Return the files of a part's tests, from the root."""
    paths = [
        path
        for start in map(ROOT.joinpath, part.tests)
        for path in (start.rglob("test_*.py") if start.is_dir() else [start])
    ]
    return [path.relative_to(ROOT).as_posix() for path in paths]


if __name__ == "__main__":
    if "--needs" in sys.argv:
        print(*needs_of(_changes() if "--changed" in sys.argv else None, _commit()))
    else:
        note_tested()
