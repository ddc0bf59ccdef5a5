"""The extras of ethosgen: their purposes, and the commands that install them on this machine.

No package index has ethosgen, so no command may name it: a checkout names its folder, pipx adds the
extra's requirements to its own environment, and anything else installs these with this interpreter.
"""

import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from ethosgen.values.errors import ToolError

_CHECKOUT = Path(__file__).parents[3]
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Extra:
    """An extra: its purpose, and its packages, with pip's names, by the modules to import.

    An extra `of_checkout` is for work on ethosgen itself.
    """

    name: str
    purpose: str
    packages: Mapping[str, str] = field(hash=False)
    of_checkout: bool = False

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [package for module, package in self.packages.items() if not is_here(module)]

    @property
    def command(self) -> tuple[str, ...]:
        """The command that installs it next to the running ethosgen."""
        if not _is_of_pipx() and is_checkout():
            return (*_pip(), "-e", f"{_CHECKOUT}[{self.name}]")
        return installing(*declared(self.name))

    @property
    def install_command(self) -> str:
        """That command for a shell."""
        return shlex.join(self.command)

    def require(self, what: str, *modules: str, otherwise: str = "") -> None:
        """Raise ToolError if modules are missing, by default any, which `what` needs."""
        wanted = [name for name in modules or self.packages if not is_here(name)]
        if wanted:
            raise self.lacking(what, *wanted, otherwise=otherwise)

    def lacking(self, what: str, *modules: str, otherwise: str = "") -> ToolError:
        """Return the error for modules, by default all, that `what` needs and does not find."""
        wanted = [self.packages[name] for name in modules or self.packages]
        them = "it" if len(wanted) == 1 else "them"
        return ToolError(
            f"{what} needs {' and '.join(wanted)}; install {them} with: "
            f"{self.install_command}{otherwise}"
        )


EXTRAS = {
    extra.name: extra
    for extra in (
        Extra(
            "onnx",
            "reads .onnx files, quantizes them and compares with ONNX Runtime",
            {"onnx": "onnx", "onnxruntime": "onnxruntime"},
        ),
        Extra(
            "quantize",
            "quantizes float .tflite files",
            {"litert_quantizer": "litert-quantizer"},
        ),
        Extra("images", "reads pictures as inputs and as labelled data", {"PIL": "Pillow"}),
        Extra(
            "sweep",
            "measures many configurations on all cores or many machines",
            {
                "dask": "dask",
                "distributed": "distributed",
                "pyarrow": "pyarrow",
                "bokeh": "bokeh",
            },
        ),
        Extra(
            "place",
            "places networks on large meshes and simulates them",
            {"pymetis": "pymetis", "simpy": "simpy"},
        ),
        Extra("plot", "draws comparisons, sweeps and placements", {"matplotlib": "matplotlib"}),
        Extra(
            "packs",
            "writes board files from CMSIS packs",
            {"cmsis_pack_manager": "cmsis-pack-manager"},
        ),
        Extra(
            "convert",
            "makes .tosa files for ethosgen's tests",
            {"tosa_converter_for_tflite": "tosa-converter-for-tflite"},
            of_checkout=True,
        ),
        Extra(
            "demo",
            "trains the networks of the demos",
            {"scipy": "scipy", "sklearn": "scikit-learn"},
            of_checkout=True,
        ),
        Extra(
            "docs",
            "builds the documentation as a site",
            {
                "material": "mkdocs-material",
                "mkdocstrings_handlers.python": "mkdocstrings-python",
            },
            of_checkout=True,
        ),
        Extra(
            "dev",
            "tests ethosgen and checks its style",
            {
                "pytest": "pytest",
                "hypothesis": "hypothesis",
                "mypy": "mypy",
                "playwright": "playwright",
                "axe_playwright_python": "axe-playwright-python",
                "devicetree": "devicetree",
                "kconfiglib": "kconfiglib",
                "west": "west",
            },
            of_checkout=True,
        ),
    )
}
"""All but those with a Python environment of their own, by name."""


def offered() -> Iterator[Extra]:
    """Yield the extras that apply here: all in a checkout, else those for users."""
    return (extra for extra in EXTRAS.values() if is_checkout() or not extra.of_checkout)


def is_here(module: str) -> bool:
    """Return whether this interpreter finds a module, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def installing(*requirements: str) -> tuple[str, ...]:
    """Return the command that adds pip's requirements to the running ethosgen."""
    if _is_of_pipx():
        return ("pipx", "inject", Path(sys.prefix).name, *requirements)
    return (*_pip(), *requirements)


def package_command(name: str) -> str:
    """Return the command for a shell that installs a package which ethosgen itself requires."""
    wanted = {name_of(line): line for line in declared("")}
    return shlex.join(installing(wanted.get(name, name)))


def name_of(requirement: str) -> str:
    """Return the package of a requirement."""
    match = _NAME.match(requirement)
    return match[0] if match else requirement


def is_checkout() -> bool:
    """Return whether ethosgen runs from its repository."""
    return (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "generator").is_dir()


def folder_beside(name: str) -> Path:
    """Return the path of a folder in the repository."""
    return _CHECKOUT / name


def declared(extra: str) -> Iterator[str]:
    """Yield the requirements of an extra, "" for those of ethosgen itself.

    The metadata of an editable installation are as old as the installation, so a checkout's
    pyproject.toml comes first.
    """
    if is_checkout():
        project = tomllib.loads((_CHECKOUT / "pyproject.toml").read_text())["project"]
        yield from project["optional-dependencies"][extra] if extra else project["dependencies"]
        return
    from importlib import metadata  # it imports email's packages

    try:
        lines = metadata.requires("ethosgen") or []
    except metadata.PackageNotFoundError:
        lines = []
    for line in lines:
        requirement, _, marker = line.partition(";")
        match = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
        if (match[1] if match else "") == extra:
            yield requirement.strip()


def _is_of_pipx() -> bool:
    return (Path(sys.prefix) / "pipx_metadata.json").is_file()


def _pip() -> tuple[str, ...]:
    """Return pip's command for this interpreter; uv's environments have no pip of their own."""
    if not is_here("pip") and shutil.which("uv"):
        return ("uv", "pip", "install", "--python", sys.executable)
    return (sys.executable, "-m", "pip", "install")


def version_of(package: str) -> str:
    """Return a package's name and version, only its name if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # it imports email's packages

    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
