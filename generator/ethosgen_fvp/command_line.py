"""The command line of the FVPs."""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from ethosgen.values.errors import InputError

_INSTANCE = re.compile(r"[\w.]*cpu[\w.]*\*?=")
"""What may precede the name of a file: the processor that it is for, such as cpu0*=."""
_NUMBER = r"0[xX][0-9a-fA-F]+|\d+"
_DATA = re.compile(rf"(?P<file>.+)@(?:[A-Za-z]\w*:)?(?P<addr>{_NUMBER})")
_DUMP = re.compile(rf"{_DATA.pattern},(?P<size>{_NUMBER})")
_COMMENT = re.compile(r"(?:^|\s)#.*")

_IGNORED_FLAGS = (
    *("-K", "--keep-console"),
    *("-p", "--print-port-number"),
    *("-R", "--run"),
    *("-A", "--iris-allow-remote"),
    *("-L", "--cadi-log"),
    *("-i", "--iris-log"),
    *("-D", "--allow-debug-plugin"),
)
_IGNORED_VALUES = (
    *("-Q", "--quantum"),
    *("-M", "--min-sync-latency"),
    *("--iris-port", "--iris-port-range"),
)


@dataclass(frozen=True)
class CommandLine:
    """An FVP's command line.

    `data` are files for the memory, each with its address; `dumps` files to write at the end, each
    with an address and a number of bytes. Limits are in seconds: of this machine's
    time, and of the simulated one. `ignored` are options that have no effect here.
    """

    applications: tuple[Path, ...]
    parameters: tuple[str, ...]
    data: tuple[tuple[Path, int], ...] = ()
    dumps: tuple[tuple[Path, int, int], ...] = ()
    time_limit_s: float | None = None
    simulated_limit_s: float | None = None
    has_statistics: bool = False
    is_quiet: bool = False
    lists_parameters: bool = False
    tells_version: bool = False
    ignored: tuple[str, ...] = ()


def read_command_line(name: str, words: Sequence[str]) -> CommandLine:
    """Parse an FVP's command line; InputError for an option that it does not have."""
    options = _parser(name).parse_args(list(words))
    config = [setting for file in options.config for setting in _read_settings(Path(file))]
    limits = [limit for limit in (options.timelimit, options.cpulimit) if limit is not None]
    ignored = [
        option
        for option, value in (
            ("--cyclelimit", options.cyclelimit),
            ("--cadi-server", options.cadi),
            ("--iris-server", options.iris),
            ("--plugin", options.plugin),
            ("--start", options.start),
        )
        if value
    ]
    applications = [*options.application, *options.more]
    return CommandLine(
        applications=tuple(Path(_INSTANCE.sub("", word, count=1)) for word in applications),
        parameters=(*config, *options.parameter),
        data=tuple(map(_datum, options.data)),
        dumps=tuple(map(_dump, options.dump)),
        time_limit_s=min(limits, default=None),
        simulated_limit_s=options.simlimit,
        has_statistics=options.stat,
        is_quiet=options.quiet,
        lists_parameters=options.list_params,
        tells_version=options.version,
        ignored=tuple(ignored),
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; '{self.prog} --help' lists the options")


def _parser(name: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=name,
        allow_abbrev=False,
        usage="%(prog)s [OPTION]... [APPLICATION]...",
        description=f"Runs firmware for {name} on QEMU with ethosgen's NPU model.",
    )
    add = parser.add_argument
    add("more", nargs="*", metavar="APPLICATION", help="firmware to load (ELF)")
    repeated: dict[str, Any] = {"action": "append", "default": []}
    add("-a", "--application", metavar="[INST=]FILE", help="firmware to load (ELF)", **repeated)
    add("-C", "--parameter", metavar="NAME=VALUE", help="set a parameter", **repeated)
    add("-f", "--config-file", dest="config", help="read parameters from a file", **repeated)
    add("--data", metavar="[INST=]FILE@ADDRESS", help="load a file to an address", **repeated)
    add("--dump", metavar="[INST=]FILE@ADDRESS,SIZE", help="save memory at the end", **repeated)
    add("-T", "--timelimit", type=_seconds, metavar="S", help="end after so many seconds")
    add("--cpulimit", type=_seconds, metavar="S", help="the same")
    add("--simlimit", type=_seconds, metavar="S", help="end after so many simulated seconds")
    add("--stat", action="store_true", help="print times at the end")
    add("-q", "--quiet", action="store_true", help="print less")
    add("-l", "--list-params", action="store_true", help="list the parameters")
    add("--version", action="store_true", help="print the version")
    none = "no effect here"
    add("--cyclelimit", metavar="N", help=none)
    add("-S", "--cadi-server", dest="cadi", action="store_true", help=none)
    add("-I", "--iris-server", dest="iris", action="store_true", help=none)
    for option, value in (("--plugin", "FILE"), ("--start", "ADDRESS")):
        add(option, metavar=value, help=none, **repeated)
    for flag in _IGNORED_FLAGS:
        add(flag, action="store_true", dest="nothing", help=argparse.SUPPRESS)
    for option in _IGNORED_VALUES:
        add(option, dest="nothing", help=argparse.SUPPRESS)
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if value < 0:
        raise ValueError
    return value


def _datum(word: str) -> tuple[Path, int]:
    """Read FILE@ADDRESS."""
    match = _DATA.fullmatch(_INSTANCE.sub("", word, count=1))
    if match is None:
        raise InputError(f"--data {word}: write FILE@ADDRESS")
    return Path(match["file"].strip("\"'")), int(match["addr"], 0)


def _dump(word: str) -> tuple[Path, int, int]:
    """Read FILE@ADDRESS,SIZE."""
    match = _DUMP.fullmatch(_INSTANCE.sub("", word, count=1))
    if match is None or not int(match["size"], 0):
        raise InputError(f"--dump {word}: write FILE@ADDRESS,SIZE")
    return Path(match["file"].strip("\"'")), int(match["addr"], 0), int(match["size"], 0)


def _read_settings(file: Path) -> Iterator[str]:
    """Yield the parameters in a file, one a line; # begins a comment."""
    try:
        text = file.read_text(errors="replace")
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}") from None
    for line in text.splitlines():
        setting = _COMMENT.sub("", line).strip()
        if setting:
            yield setting.removeprefix("-C").strip()


def tell(sentence: str) -> None:
    """Print a sentence on stderr.

    Scripts search the output for lines that begin with E or F, which this one does not.
    """
    click.echo(f"ethosgen: {sentence}", err=True)
