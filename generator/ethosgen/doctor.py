"""What a machine has of what ethosgen needs, and the command that installs the rest."""

import importlib.metadata
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from ethosgen.errors import ToolError
from ethosgen.tools import TOOLS, Tool

_PACKAGES = {
    "apache-tvm": "compiles what the NPU does not run",
    "ethos-u-vela": "compiles for the NPU",
    "tflite-micro": "gives the golden answers",
    "ai-edge-litert": "gives the second opinion",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for; `remedy` is the command that installs it."""

    name: str
    found: bool
    detail: str
    remedy: str

    def as_json(self) -> dict[str, str | bool]:
        """Return the finding as one object of JSON types."""
        return {
            "name": self.name,
            "found": self.found,
            "detail": self.detail,
            "remedy": self.remedy,
        }


def examine() -> list[Finding]:
    """Look for the external tools and the Python packages, in the order in which they are used."""
    return [*_packages(_PACKAGES.items()), *map(_tool, TOOLS)]


def _packages(packages: Iterable[tuple[str, str]]) -> Iterable[Finding]:
    for name, purpose in packages:
        remedy = f"{sys.executable} -m pip install ethosgen"
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, False, f"{purpose}; not installed", remedy)
        else:
            yield Finding(name, True, f"{version}; {purpose}", remedy)


def _tool(tool: Tool) -> Finding:
    try:
        path = tool.find()
    except ToolError:
        detail = f"{tool.purpose}; neither on PATH nor in {tool.variable}"
        return Finding(tool.name, False, detail, tool.install_command)
    return Finding(tool.name, True, f"{path}; {tool.purpose}", tool.install_command)
