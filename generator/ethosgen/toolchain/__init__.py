"""Builds a project with its platform's compiler, and measures the firmware's sizes."""

from ethosgen.toolchain.baremetal import build, find_built
from ethosgen.toolchain.coverage import find_gcov, read_coverage
from ethosgen.toolchain.csolution import build_csolution
from ethosgen.toolchain.freshness import digest_sources, require_fresh, stamp
from ethosgen.toolchain.identity import APART, Identity, find_identities
from ethosgen.toolchain.linux import build_linux, find_linux
from ethosgen.toolchain.lock import lock_build
from ethosgen.toolchain.sizes import Built, Sizes, measure_elf
from ethosgen.toolchain.toolchains import TOOLCHAINS, BuildSwitches, Toolchain, toolchain_of
from ethosgen.toolchain.zephyr import build_zephyr, find_zephyr

__all__ = [
    "APART",
    "TOOLCHAINS",
    "BuildSwitches",
    "Built",
    "Identity",
    "Sizes",
    "Toolchain",
    "build",
    "build_csolution",
    "build_linux",
    "build_zephyr",
    "digest_sources",
    "find_built",
    "find_gcov",
    "find_identities",
    "find_linux",
    "find_zephyr",
    "lock_build",
    "measure_elf",
    "read_coverage",
    "require_fresh",
    "stamp",
    "toolchain_of",
]
