"""Markers for the needs of a test besides Python and ethosgen's requirements.

A test without its needs is skipped, with the reason; `-m "not qemu"` selects the others. A test in
which nothing is marked runs everywhere, so it must not start a compiler or QEMU.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ethosgen.backend.wrapped.accelerator import load_wrapped
from ethosgen.backend.wrapped.external import find_external
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.extras import EXTRAS, is_here
from ethosgen.host.tools import TOOLS
from ethosgen.values.errors import InputError, ToolError
from tests.support.browser import find_chromium
from tests.support.small_models import SHARED_MODELS

BUILD = ("arm-none-eabi-gcc", "cmake", "ninja")
LINUX = ("aarch64-linux-gnu-g++", "cmake", "ninja", "qemu-aarch64")

_GUARDED = re.compile(
    r"(.*-)?(cc|gcc|g\+\+|clang(-\d+)?|as|ld|ar|objcopy|readelf)|cmake|ninja|verilator|qemu-.*"
)
"""Programs that only marked tests may start."""

EXTRA_OF = {module: extra for extra in EXTRAS.values() for module in extra.packages}
"""By module, the extra of ethosgen that installs it."""

needs_gcc = pytest.mark.compiler("gcc")
"""A compiler for this machine."""
needs_arm_gcc = pytest.mark.compiler("arm-none-eabi-gcc")
needs_build = pytest.mark.compiler(*BUILD)
needs_llvm = pytest.mark.compiler("llvm-mca-19", "llvm-objdump-19")
needs_verilator = pytest.mark.compiler("verilator", "g++", "gcc")
"""A device whose model is RTL."""
needs_qemu = pytest.mark.qemu
needs_native = pytest.mark.compiler("gcc", "cmake", "ninja")
"""A build of a program for this machine."""
needs_qemu_user = pytest.mark.qemu(*LINUX)
"""A program for 64-bit Arm Linux."""
needs_models = pytest.mark.models
needs_zephyr = pytest.mark.zephyr
needs_cmsis_nn = pytest.mark.cmsisnn
needs_tflm = pytest.mark.tflm
needs_litert = pytest.mark.litert
needs_mlperf = pytest.mark.mlperf
needs_executorch = pytest.mark.executorch
needs_fvp_programs = pytest.mark.fvpprograms
needs_packs = pytest.mark.packs
needs_browser = pytest.mark.browser
needs_torch = pytest.mark.environment("torch")
needs_tosa = pytest.mark.environment("tosa")
needs_keras = pytest.mark.environment("keras")


def needs_extra(name: str) -> pytest.MarkDecorator:
    """Mark a test that uses the packages of an extra, other than by an import of its file."""
    return pytest.mark.extra(EXTRAS[name].name)


def needs_acl(test: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a test that needs Arm Compute Library, and what compiles and runs it."""
    marked: Callable[..., Any] = pytest.mark.acl(needs_qemu_user(test))
    return marked


def _without_programs(*names: str) -> str | None:
    """Return why one of the programs cannot run; None if all can."""
    known = {tool.name: tool for tool in TOOLS}
    for name in names:
        if name in known:
            try:
                known[name].find()
            except ToolError as error:
                return str(error)
        elif shutil.which(name) is None:
            return f"{name} is not installed"
    return None


def _without_variable(name: str) -> str | None:
    return None if name in os.environ else f"{name} is not set"


def _without_acl() -> str | None:
    """Return why Arm Compute Library cannot be used; None if it can."""
    try:
        find_external(load_wrapped("acl").folder)
    except InputError as error:
        return str(error)
    return None


def _without_mlperf() -> str | None:
    """Return why MLPerf Tiny's runner cannot start; None if it can."""
    python = os.environ.get("MLPERF_PYTHON", sys.executable)
    imports = "import matplotlib, numpy, serial, sklearn, usb.core, yaml"
    if lacking := _without_variable("MLPERF_TINY"):
        return lacking
    done = subprocess.run([python, "-c", imports], capture_output=True, text=True, check=False)
    return f"{python}: {done.stderr.splitlines()[-1]}" if done.returncode else None


def _without_executorch() -> str | None:
    """Return why ExecuTorch's tests cannot run on its runner; None if they can."""
    lacking = _without_variable("EXECUTORCH_PYTHON") or _without_variable("EXECUTORCH_ROOT")
    if lacking:
        return lacking
    python = os.environ["EXECUTORCH_PYTHON"]
    imports = "import executorch.backends.arm.test, ethosu.vela, pytest, tosa_serializer"
    done = subprocess.run([python, "-c", imports], capture_output=True, text=True, check=False)
    return f"{python}: {done.stderr.splitlines()[-1]}" if done.returncode else None


def _without_environment(name: str) -> str | None:
    try:
        ENVIRONMENTS[name].find()
    except ToolError as error:
        return str(error)
    return None


