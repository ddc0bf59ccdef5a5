"""What the toy plug-in adds besides code of its own: facts, and parts of ethosgen in new places."""

from dataclasses import replace
from html import escape
from pathlib import Path

import click

from ethosgen.board import Board
from ethosgen.oracle import TFLM, Oracle
from ethosgen.platforms import BAREMETAL, Platform
from ethosgen.project import LAYOUTS, PlatformFiles
from ethosgen.project.layout import Layout
from ethosgen.report.content import NetworkReport
from ethosgen.report.sections import Section
from ethosgen.targets import TARGETS, TargetKind
from ethosgen.toolchain import TOOLCHAINS

_HERE = Path(__file__).parent
BOARD = _HERE / "toy.toml"
ACCELERATOR = _HERE / "accelerators" / "toy"
PLATFORM = Platform("toy", boots=True, takes_apps=True)
ORACLE = Oracle("toy", "Toy's oracle", ("toy-plugin",), TFLM.run)
TARGET = TargetKind(
    TARGETS["qemu"].start,
    variant="qemu",
    counts_instructions=True,
    can_run=lambda board: board.name == "toy",
)


def _layout(board: Board) -> Layout:
    usual = LAYOUTS[BAREMETAL].layout(board)
    return replace(usual, templates=(str(_HERE / "templates" / "platform"), *usual.templates))


LAYOUT = PlatformFiles(_layout)
TOOLCHAIN = replace(TOOLCHAINS[BAREMETAL], doing="compiling for the toy")


def _figures(report: NetworkReport) -> str:
    return f"<p>{escape(report.subject.name)} has {report.subject.macs:,} MACs.</p>"


SECTION = Section("Toy figures", _figures)


def _fail(_report: NetworkReport) -> str:
    raise ZeroDivisionError("no figures")


BROKEN_SECTION = Section("Broken figures", _fail)


@click.command(short_help="Say hello")
def hello() -> None:
    """Say hello."""
    click.echo("hello from the toy")
