"""Folders of `accelerators new --device` with planted errors, and their checks."""

from pathlib import Path

from ethosgen.backend import load_wrapped, start_wrapped
from ethosgen.studies.acceptance import Acceptance, check_accelerator
from ethosgen.values.watch import Watch
from tests.support.toy_accelerator import changed

NAME = "my-engine"
IN_C = ("accelerator.toml", '"model.py:MyEngine"', '"model.c"')
"""The change to the model in C."""


def new_device(place: Path, *changes: tuple[str, str, str], is_verilog: bool = False) -> Path:
    """Write a device for FULLY_CONNECTED alone; changes are (file, old text, new text)."""
    folder = start_wrapped(NAME, place, is_device=True, is_verilog=is_verilog)
    toml = folder / "accelerator.toml"
    first_operator, _, _ = toml.read_text().rpartition("[[operator]]")
    toml.write_text(first_operator)
    for file, old, new in changes:
        path = folder / file
        path.write_text(changed(old, new, path.read_text()))
    return folder


def checked(folder: Path, is_watched: bool = True) -> Acceptance:
    """Return the check of its only operation."""
    (result,) = check_accelerator(load_wrapped(str(folder)), 0, Watch(), is_watched)
    return result
