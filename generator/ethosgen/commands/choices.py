"""Names that a user types and that must be valid: commands, and the values of options."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from ethosgen import plugins
from ethosgen.values.errors import InputError, ToolError
from ethosgen.values.grammar import unknown

_PLUGINS = "Plug-ins"
"""The section of commands that other packages add."""


Command = TypeVar("Command", bound=Callable[..., Any])


class ValueChoice(click.Choice):  # type: ignore[type-arg] # generic only since click 8.2
    """One of a few values; an invalid one gets the same message as an unknown board or NPU."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value; InputError names the option, the likely value and the valid ones."""
        if value not in self.choices:
            option = max(param.opts, key=len) if param else "value"
            raise InputError(unknown(option, str(value), self.choices))
        return str(super().convert(value, param, ctx))


class OpenChoice(ValueChoice):
    """One of the names in a registry, which is read only when the option is used or shown."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override] # click has an attribute
        """The names."""
        return tuple(self._names())


def path_option(*names: str, **more: Any) -> Callable[[Command], Command]:
    """Return an option whose value is the path of a file or folder."""
    return click.option(*names, type=click.Path(path_type=Path), **more)


Defaults = Callable[
    [click.Command, list[str], Mapping[str, click.Command]], Mapping[str, Any] | None
]
"""Returns the defaults of a command that is called with some words, beside all others by name."""


HELP = ["-h", "--help"]
"""The options for help of every command."""


class Group(click.Group):
    """Commands by name, in sections; for a wrong name, suggests the likely one."""

    def __init__(
        self,
        *args: Any,
        door: plugins.Door | None = None,
        defaults: Defaults | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._door, self._defaults = door, defaults
        self._sections: dict[str, list[str]] = {}
        self._parts: set[str] = set()

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command; it and its own commands take -h, whoever makes their context first."""
        waiting = [cmd]
        while waiting:
            each = waiting.pop()
            each.context_settings.setdefault("help_option_names", HELP)
            waiting += each.commands.values() if isinstance(each, click.Group) else ()
        super().add_command(cmd, name)

    def add_section(self, title: str, *commands: click.Command | str) -> None:
        """Add commands that the help shows together, in this order.

        A part of ethosgen is given by its name, and loaded when it is used or shown.
        """
        for command in commands:
            if isinstance(command, str):
                self._parts.add(command)
            else:
                self.add_command(command)
            name = command if isinstance(command, str) else str(command.name)
            self._sections.setdefault(title, []).append(name)

    def add_plugins(self) -> None:
        """Add the commands of parts, and plug-ins' commands in a separate section."""
        if self._door is None:
            return
        for name in [*self._parts]:
            with suppress(ToolError):  # reported when the command is used
                self._add_part(self._door, name)
        added = self._sections.get(_PLUGINS, [])
        own = {*self.commands, *self._parts}.difference(added)
        for name, command in plugins.beside(self._door, own.__contains__).items():
            if name not in added:
                self.add_command(command, name)
                self._sections.setdefault(_PLUGINS, []).append(name)

    def _add_part(self, door: plugins.Door, name: str) -> None:
        """Load a part's command; ToolError if the installation lacks it."""
        self.add_command(plugins.part(door, name), name)
        self._parts.remove(name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        self.add_plugins()
        return super().list_commands(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their sections if there are any, a line for each."""
        self.add_plugins()
        if not self._sections:
            super().format_commands(ctx, formatter)
            return
        width = max(map(len, self.commands))
        for title, names in self._sections.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str())
                for name in names
                if name in self.commands
            ]
            with formatter.section(title):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; InputError names the likely command and the valid ones."""
        name = args[0]
        if name in self._parts and self._door is not None:
            self._add_part(self._door, name)
        elif name not in self.commands:
            self.add_plugins()
        if not (name in self.commands or name.startswith("-") or ctx.resilient_parsing):
            shown = [known for known, command in self.commands.items() if not command.hidden]
            raise InputError(unknown("command", name, shown))
        resolved, command, words = super().resolve_command(ctx, args)
        if command is not None and self._defaults is not None and not ctx.resilient_parsing:
            defaults = self._defaults(command, words, self.commands)
            if defaults:
                ctx.default_map = {str(resolved): dict(defaults)}
        return resolved, command, words
