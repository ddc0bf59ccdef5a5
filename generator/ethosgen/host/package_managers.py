"""Package managers, and their packages for the tools that ethosgen runs."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PackageManager:
    """A package manager: its program, its install command, and its packages by tool."""

    program: str
    install: str
    packages: Mapping[str, str]


MANAGERS = (
    PackageManager(
        "apt-get",
        "sudo apt-get install -y",
        {  # as tools/setup.sh installs them; QEMU's page in Debian's list of packages agrees
            "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
            "arm-none-eabi-gcov": "gcc-arm-none-eabi",
            "cmake": "cmake",
            "ninja": "ninja-build",
            "qemu-system-arm": "qemu-system-arm",
            "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
            "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
            "qemu-aarch64": "qemu-user",
            "ssh": "openssh-client",
            "llvm-mca-19": "llvm-19",
            "llvm-objdump-19": "llvm-19",
            "verilator": "verilator g++",
            "g++": "g++",
        },
    ),
    PackageManager(
        "dnf",
        "sudo dnf install -y",
        {  # as installation guides of public firmware repositories give them for Fedora
            "arm-none-eabi-gcc": "arm-none-eabi-gcc-cs arm-none-eabi-newlib",
            "arm-none-eabi-gcov": "arm-none-eabi-gcc-cs",
            "cmake": "cmake",
            "ninja": "ninja-build",
            "qemu-system-arm": "qemu-system-arm",
            "verilator": "verilator gcc-c++",
            "g++": "gcc-c++",
        },
    ),
    PackageManager(
        "pacman",
        "sudo pacman -S --needed",
        {  # the compiler as such guides give it for Arch; QEMU as Arch's list of packages has it
            "arm-none-eabi-gcc": "arm-none-eabi-gcc arm-none-eabi-newlib",
            "arm-none-eabi-gcov": "arm-none-eabi-gcc",
            "cmake": "cmake",
            "ninja": "ninja",
            "qemu-system-arm": "qemu-system-arm",
            "verilator": "verilator gcc",
            "g++": "gcc",
        },
    ),
    PackageManager(
        "brew",
        "brew install",
        {
            # Homebrew's formula arm-none-eabi-gcc is built without headers, so it has no C library;
            # Arm's own release, the cask, has newlib. Such guides give both the cask and qemu.
            "arm-none-eabi-gcc": "--cask gcc-arm-embedded",
            "arm-none-eabi-gcov": "--cask gcc-arm-embedded",
            "cmake": "cmake",
            "ninja": "ninja",
            "qemu-system-arm": "qemu",
            "verilator": "verilator",
            "g++": "gcc",
        },
    ),
)
"""The system's own come before brew, which on Linux is an addition.

The names were looked up in November 2026, where the comments say.
"""


def install_words(tool: str) -> tuple[str, ...] | None:
    """Return the command that installs a tool here, None for an unknown system."""
    for manager in MANAGERS:
        if shutil.which(manager.program) and tool in manager.packages:
            return (*manager.install.split(), *manager.packages[tool].split())
    return None


def how_to_install(tool: str) -> str:
    """Return the command that installs a tool here, or Debian's names for an unknown system."""
    words = install_words(tool)
    if words is not None:
        return " ".join(words)
    debian = MANAGERS[0].packages.get(tool, tool)
    return f"the package manager of your system (Debian's packages: {debian})"
