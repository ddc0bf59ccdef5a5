"""The registry of platforms' builds: how each is compiled, and where its firmware is then."""

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
class Toolchain:
    """A platform's build.

    `build` compiles a project for a variant, "board" or that of a target, with the profile's
    counters or without; the result has the project's own application, if there is one. `find`
    returns what it built for a target, in another build directory if one is given, and
    `find_application` the project's own application. `cover` builds a firmware that writes what it
    reaches to a file, None if the platform has no such build. `doing` is for the progress.
    """

    doing: str
    build: Callable[[ProjectInfo, str, bool], Built]
    find: Callable[[ProjectInfo, str, Path | None, str], Built] = _find_in_build
    find_application: Callable[[ProjectInfo, str, Path | None, str], Built] = _find_application
    cover: Callable[[ProjectInfo, str, Path], Path] | None = None


def _profile_option(profile: bool) -> dict[str, str]:
    return {"ETHOSGEN_PROFILE": "ON" if profile else "OFF"}


def _build_baremetal(info: ProjectInfo, variant: str, profile: bool) -> Built:
    built = build(info.directory, variant, _profile_option(profile))
    own = find_built(info.directory, variant, name=_APPLICATION) if info.app else None
    return replace(built, application=own)


def _build_zephyr(info: ProjectInfo, variant: str, profile: bool) -> Built:
    own = build_zephyr(info, variant, application=True) if info.app else None
    options = {"CONFIG_ETHOSGEN_PROFILE": "y" if profile else "n"}
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
            lambda info, variant, _profile: build_csolution(info.directory, variant),
        ),
        LINUX: Toolchain(
            "compiling the program",
            lambda info, variant, profile: build_linux(info, variant, _profile_option(profile)),
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