def extra_of(error: BaseException | None) -> str | None:
    """Name the extra to install for an import that failed; None if no extra has the package."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    module = (name or "").partition(".")[0]
    return _advice(module) if module in EXTRA_OF else None


def _advice(module: str) -> str:
    extra = EXTRA_OF[module]
    return f"{module} is missing: install the extra '{extra.name}' with: {extra.install_command}"


def _without_browser() -> str | None:
    if find_chromium() is None:
        return "Chromium is not installed: install it with make browser"
    return _without_package("playwright") or _without_package("axe_playwright_python")


def _without_package(module: str) -> str | None:
    return None if is_here(module) else _advice(module)


def _without_extra(name: str) -> str | None:
    """Return which package of an extra is missing; None if none is."""
    return next(filter(None, map(_without_package, EXTRAS[name].packages)), None)


NEEDS: dict[str, tuple[str, Callable[..., str | None]]] = {
    "compiler": ("compiles with the programs named", _without_programs),
    "qemu": (
        "builds firmware, or with the programs named another program, and runs it on QEMU",
        lambda *names: _without_programs(*(names or (*BUILD, "qemu-system-arm"))),
    ),
    "zephyr": ("builds with Zephyr", lambda: _without_variable("ZEPHYR_BASE")),
    "freertos": ("builds with FreeRTOS's kernel", lambda: _without_variable("FREERTOS_KERNEL")),
    "cmsisnn": ("compiles Arm's CMSIS-NN", lambda: _without_variable("CMSIS_NN_PATH")),
    "tflm": (
        "reads a checkout of tflite-micro",
        lambda: _without_variable("TFLITE_MICRO_PATH"),
    ),
    "litert": ("reads LiteRT's zip tests", lambda: _without_variable("LITERT_ZIPS")),
    "mlperf": ("runs the runner in a checkout of MLPerf Tiny", _without_mlperf),
    "executorch": ("runs ExecuTorch's tests in its runner", _without_executorch),
    "fvpprograms": (
        "runs others' firmware tests for Arm's FVPs",
        lambda: None if "TFLM_TESTS" in os.environ else _without_variable("ETHOSU_BUILDS"),
    ),
    "environment": ("uses the Python environment named", _without_environment),
    "extra": ("uses the packages of the extra named", _without_extra),
    "acl": ("compiles with Arm Compute Library for arm64", _without_acl),
    "browser": ("opens pages in Chromium", _without_browser),
    "packs": ("reads CMSIS packs", lambda: _without_package("cmsis_pack_manager")),
    "debian": (
        "runs the container's steps in Debian's root file system, as root",
        lambda: (
            _without_variable("DEBIAN_ROOT")
            or ("it needs root" if os.geteuid() else None)
            or _without_programs("chroot", "mount")
        ),
    ),
    "packschema": (
        "checks a CMSIS pack with the format's PACK.xsd",
        lambda: _without_variable("CMSIS_PACK_SCHEMA"),
    ),
    "models": (
        "reads the networks in ../shared/models",
        lambda: None if SHARED_MODELS.is_dir() else f"{SHARED_MODELS} does not exist",
    ),
}
"""By marker: what a marked test does, and a function that says what is missing."""


REQUIRED = "ETHOSGEN_REQUIRED"
"""The environment variable with the needs, by marker, without which a test fails, as in CI."""


def is_required(marker: str) -> bool:
    """Return whether a test fails instead of being skipped without such a need."""
    return marker in os.environ.get(REQUIRED, "").split(",")


def unmet(item: pytest.Item) -> Iterator[str]:
    """Yield the reason for each need of a test that this machine does not meet."""
    for marker in item.iter_markers():
        if marker.name in NEEDS:
            _, examine = NEEDS[marker.name]
            if reason := examine(*marker.args):
                if is_required(marker.name):
                    pytest.fail(f"{REQUIRED} has {marker.name}, but {reason}", pytrace=False)
                yield reason


class StartedPrograms:
    """Compilers and simulators that this process starts; Python reports each to an audit hook."""

    def __init__(self) -> None:
        self.names: list[str] = []
        sys.addaudithook(self._notice)

    def _notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "subprocess.Popen":
            return
        program, command, *_ = arguments
        name = Path(os.fsdecode(program)).name
        if _GUARDED.fullmatch(name) and not all(map(_is_question, command[1:])):
            self.names.append(name)

    def unmarked(self, item: pytest.Item) -> str | None:
        """Return the programs that a test started without their marker; None if none."""
        wanted = {"qemu" if name.startswith("qemu-") else "compiler" for name in self.names}
        if item.get_closest_marker("qemu"):
            wanted.clear()  # it builds what it runs
        missing = sorted(wanted - {marker.name for marker in item.iter_markers()})
        if not missing:
            return None
        return f"it starts {', '.join(self.names)} without the marker {' and '.join(missing)}"


def _is_question(argument: Any) -> bool:
    """Return whether an argument asks what is installed, as `doctor` does, and compiles nothing."""
    return str(argument).startswith(("--version", "-print-"))


STARTED = StartedPrograms()
"""What the current test has started."""
