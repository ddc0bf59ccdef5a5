"""Starts a new accelerator: a working example with comments, for the user to change."""

import re
import shutil
import tempfile
from pathlib import Path

from ethosgen.host.resources import template_folder
from ethosgen.values.errors import InputError, cannot_write

_FUNCTIONS, _DEVICE, _VERILOG = "accelerator", "accelerator_device", "accelerator_verilog"
"""The folders of templates: of C functions, of a device, and what differs if its model is RTL."""
_MODEL = "model."
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_MARK = "new_accelerator"
"""The name in the templates: of files and C functions, and spelled otherwise of macros, classes."""


def start_folder(name: str, place: Path, is_device: bool = False, is_verilog: bool = False) -> Path:
    """Write the folder NAME in `place` and return it; InputError for a bad or taken name.

    A device has registers, an interrupt and a functional model, in Python and C or in Verilog.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name}' is not a valid name of an accelerator; use lower case letters, digits, '-' "
            "and '_', beginning with a letter"
        )
    folder, slug = place / name, name.replace("-", "_")
    if folder.exists():
        raise InputError(f"'{folder}' exists; choose another name, or delete it")
    try:
        stage = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=place))
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        for source in _sources(is_device, is_verilog):
            text = source.read_text("utf-8")
            for spelled in (str, str.upper, _class_name):
                text = text.replace(spelled(_MARK), spelled(slug))
            (stage / source.name.replace(_MARK, slug)).write_text(text, "utf-8")
        stage.chmod(0o755)
        stage.rename(folder)
    except OSError as error:
        raise cannot_write(folder, error) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return folder


def _sources(is_device: bool, is_verilog: bool) -> list[Path]:
    """Return the templates; RTL takes the place of a device's other models."""
    if not is_verilog:
        return sorted(template_folder(_DEVICE if is_device else _FUNCTIONS).iterdir())
    own = {path.name: path for path in template_folder(_VERILOG).iterdir()}
    shared = (p for p in template_folder(_DEVICE).iterdir() if not p.name.startswith(_MODEL))
    return sorted(({path.name: path for path in shared} | own).values())


def _class_name(slug: str) -> str:
    return "".join(word.capitalize() for word in slug.split("_"))
