"""The defaults from `ethosgen.toml` for the commands that are typed in its folder or below."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown

_FULL = frozenset({"accuracy", "check", "project", "report", "simulate", "verify", "watch"})
"""Commands that take networks, board and options from the file."""
_BUILT = frozenset({"build", "flash", "run"})
"""Commands that take the project's folder from it."""
_ARGUMENTS = ("networks", "network", "directory")


def defaults_for(
    command: click.Command, words: list[str], others: Mapping[str, click.Command]
) -> Mapping[str, Any] | None:
    """Return the defaults of a command from the nearest ethosgen.toml.

    `others` are all commands by name. None without such a file, for a command that uses nothing in
    it, or if the user names a project's folder. A network on the command line replaces the file's;
    if the file does not list it, only board and NPU are the file's.
    """
    name = command.name or ""
    named_files = _arguments(command, words)
    if name not in _FULL | _BUILT | {"compare"} or (name in _BUILT and named_files):
        return None
    from ethosgen.workspace.file import find_workspace, load_workspace

    path = find_workspace(Path.cwd())
    if path is None:
        return None
    workspace, place = load_workspace(path), Path(os.path.relpath(path.parent))
    if name in _BUILT:
        folder = workspace.project
        return {"directory": str(place / folder)} if folder else None
    networks = [str(place / network) for network in workspace.networks]
    arguments: dict[str, Any] = {"networks": networks, "network": networks[0]}
    if name == "compare":
        return {"networks": networks, **({"boards": [workspace.board]} if workspace.board else {})}
    _require_known(workspace.options, path, others)
    named: dict[str, Any] = {"board": workspace.board, "npu": workspace.npu}
    if _are_among(named_files, networks):
        named = {**workspace.options, **named}
        if name == "accuracy" and workspace.accuracy:
            named |= workspace.accuracy.model_dump(exclude_defaults=True)
    if name == "project" and workspace.project and not named_files:
        named["output"] = workspace.project
    return arguments | _by_parameter(command, named, place)


def missing_text(error: click.MissingParameter) -> str:
    """Return a sentence about a command's missing argument, and the ways to give it."""
    command = error.ctx.command_path if error.ctx else "ethosgen"
    parameter = error.param
    if parameter is None or parameter.name not in _ARGUMENTS:
        option = max(parameter.opts, key=len) if parameter and parameter.opts else "an argument"
        return f"{command} needs {option}; its help: {command} --help"
    what = "DIRECTORY" if parameter.name == "directory" else "MODEL"
    return (
        f"{command} needs a {'folder' if what == 'DIRECTORY' else 'network'}: {command} {what}; or "
        "write an ethosgen.toml with: ethosgen init MODEL"
    )


def _arguments(command: click.Command, words: list[str]) -> tuple[str, ...]:
    """Return the networks or the folder that words name; errors in them are reported later."""
    if not any(parameter.name in _ARGUMENTS for parameter in command.params):
        return ()
    # click keeps the help option that it makes here, with the names in these settings.
    context = click.Context(command, **command.context_settings)
    try:
        parsed, _, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError:
        return ()
    values = (parsed.get(name) for name in _ARGUMENTS)
    return tuple(
        name
        for value in values
        if isinstance(value, (str, tuple))
        for name in ((value,) if isinstance(value, str) else value)
    )


def _are_among(files: tuple[str, ...], networks: list[str]) -> bool:
    """Return whether all files are networks of the workspace; none are."""
    known = {Path(network).resolve() for network in networks}
    return all(Path(file).resolve() in known for file in files)


def _by_parameter(command: click.Command, named: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return values by the names of a command's parameters; those it does not have are left out."""
    values: dict[str, Any] = {}
    for parameter in command.params:
        options = [option.removeprefix("--") for option in parameter.opts]
        key = next((option for option in options if named.get(option) is not None), None)
        if key is not None and parameter.name:
            values[parameter.name] = _value(parameter, named[key], place)
    return values


def _value(parameter: click.Parameter, value: Any, place: Path) -> Any:
    """Return a value in the option's form: paths from the file's folder, lists joined."""
    values = value if isinstance(value, list) else [value]
    if isinstance(parameter.type, click.Path):
        values = [str(place / str(path)) for path in values]
    if getattr(parameter, "multiple", False):
        return values
    return ",".join(map(str, values)) if isinstance(value, list) else values[0]


def _require_known(
    options: Mapping[str, Any], path: Path, commands: Mapping[str, click.Command]
) -> None:
    """Raise InputError for a name that is not an option of any command that reads the file."""
    known = {
        option.removeprefix("--")
        for name in sorted(_FULL)
        if (command := commands.get(name)) is not None
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    }
    for name in options:
        if name not in known:
            raise InputError(f"workspace '{path}': options: {unknown('option', name, known)}")
