"""Platforms of projects: their only registry. Comparing a name outside it is a defect.

A platform has facts here, its files in `ethosgen.project`, and its build in `ethosgen.toolchain`.
"""

from collections.abc import Callable, Iterable

from ethosgen import plugins
from ethosgen.platforms.platform import Platform
from ethosgen.values.errors import InputError

__all__ = [
    "BAREMETAL",
    "CSOLUTION",
    "DEFAULT_PLATFORM",
    "LIBRARY_ONLY",
    "LINUX",
    "PLATFORMS",
    "ZEPHYR",
    "Platform",
    "find_platform",
    "first_platform",
    "names_of",
    "usual_platform",
]

BAREMETAL, ZEPHYR, CSOLUTION = "baremetal", "zephyr", "csolution"
LINUX, LIBRARY_ONLY = "linux", "library"
DEFAULT_PLATFORM = BAREMETAL

_NO_SECURE_SIDE = (
    f"only --platform {BAREMETAL} creates a secure side; for one of your own, use --platform "
    f"{LIBRARY_ONLY}"
)
_NO_WORKFLOW = (
    "test a Zephyr project with twister, which reads its sample.yaml, and others with the tools "
    "that build them"
)

PLATFORMS = plugins.Registry(
    plugins.PLATFORMS,
    {
        platform.name: platform
        for platform in (
            Platform(
                BAREMETAL,
                boots=True,
                stands_in=True,
                has_secure_side=True,
                takes_apps=True,
                finds_sources=True,
                is_apart=True,
                weights_folder="app",
            ),
            Platform(
                ZEPHYR,
                own_table="run.zephyr",
                secure_remedy="Zephyr's non-secure boards need Trusted Firmware-M as their secure "
                "side; build one with TF-M's own tools, and its network with --platform library",
                takes_apps=True,
                is_apart=True,
                weights_folder="src",
                driver="zephyr",
                has_kernel_heap=True,
                has_locks=True,
                has_cache_calls=True,
                starts_devices=True,
                has_npu_drivers=True,
                elf="build/zephyr/zephyr.elf",
                globs_sources=True,
                templates={"ethosgen_devices.c": "zephyr/ethosgen_devices.c"},
                ci_remedy=_NO_WORKFLOW,
                flash_remedy="'{directory}' is a Zephyr application; flash it with: west flash",
            ),
            Platform(
                CSOLUTION,
                needed_table="cmsis",
                takes_packs=True,
                boots=True,
                secure_remedy=_NO_SECURE_SIDE,
                driver="csolution",
                ci_remedy=_NO_WORKFLOW,
                profile_remedy="the solution in '{directory}' has no option for --profile; add "
                "ETHOSGEN_PROFILE to define in firmware.csolution.yml, and build it without "
                "--profile",
            ),
            Platform(
                LINUX,
                default_board="aarch64-linux",
                is_alone=True,
                own_table="linux",
                secure_remedy=_NO_SECURE_SIDE,
                maps_devices=True,
                starts_devices=True,
                templates={"ethosgen_devices.c": "linux/ethosgen_devices.c"},
                takes_cxx=True,
                finds_sources=True,
                ci_remedy="in a workflow of your own, check a program for Linux with: ethosgen "
                "build DIR && ethosgen run DIR",
                flash_remedy="'{directory}' is a program for Linux, which nobody flashes; run it "
                "with: ethosgen run {argument} --on ssh --host USER@HOST",
            ),
            Platform(
                LIBRARY_ONLY,
                is_built=False,
                guesses_irqs=False,
                finds_sources=True,
                is_apart=True,
                ci_remedy=_NO_WORKFLOW,
            ),
        )
    },
)
"""The platforms by name; the first is the default."""


def find_platform(name: str) -> Platform:
    """Return a platform; InputError lists the known ones."""
    if name not in PLATFORMS:
        raise InputError(f"unknown platform '{name}'; choose one of: {', '.join(PLATFORMS)}")
    return PLATFORMS[name]


def names_of(is_meant: Callable[[Platform], bool]) -> list[str]:
    """Return the names of the platforms with some property, in their order."""
    return [name for name, platform in PLATFORMS.items() if is_meant(platform)]


def first_platform(names: Iterable[str], is_meant: Callable[[Platform], bool]) -> Platform | None:
    """Return the first of some platforms with a property, None if none has it."""
    return next((platform for platform in map(find_platform, names) if is_meant(platform)), None)


def usual_platform(names: Iterable[str]) -> str:
    """Return the default platform of a board with these platforms."""
    alone = first_platform(names, lambda platform: platform.is_alone)
    return alone.name if alone else DEFAULT_PLATFORM
