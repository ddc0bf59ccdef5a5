"""External programs: where they are looked for, and what to do when they are not there."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ethosgen.errors import ToolError


@dataclass(frozen=True)
class Tool:
    """A program that ethosgen runs: the variable that overrides PATH, and Debian's package."""

    name: str
    variable: str
    package: str
    purpose: str
    remedy: str = ""
    """What to do where no package of Debian's has it."""

    @property
    def install_command(self) -> str:
        """The command that installs it on Debian and Ubuntu, or what to do instead."""
        if self.remedy:
            return self.remedy
        return f"sudo apt-get install -y {self.package}"

    def find(self) -> Path:
        """Return the program's path.

        ToolError says what was looked for, where, which variable overrides that, and how to
        install it.
        """
        override = os.environ.get(self.variable)
        if override:
            found = shutil.which(override)
            if found is None:
                raise ToolError(
                    f"{self.variable} names '{override}', which is no program that can be run; "
                    "correct or unset it"
                )
            return Path(found)
        found = shutil.which(self.name)
        if found is None:
            raise ToolError(
                f"{self.name} ({self.purpose}) was not found on PATH "
                f"({os.environ.get('PATH', '')}); install it by: {self.install_command}; "
                f"or name it in {self.variable}"
            )
        return Path(found)


GCC = Tool(
    "arm-none-eabi-gcc",
    "ETHOSGEN_GCC",
    "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "the C compiler for Cortex-M",
)
CMAKE = Tool("cmake", "ETHOSGEN_CMAKE", "cmake", "configures a project")
NINJA = Tool("ninja", "ETHOSGEN_NINJA", "ninja-build", "builds a project")
QEMU = Tool("qemu-system-arm", "ETHOSGEN_QEMU", "qemu-system-arm", "simulates the board")

TOOLS = (GCC, CMAKE, NINJA, QEMU)
"""All of them, in the order in which a user meets them."""
