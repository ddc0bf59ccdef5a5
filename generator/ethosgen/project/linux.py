"""Additional parts of projects for Linux: C++ and libraries of users' accelerators, and a clock."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ethosgen.backend.protocol import ProjectFiles
from ethosgen.platforms import BAREMETAL, LIBRARY_ONLY, LINUX, find_platform
from ethosgen.values.errors import InputError

TICK_NS = 40
"""A tick of the program's clock: its 32 bits then last longer than a run may take."""
_CXX = frozenset({".cpp", ".cc", ".cxx"})
_SHARED = ".so"


def check_wrapped(wrapped: Mapping[str, ProjectFiles], platform: str) -> None:
    """Raise InputError for users' accelerators that a platform's build does not support."""
    kind = find_platform(platform)
    for name, files in wrapped.items():
        if files.platforms and platform not in files.platforms:
            raise InputError(
                f"the accelerator '{name}' is only for --platform {' or '.join(files.platforms)}, "
                f"not {platform}; use that, or omit --accelerator {name}"
            )
        for source in () if kind.takes_cxx else files.sources:
            if _is_cxx(source):
                raise InputError(
                    f"'{source}' of the accelerator '{name}' is C++, but a {platform} project is "
                    f"in C; use --platform {LINUX}"
                )
        for external in () if kind.finds_sources else files.external:
            raise InputError(
                f"the accelerator '{external.owner}' needs {external.title}, which a {platform} "
                f"project cannot take from {external.option}; use --platform {BAREMETAL} or "
                f"{LIBRARY_ONLY}"
            )


def linux_facts(wrapped: Sequence[ProjectFiles]) -> dict[str, Any]:
    """Return the templates' values for Linux."""
    libraries = [
        library for files in wrapped for each in files.external for library in each.libraries
    ]
    return {
        "has_cxx": any(_is_cxx(source) for files in wrapped for source in files.sources),
        "links_shared": any(_SHARED in PurePosixPath(library).suffixes for library in libraries),
        "linux_tick_ns": TICK_NS,
    }


def _is_cxx(source: str) -> bool:
    return PurePosixPath(source).suffix in _CXX
