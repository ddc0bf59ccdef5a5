"""Plug-ins of QEMU, compiled for this machine and for the interface of its QEMU."""

import re
from pathlib import Path

from ethosgen.host.tools import HOST_GCC, QEMU, CommandError, run_command
from ethosgen.values.errors import ToolError

_LIMIT_S = 60.0
_VERSION = re.compile(r"version (\d+)\.")
_FIRST_WITH_NEW_PLUGINS = 9


def build_plugin(source: Path, plugin: Path, what: str) -> None:
    """Compile a plug-in; `what` names it in messages.

    ToolError without a C compiler for this machine or QEMU, or if one of them fails.
    """
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
        raise ToolError(f"QEMU does not tell its version: {error}") from None
    return 2 if match and int(match[1]) >= _FIRST_WITH_NEW_PLUGINS else 1
