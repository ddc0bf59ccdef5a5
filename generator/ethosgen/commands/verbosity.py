"""`-v` of the commands that print a verdict: all figures, not only the headline."""

import click

_VERBOSE = "ethosgen.verbose"
"""The key of a flag in a command's context."""


def _remember(context: click.Context, _option: click.Parameter, is_on: bool) -> None:
    context.meta[_VERBOSE] = is_on or context.find_root().params.get("verbose", False)


VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Also print sizes by kind, counters, each comparison and how samples were drawn.",
)


def is_verbose() -> bool:
    """Return whether the user asks the running command for all figures."""
    context = click.get_current_context()
    return bool(context.meta.get(_VERBOSE, context.find_root().params.get("verbose", False)))
