"""`ethosgen serve-npu`: serve as the NPU of another process; not for interactive use."""

import sys

import click

from ethosgen.commands.help import GroupedCommand


@click.command(cls=GroupedCommand, hidden=True)
@click.argument("backend", required=False)
def serve_npu(backend: str | None) -> None:
    """Serve as the NPU of a Zephyr application on native_sim, over stdin and stdout.

    BACKEND is the family of the NPU; Ethos-U by default.
    """
    from ethosgen import flow

    flow.serve_npu(backend, sys.stdin.buffer, sys.stdout.buffer)
