"""The registry of platforms' builds: how each is compiled, and where its firmware is."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ethosgen import plugins
from ethosgen.platforms import BAREMETAL, CSOLUTION, LINUX, ZEPHYR, find_platform
from ethosgen.project.info import ProjectInfo
from ethosgen.toolchain.baremetal import build, find_built
from ethosgen.toolchain.coverage import build_covered
from ethosgen.toolchain.csolution import build_csolution
from ethosgen.toolchain.linux import build_linux, find_linux
from ethosgen.toolchain.sizes import Built
from ethosgen.toolchain.zephyr import build_zephyr, find_zephyr
from ethosgen.values.errors import InputError

_APPLICATION = "application.elf"


def _find_in_build(info: ProjectInfo, variant: str, _folder: Path | None, on: str) -> Built:
    return find_built(info.directory, variant, on)


def _find_application(info: ProjectInfo, variant: str, _folder: Path | None, on: str) -> Built:
    return find_built(info.directory, variant, on, _APPLICATION)


@dataclass(frozen=True)
class BuildSwitches:
    """Additional parts of a firmware: counters for a profile, self-tests at its start."""

    profile: bool = False
    self_test: bool = False


@dataclass(frozen=True)
class Toolchain:
    """A platform's build.

    `build` compiles a project for a variant, "board" or that of a target, with the switches'
    additions; the result has the project's own application, if there is one. `find` returns its
    result for a target, in another build directory if one is given, and `find_application` the
    project's own application. `cover` builds a firmware that writes its coverage to a file, None if
    the platform has no such build. `doing` is for the progress.
    """

    doing: str
    build: Callable[[ProjectInfo, str, BuildSwitches], Built]
    find: Callable[[ProjectInfo, str, Path | None, str], Built] = _find_in_build
    find_application: Callable[[ProjectInfo, str, Path | None, str], Built] = _find_application
    cover: Callable[[ProjectInfo, str, Path], Path] | None = None


def _options(switches: BuildSwitches, on: str = "ON", off: str = "OFF") -> dict[str, str]:
    return {
        "ETHOSGEN_PROFILE": on if switches.profile else off,
        "ETHOSGEN_SELF_TEST": on if switches.self_test else off,
    }


def _build_baremetal(info: ProjectInfo, variant: str, switches: BuildSwitches) -> Built:
    built = build(info.directory, variant, _options(switches))
    own = find_built(info.directory, variant, name=_APPLICATION) if info.app else None
    return replace(built, application=own)


def _build_zephyr(info: ProjectInfo, variant: str, switches: BuildSwitches) -> Built:
    own = build_zephyr(info, variant, application=True) if info.app else None
    options = {f"CONFIG_{name}": value for name, value in _options(switches, "y", "n").items()}
    return replace(build_zephyr(info, variant, options), application=own)


TOOLCHAINS = plugins.Registry(
    plugins.TOOLCHAINS,
    {
        BAREMETAL: Toolchain(
            "compiling the firmware (arm-none-eabi-gcc)", _build_baremetal, cover=build_covered
        ),
        ZEPHYR: Toolchain(
            "compiling the application (Zephyr)",
            _build_zephyr,
            find_zephyr,
            lambda info, variant, folder, on: find_zephyr(
                info, variant, folder, on, application=True
            ),
        ),
        CSOLUTION: Toolchain(
            "compiling the solution (cbuild)",
            lambda info, variant, _switches: build_csolution(info.directory, variant),
        ),
        LINUX: Toolchain(
            "compiling the program",
            lambda info, variant, switches: build_linux(info, variant, _options(switches)),
            lambda info, variant, _folder, on: find_linux(info, variant, on),
        ),
    },
)
"""The builds by the name that a platform gives as its `toolchain`."""


def toolchain_of(platform: str) -> Toolchain:
    """Return a platform's build."""
    name = find_platform(platform).toolchain_name
    if name not in TOOLCHAINS:
        raise InputError(
            f"platform '{platform}' has no build: its package must have an entry point '{name}' in "
            f"{plugins.TOOLCHAINS.group}"
        )
    return TOOLCHAINS[name]
