"""Runs the command line in this process, where TVM and Vela's parts are already imported."""

import contextlib
import io
import signal
import subprocess
import sys
from collections.abc import Mapping
from unittest import mock

import click

from ethosgen.cli import cli, main

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def commands() -> Mapping[str, click.Command]:
    """Return all commands by name, with those of ethosgen's parts."""
    cli.add_plugins()
    return cli.commands


def ethosgen(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run `ethosgen ARGUMENTS`; return its exit status and what it prints."""
    command = ["ethosgen", *map(str, arguments)]
    said, errors = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    status = 0
    try:
        with (
            mock.patch.object(sys, "argv", command),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(errors),
        ):
            main()
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return subprocess.CompletedProcess(command, status, said.getvalue(), errors.getvalue())
