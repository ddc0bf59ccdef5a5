"""Explains errors of files and folders in a sentence."""

import errno
import os
from pathlib import Path

from ethosgen.values.errors import InputError

_PLACES = frozenset(
    {
        *(errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR),
        *(errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EMFILE, errno.ENFILE, errno.EFBIG),
    }
)
"""Errors that a user can fix: another place, more space, fewer open files. Others are bugs."""

_NO_TEMPORARY = "No usable temporary directory"
"""The start of the message from Python's tempfile."""


def explain_storage(error: BaseException | None) -> str | None:
    """Return the fault of a file or folder and the remedy; None for any other error."""
    if not isinstance(error, OSError):
        return None
    reason = error.strerror or str(error)
    if reason.startswith(_NO_TEMPORARY):
        return "no folder for temporary files is writable; name one in TMPDIR"
    if error.errno not in _PLACES:
        return None
    place = f"'{os.fsdecode(error.filename)}'" if error.filename is not None else "a file"
    return (
        f"cannot use {place}: {reason}; choose a writable place that has room, "
        "with -o or --output for results and TMPDIR for temporary files"
    )


def require_writable(folder: Path, otherwise: str = "choose another folder") -> None:
    """Raise InputError if a folder is not writable, or cannot be created in its parent.

    `otherwise` is the remedy.
    """
    place = next((p for p in (folder, *folder.absolute().parents) if p.exists()), folder)
    if not place.is_dir():
        raise InputError(f"'{place}' is not a folder, so nothing can be written to '{folder}'")
    if not os.access(place, os.W_OK):
        raise InputError(f"'{place}' is not writable; {otherwise}")
