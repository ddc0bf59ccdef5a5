"""The C files of all kernels on the CPU, as a project gets them."""

import os
from importlib import import_module
from pathlib import Path

from ethosgen.aot.tir.structs import with_declarations
from ethosgen.host.resources import template_folder

VARIABLE = "ETHOSGEN_KERNEL_COUNTS"
"""Names the folder for the kernels' counts; without it the tests count nothing."""

SHAPES = (
    "framework.core",
    "helium.shapes",
    "dsp.shapes",
    "thumb.shapes",
    "floats.shapes",
)
"""Modules of the libraries that declare structs."""


def are_counted() -> bool:
    """Return whether the tests count the kernels' statements."""
    return VARIABLE in os.environ


def declare_structs() -> None:
    """Import the modules that declare the kernels' structs."""
    for module in SHAPES:
        import_module(f"ethosgen.aot.libraries.{module}")


def headers() -> dict[str, str]:
    """Return the kernels' headers by name, with the structs that they declare."""
    declare_structs()
    files = sorted(template_folder("kernels").rglob("*.h"))
    return {file.name: with_declarations(file.read_text()) for file in files}


def write_kernels(place: Path) -> None:
    """Write the headers into a folder, and the C files into a folder for each library there."""
    source = template_folder("kernels")
    for name, text in headers().items():
        (place / name).write_text(text)
    for file in source.rglob("*.c"):
        to = place / (file.parent.name if file.parent != source else "helium") / file.name
        to.parent.mkdir(exist_ok=True)
        to.write_text(file.read_text())
