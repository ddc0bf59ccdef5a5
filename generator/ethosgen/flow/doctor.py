"""Find missing packages and tools on this machine, and the commands that install them."""

import importlib.metadata
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ethosgen import plugins
from ethosgen.applications import APPLICATIONS
from ethosgen.backend import backends, wrapped_names
from ethosgen.board import board_names
from ethosgen.frontend import front_ends
from ethosgen.host.environments import ENVIRONMENTS, Environment
from ethosgen.host.extras import EXTRAS, Extra, offered, package_command
from ethosgen.host.tool_sets import TOOL_SETS, ToolSet
from ethosgen.host.tools import (
    CBUILD,
    GCC,
    LINUX_TOOLS,
    TOOLS,
    CommandError,
    Tool,
    linux_gcc,
    run_command,
)
from ethosgen.oracle import ORACLES, without_wheel
from ethosgen.platforms import PLATFORMS
from ethosgen.project import LAYOUTS
from ethosgen.targets import TARGETS
from ethosgen.toolchain import TOOLCHAINS
from ethosgen.values.errors import InputError, ToolError
from ethosgen.values.extension import Extension
from ethosgen.values.watch import Watch

_PACKAGES = {
    "apache-tvm": "compiles for the CPU",
    **{name: "compiles for the NPU" for backend in backends() for name in backend.packages},
    "tflite-micro": "computes the golden outputs",
    "ai-edge-litert": "computes the second opinion",
}
_LIMIT_S = 30.0
_C_LIBRARY = "libc.a"
_COMPILERS = {GCC.name: "newlib", linux_gcc().name: "glibc"}
"""The C library of each compiler, without which it compiles nothing that runs."""


@dataclass(frozen=True)
class Finding:
    """A package or tool to find; `remedy` is the command that installs it, or other advice.

    An `optional` one serves only some formats; it is not a fault if it is missing.
    """

    name: str
    is_found: bool
    detail: str
    remedy: str
    optional: bool = False

    def as_json(self) -> dict[str, str | bool]:
        """Return the finding as an object of JSON types."""
        return {
            "name": self.name,
            "found": self.is_found,
            "detail": self.detail,
            "remedy": self.remedy,
            "optional": self.optional,
        }


def examine() -> list[Finding]:
    """Find Python packages and external tools, in the order in which they are used.

    Each tool is the one that a build or a run would start. Tools that only some projects need are
    examined only if a variable names them.
    """
    environments = map(_environment, ENVIRONMENTS.values())
    linux = (_tool(tool, optional=True) for tool in LINUX_TOOLS)
    return [
        *_packages(),
        *map(_tool, TOOLS),
        *linux,
        *_configured(),
        *map(_tool_set, TOOL_SETS.values()),
        *map(_extra, offered()),
        *environments,
        *_plugins(),
    ]


def install(name: str, watch: Watch) -> Finding:
    """Install an extra or programs, or create a Python environment, and examine it afterwards."""
    from ethosgen.host import installation

    if name in TOOL_SETS:
        installation.install_tools(TOOL_SETS[name], watch)
        return _tool_set(TOOL_SETS[name])
    if name in EXTRAS:
        installation.install_extra(EXTRAS[name], watch)
        return _extra(EXTRAS[name])
    installation.install(ENVIRONMENTS[name], watch)
    return _environment(ENVIRONMENTS[name])


def _plugins() -> Iterator[Finding]:
    """Find plug-ins; each registry lists its own, so that it can refuse unsuitable ones."""
    from ethosgen.aot.libraries import libraries

    for extension in Extension:
        libraries(extension)
    board_names(), wrapped_names(), front_ends()
    for registry in (PLATFORMS, LAYOUTS, TOOLCHAINS, TARGETS, ORACLES, APPLICATIONS):
        len(registry)
    yield from map(_plugin, plugins.installed())


