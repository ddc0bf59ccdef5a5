"""Report an internal error: one sentence, and a file with the data needed to fix it."""

import platform
import sys
import tempfile
import traceback

from ethosgen.values.errors import InternalError
from ethosgen.version import __version__


def record_bug(error: Exception) -> str:
    """Write the traceback to a file and return a sentence with its path."""
    what = str(error) if isinstance(error, InternalError) else _words(error)
    text = "".join(traceback.format_exception(error))
    head = f"ethosgen {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="ethosgen-bug-", suffix=".log", encoding="utf-8", delete=False
        ) as log:
            log.write(f"{head}{' '.join(sys.argv)}\n\n{text}")
    except OSError:
        return f"internal error: {what}; this is a bug in ethosgen, please report it:\n{head}{text}"
    return (
        f"internal error: {what}; this is a bug in ethosgen, not a fault of your network: "
        f"please report it with '{log.name}', which has the traceback, and the network if you may"
    )


def _words(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
