"""Plug-ins for QEMU, compiled for this machine and its QEMU's interface."""

import hashlib
import re
import tempfile
from pathlib import Path

from ethosgen.host.folders import cache_folder
from ethosgen.host.tools import HOST_GCC, QEMU, CommandError, run_command
from ethosgen.values.errors import ToolError

_LIMIT_S = 60.0
_VERSION = re.compile(r"version (\d+)\.")
_FIRST_WITH_NEW_PLUGINS = 9
_DIGEST = 16
"""Digits of a digest in a file's name."""


def stored_plugin(source: Path, what: str) -> Path:
    """Return the plug-in in the user's cache folder, compiled if missing.

    `what` names it in messages. ToolError without a C compiler for this machine or QEMU, or if one
    of them fails.
    """
    words = f"{_interface()} {HOST_GCC.find()} {source.read_text('utf-8')}"
    digest = hashlib.sha256(words.encode()).hexdigest()[:_DIGEST]
    plugin = cache_folder() / "plugins" / f"{source.stem}-{digest}.so"
    if not plugin.exists():
        plugin.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=plugin.parent) as folder:
            built = Path(folder) / plugin.name
            _build(source, built, what)
            built.replace(plugin)
    return plugin


def _build(source: Path, plugin: Path, what: str) -> None:
    command = [str(HOST_GCC.find()), "-O2", "-shared", "-fPIC", f"-DPLUGIN_VERSION={_interface()}"]
    try:
        run_command([*command, "-o", str(plugin), str(source)], _LIMIT_S)
    except CommandError as error:
        raise ToolError(f"cannot build {what}: {error}") from None


def _interface() -> int:
    """Return the version of QEMU's interface for plug-ins."""
    try:
        match = _VERSION.search(run_command([str(QEMU.find()), "--version"], _LIMIT_S))
    except CommandError as error:
        raise ToolError(f"QEMU does not report its version: {error}") from None
    return 2 if match and int(match[1]) >= _FIRST_WITH_NEW_PLUGINS else 1
