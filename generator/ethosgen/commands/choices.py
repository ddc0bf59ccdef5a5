"""Names that a user types and that must be known: commands, and the values of options."""

from typing import Any

import click

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown


class ValueChoice(click.Choice):  # type: ignore[type-arg] # generic only since click 8.2
    """One of a few values; reports a wrong one in the same way as an unknown board or NPU."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value; InputError names the option, the likely value and the valid ones."""
        if value not in self.choices:
            option = max(param.opts, key=len) if param else "value"
            raise InputError(unknown(option, str(value), self.choices))
        return str(super().convert(value, param, ctx))


class Group(click.Group):
    """Commands by name; for a wrong name, suggests the likely one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; InputError names the likely command and the valid ones."""
        name = args[0]
        if not (name in self.commands or name.startswith("-") or ctx.resilient_parsing):
            raise InputError(unknown("command", name, self.commands))
        return super().resolve_command(ctx, args)