def _plugin(plugin: plugins.Plugin) -> Finding:
    """Return a plug-in's state; ethosgen works without one that is skipped."""
    what = f"{plugin.door.adds} of {plugin.package} {plugin.version}"
    detail = f"{what}; skipped: {plugin.fault}" if plugin.fault else what
    remedy = f"correct the package, or remove it: pip uninstall {plugin.package}"
    return Finding(plugin.name, not plugin.fault, detail, remedy, optional=True)


def _packages() -> Iterator[Finding]:
    for name, purpose in _PACKAGES.items():
        remedy = package_command(name)
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            is_absent = name in without_wheel()
            why = "there is no package for this system" if is_absent else "not installed"
            yield Finding(name, False, f"{purpose}; {why}", remedy, is_absent)
        else:
            yield Finding(name, True, f"{version}; {purpose}", remedy)


def _tool(tool: Tool, optional: bool = False) -> Finding:
    """Find a tool; an optional one that a variable names must exist."""
    named = os.environ.get(tool.variable)
    remedy = f"correct or unset {tool.variable}" if named else tool.install_command
    try:
        path = tool.find()
    except ToolError as error:
        detail = str(error) if named else f"neither on PATH nor in {tool.variable}"
        is_absent = optional and not named
        return Finding(tool.name, False, f"{tool.purpose}; {detail}", remedy, is_absent)
    fault = _fault(tool, path)
    return Finding(tool.name, not fault, f"{path}; {fault or tool.purpose}", remedy)


def _extra(extra: Extra) -> Finding:
    """Find the packages of an extra."""
    missing = extra.missing
    detail = f"not installed: {', '.join(missing)}" if missing else "installed"
    return Finding(
        extra.name, not missing, f"{extra.purpose}; {detail}", extra.install_command, True
    )


def _tool_set(tools: ToolSet) -> Finding:
    """Find the programs of a set."""
    missing = tools.missing
    detail = f"not found: {', '.join(missing)}" if missing else "installed"
    return Finding(
        tools.name, not missing, f"{tools.purpose}; {detail}", tools.install_command, True
    )


def _environment(environment: Environment) -> Finding:
    """Find an environment; only installing it imports the packages, 10 s for torch."""
    named = os.environ.get(environment.variable)
    remedy = f"correct or unset {environment.variable}" if named else environment.install_command
    try:
        python = environment.find()
    except ToolError as error:
        absent = not named and not environment.folder.exists()
        detail = "not installed" if absent else str(error)
        return Finding(
            environment.name, False, f"{environment.purpose}; {detail}", remedy, optional=absent
        )
    return Finding(environment.name, True, f"{python}; {environment.purpose}", remedy)


def _fault(tool: Tool, path: Path) -> str:
    """Start an installed program and return its fault, "" if it works."""
    try:
        run_command([str(path), "--version"], _LIMIT_S)
        if tool.name in _COMPILERS:
            library = run_command([str(path), f"-print-file-name={_C_LIBRARY}"], _LIMIT_S).strip()
            if library == _C_LIBRARY:  # GCC repeats the name of a file that it cannot find
                return f"it has no C library ({_COMPILERS[tool.name]})"
    except CommandError as error:
        return str(error)
    return ""


def _configured() -> Iterator[Finding]:
    from ethosgen.targets.fvp import fvp_tool
    from ethosgen.toolchain.zephyr import find_zephyr_base, read_version

    for tool in (CBUILD, fvp_tool("FVP")):
        if os.environ.get(tool.variable):
            yield _tool(tool)
    if not os.environ.get("ZEPHYR_BASE"):
        return
    remedy = "correct or unset ZEPHYR_BASE"
    try:
        base = find_zephyr_base(Path())
        major, minor = read_version(base)
    except (ToolError, InputError) as error:
        yield Finding("zephyr", False, str(error), remedy)
    else:
        yield Finding("zephyr", True, f"{base}; version {major}.{minor}", remedy)
