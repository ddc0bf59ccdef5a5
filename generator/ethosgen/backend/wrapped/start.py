"""Starts a new accelerator: a working example with comments, for the user to change."""

import re
import shutil
import tempfile
from pathlib import Path

from ethosgen.host.resources import template_folder
from ethosgen.values.errors import InputError, cannot_write

TEMPLATES = {False: "accelerator", True: "accelerator_device"}
"""The folder of templates: of C functions, or of a device."""
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_MARK = "new_accelerator"
"""The name in the templates: of files and C functions, and spelled otherwise of macros, classes."""


def start_folder(name: str, place: Path, is_device: bool = False) -> Path:
    """Write the folder NAME in `place` and return it; InputError for a bad or taken name.

    A device has registers, an interrupt and a functional model.
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
        for source in sorted(template_folder(TEMPLATES[is_device]).iterdir()):
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


def _class_name(slug: str) -> str:
    return "".join(word.capitalize() for word in slug.split("_"))
