"""Locks of open files, which the system releases when the process ends, however it ends."""

import sys
import time
from typing import IO, Any

_RETRY_S = 0.1

if sys.platform == "win32":
    import msvcrt

    _PLACE = 1 << 62
    """A byte behind all content: Windows refuses others' reads of a locked byte."""

    def try_lock(file: IO[Any]) -> bool:
        """Lock an open file; return False if another process holds it."""
        position = file.tell()
        file.seek(_PLACE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            file.seek(position)
        return True
else:
    import fcntl

    def try_lock(file: IO[Any]) -> bool:
        """Lock an open file; return False if another process holds it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def lock(file: IO[Any]) -> None:
    """Lock an open file; wait while another process holds it."""
    while not try_lock(file):
        time.sleep(_RETRY_S)
