"""The C files of templates/kernels: inner loops that TVM's loops call."""

from collections.abc import Iterable
from pathlib import Path

from ethosgen.host.resources import resource_folder

HEADERS = ("ethosgen_kernels.h", "ethosgen_requantize.h")
"""The headers of the generated C; the first declares their functions."""


def read_micro_kernels(names: Iterable[str]) -> dict[str, str]:
    """Return the text of C files and of their headers, by name; nothing for no names."""
    chosen = sorted(names)
    return {
        name: (_folder() / name).read_text(encoding="utf-8")
        for name in ((*HEADERS, *chosen) if chosen else ())
    }


def _folder() -> Path:
    return resource_folder("templates") / "kernels"
