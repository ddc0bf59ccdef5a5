"""The C files in templates/kernels: inner loops called from TVM's loops."""

from collections.abc import Iterable
from pathlib import Path

from ethosgen.host.resources import resource_folder

HEADERS = ("ethosgen_kernels.h", "ethosgen_requantize.h")
"""Their headers; the first declares their functions."""


def read_micro_kernels(names: Iterable[str]) -> dict[str, str]:
    """Return the text of the named C files and of their headers, by file name."""
    chosen = sorted(names)
    return {
        name: (_folder() / name).read_text(encoding="utf-8")
        for name in ((*HEADERS, *chosen) if chosen else ())
    }


def _folder() -> Path:
    return resource_folder("templates") / "kernels"
