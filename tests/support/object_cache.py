"""Lets ccache keep the objects of the projects that tests build: most sources are in all of them.

Without ccache a build only takes longer. The folder of a project is left out of the key, and so is
the folder in which the compiler runs, which only debug information has.
"""

import os
import shutil
import tempfile

from tests import ROOT


def use_object_cache() -> None:
    """Let CMake start compilers through ccache, in this process and its children."""
    if shutil.which("ccache") is None:
        return
    for name in ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"):
        os.environ.setdefault(name, "ccache")
    os.environ.setdefault("CCACHE_DIR", str(ROOT / "build" / "ccache"))
    os.environ.setdefault("CCACHE_BASEDIR", tempfile.gettempdir())
    os.environ.setdefault("CCACHE_NOHASHDIR", "1")
