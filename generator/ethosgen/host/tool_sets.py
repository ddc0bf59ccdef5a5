"""Programs, not Python packages, that `ethosgen doctor --install` installs together."""

import os
import shutil
from dataclasses import dataclass

from ethosgen.host.package_managers import install_words
from ethosgen.host.tools import HOST_GXX, LLVM_MCA, LLVM_OBJDUMP, VERILATOR, Tool
from ethosgen.values.errors import ToolError


@dataclass(frozen=True)
class ToolSet:
    """Programs that serve one purpose, from one package of the system."""

    name: str
    purpose: str
    tools: tuple[Tool, ...]

    @property
    def missing(self) -> list[str]:
        """The programs that are not found."""
        return [tool.name for tool in self.tools if not _is_here(tool)]

    @property
    def install_command(self) -> str:
        """The command that installs them on this machine, or other advice."""
        return self.tools[0].install_command

    @property
    def command(self) -> tuple[str, ...]:
        """That command; ToolError on a system whose package manager does not have them."""
        words = install_words(self.tools[0].name)
        if words is None:
            raise ToolError(f"cannot install '{self.name}' here: use {self.install_command}")
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which(words[0]) is None
        return words[1:] if is_root and words[0] == "sudo" else words


def _is_here(tool: Tool) -> bool:
    try:
        tool.find()
    except ToolError:
        return False
    return True


TOOL_SETS = {
    known.name: known
    for known in (
        ToolSet(
            "cycles",
            "gives the CPU's cycles and milliseconds by LLVM's models of cores",
            (LLVM_MCA, LLVM_OBJDUMP),
        ),
        ToolSet("verilog", "simulates accelerators from their RTL", (VERILATOR, HOST_GXX)),
    )
}
"""By name."""
