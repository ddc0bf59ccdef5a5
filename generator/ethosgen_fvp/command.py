"""`ethosgen fvp`: programs that replace Arm's FVPs."""

import shlex
import sys
from pathlib import Path

import click

from ethosgen.values.errors import InputError

_SCRIPT = """#!/bin/sh
# {name}: written by `ethosgen fvp install`; runs firmware on QEMU with ethosgen's NPU model.
exec {python} -P -m ethosgen_fvp.program {name} "$@"
"""
_MARK = "written by `ethosgen fvp install`"


@click.group(short_help="Programs that stand in for Arm's FVPs")
def fvp() -> None:
    """Run scripts for Arm's FVPs without an FVP, on stock QEMU with the NPU model."""


@fvp.command(short_help="Write programs with the FVPs' names and command lines")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def install(folder: Path) -> None:
    """Write programs with the names and command lines of Arm's FVPs into DIR.

    Put DIR on PATH, or name it in ARMFVP_BIN_PATH for Zephyr: then scripts that run an FVP run QEMU
    with ethosgen's NPU model, and need no change. It replaces no other program of the same name
    in DIR.

    \b
    ethosgen fvp install fvps
    PATH=$PWD/fvps:$PATH make ... test
    """
    from ethosgen_fvp.platforms import PLATFORMS

    for name in PLATFORMS:
        _require_ours(folder / name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in PLATFORMS:
            path = folder / name
            path.write_text(_SCRIPT.format(name=name, python=shlex.quote(sys.executable)))
            path.chmod(0o755)
            click.echo(path)
    except OSError as error:
        raise InputError(f"cannot write to '{folder}': {error.strerror}") from None
    click.echo(f'next: export PATH="{folder.resolve()}:$PATH"', err=True)


def _require_ours(path: Path) -> None:
    """Raise InputError for a program that we did not write."""
    if path.exists() and _MARK not in path.read_bytes()[:200].decode(errors="replace"):
        raise InputError(f"'{path}' is another program; name another DIR, or move it away")
