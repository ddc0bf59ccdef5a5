"""`ethosgen compare`: compare networks on boards, NPUs and memory modes."""

import csv
import io
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from ethosgen.commands import completion
from ethosgen.commands.choices import ValueChoice
from ethosgen.commands.comparison_table import report_lines
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.offload_options import with_division
from ethosgen.commands.options import JSON, with_reading
from ethosgen.commands.progress import Progress
from ethosgen.commands.sizes import SIZE
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.configurations import ComparisonReport, Cost, Setting, durations
from ethosgen.values.errors import cannot_write
from ethosgen.values.schedule import Strategy, Streaming

GOALS = ("ms", "ram", "flash", "npu")
"""What a configuration can be best at."""
_ALL = "all"
_WIDTH_OF_FILES = 200
"""The width of a table that no terminal shows."""


def _listed(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the values of an option that may be repeated, or contain commas."""
    names = [text.strip() for value in values for text in value.split(",")]
    return tuple(dict.fromkeys(filter(None, names)))


@click.command(cls=GroupedCommand, short_help="Compare boards, NPUs and memory modes: time, memory")
@click.argument(
    "networks", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--board",
    "boards",
    shell_complete=completion.boards,
    metavar="BOARD[,BOARD…]",
    multiple=True,
    default=("corstone300",),
    show_default=True,
    callback=_listed,
    help="Boards, with an NPU or without, or all.",
)
@click.option(
    "--npu",
    "npus",
    shell_complete=completion.npus,
    metavar="NPU[,NPU…]",
    multiple=True,
    default=(_ALL,),
    show_default=True,
    callback=_listed,
    help="NPUs, all that the board has, or none for the CPU alone.",
)
@click.option(
    "--memory-mode",
    "memory_modes",
    metavar="MODE[,MODE…]",
    multiple=True,
    callback=_listed,
    help="sram_only, shared_sram, dedicated_sram, or all that the board and the NPU support "
    "[default: the board's].",
)
@click.option(
    "--strategy",
    type=ValueChoice([*(strategy.value for strategy in Strategy), _ALL]),
    default=Strategy.PERFORMANCE.value,
    show_default=True,
    help="What Vela optimizes: time, or memory for tensors.",
)
@click.option(
    "--arena-limit",
    "arena_limits",
    type=SIZE,
    metavar="BYTES|KiB",
    multiple=True,
    help="Also compile with this SRAM limit for tensors, e.g. 64KiB. Repeatable.",
)
@click.option(
    "--front",
    is_flag=True,
    help="Search Vela's strategies and arena limits, and show the Pareto front of SRAM against "
    "time for each NPU and memory mode.",
)
@with_division
@with_reading
@click.option(
    "--samples",
    type=click.IntRange(0),
    help="Random samples for exactness; 0 omits it [default: 5; fewer for a large network].",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the samples."
)
@click.option(
    "--goal",
    type=ValueChoice(GOALS),
    default=GOALS[0],
    show_default=True,
    help="What the command proposed at the end minimizes: time, RAM, flash, or the smallest NPU.",
)
@click.option(
    "--build", is_flag=True, help="Also compile the firmware, so that flash includes the code."
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="Worker processes [default: one for each processor, if there are enough points].",
)
@click.option(
    "--plot",
    metavar="FILE.svg|png|html",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also draw SRAM against time; .html is a page that also has the figures.",
)
@click.option(
    "--wide/--narrow", default=None, help="Show all columns, or few [default: as many as fit]."
)
@JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with the same names as --json.")
def compare(
    networks: tuple[Path, ...],
    strategy: str,
    arena_limits: tuple[int, ...],
    goal: str,
    plot: Path | None,
    wide: bool | None,
    as_json: bool,
    as_csv: bool,
    **asked: Any,
) -> None:
    """Compare networks on boards, NPUs and memory modes: time, memory, exactness.

    \b
        ethosgen compare MODEL.tflite --npu all --memory-mode all
        ethosgen compare MODEL.tflite --board corstone300,nrf52840dk --npu all,none
        ethosgen compare MODEL.tflite --npu ethos-u55-128 --front

    Cycles are estimates; times follow from them and the clocks in the board files. Exactness is
    measured: the NPU model runs each configuration, and all outputs are compared with TensorFlow
    Lite Micro's. The report gives the reason for each refused configuration.

    Exit status 0: something was measured, and no output differs; 1: an output differs, or nothing
    could be measured; 2: a file, board or option is wrong.
    """
    from ethosgen.studies.comparison import ComparisonRequest
    from ethosgen.studies.comparison import compare as run

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    write_plot = _plotter(plot)
    strategies = tuple(Strategy) if strategy == _ALL else (Strategy(strategy),)
    limits = tuple(dict.fromkeys(arena_limits))
    request = ComparisonRequest(networks, strategies=strategies, arena_limits=limits, **asked)
    with Progress() as progress:
        report = run(request, progress.watch())
    write_plot(report)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    elif as_csv:
        click.echo(csv_text(report), nl=False)
    else:
        for line in report_lines(report, _width(wide)):
            click.echo(line)
    suggest_next(_next(networks, report, goal), quiet=as_json or as_csv)
    if not report.passed:
        sys.exit(1)


def _plotter(path: Path | None) -> Callable[[ComparisonReport], None]:
    """Return a function that writes the plot; InputError immediately if that is impossible."""
    if path is None:
        return lambda _: None
    from ethosgen.host.file_errors import require_writable
    from ethosgen.plots.costs import check_format, draw

    suffix = check_format(path.name)
    require_writable(path.absolute().parent)
    command = shlex.join(["ethosgen", *sys.argv[1:]])

    def write(report: ComparisonReport) -> None:
        try:
            path.write_bytes(draw(report, suffix, command))
        except OSError as error:
            raise cannot_write(path, error) from None

    return write


def csv_text(report: ComparisonReport) -> str:
    """Return a report as CSV, with a line for each result."""
    text = io.StringIO()
    rows = [result.as_json() for result in report.results]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def best_for(goal: str, able: Sequence[tuple[Setting, Cost]]) -> Setting:
    """Return the best setting for one of GOALS; among equals, the fastest, smallest NPU."""
    from ethosgen.backend import find_accelerator

    times = durations([cost for _, cost in able])

    def macs(setting: Setting) -> int:
        return 0 if setting.npu == NO_NPU else find_accelerator(setting.npu).macs

    def key(place: int) -> tuple[object, ...]:
        setting, cost = able[place]
        first = {
            "ms": times[place],
            "ram": (cost.sram_bytes,),
            "flash": (cost.flash_bytes,),
            "npu": (macs(setting),),
        }
        return first[goal], times[place], macs(setting)

    return able[min(range(len(able)), key=key)][0]


def _width(wide: bool | None) -> int:
    """Return the number of columns that a table may have."""
    if wide is None:
        return shutil.get_terminal_size((_WIDTH_OF_FILES, 24)).columns
    return _WIDTH_OF_FILES if wide else 80


def _next(networks: tuple[Path, ...], report: ComparisonReport, goal: str) -> str:
    """Return the command for the first network's best configuration for the goal."""
    from ethosgen.board import load_board

    first = report.results[0].setting.network
    able = [
        (result.setting, result.cost)
        for result in report.results
        if result.setting.network == first
        and result.cost
        and not result.misfit
        and not result.differs
    ]
    if not able:
        return "ethosgen boards"
    setting = best_for(goal, able)
    words = ["ethosgen", "verify", str(networks[0]), "--board", setting.board, "--npu", setting.npu]
    if not load_board(setting.board).platforms:
        words[1] = "project"
        words += ["--platform", "library"]
    if setting.memory_mode is not None:
        words += ["--memory-mode", setting.memory_mode]
    if setting.schedule.strategy is not Strategy.PERFORMANCE:
        words += ["--strategy", setting.schedule.strategy.value]
    if setting.schedule.arena_bytes is not None:
        words += ["--arena-limit", str(setting.schedule.arena_bytes)]
    if setting.schedule.stream is not Streaming.AUTO:
        words += ["--stream", setting.schedule.stream.value]
    return shlex.join(words)
