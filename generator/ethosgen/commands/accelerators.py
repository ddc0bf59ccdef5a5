"""`ethosgen accelerators`: list wrapped accelerators, start one, check one, measure one."""

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import click

from ethosgen.commands import completion
from ethosgen.commands.choices import Group
from ethosgen.commands.options import MODELS, ON, with_line
from ethosgen.commands.progress import Progress
from ethosgen.values.grammar import counted, steps_text

MOST_FINDINGS = 6
"""The number of differing networks that are described."""


@click.group(cls=Group, short_help="List accelerators, start your own, and try it")
def accelerators() -> None:
    """List the accelerators that an accelerator.toml describes, start your own, and check it."""


@accelerators.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_all(as_json: bool) -> None:
    """List the accelerators that come with ethosgen; Ethos-U is not one of them.

    \b
        ethosgen accelerators list
    """
    from ethosgen.backend import load_wrapped, wrapped_names

    known = [load_wrapped(name) for name in wrapped_names()]
    if as_json:
        click.echo(json.dumps([_summary(accelerator) for accelerator in known], indent=2))
        return
    for accelerator in known:
        row = _summary(accelerator)
        click.echo(f"{row['name']:<16}  {row['title']} ({row['kind']})")
        for chain in row["chains"]:
            click.echo(f"{'':<18}{' + '.join(chain['operators'])}: {', '.join(chain['dtypes'])}")
    if not known:
        click.echo("none; start your own with: ethosgen accelerators new NAME", err=True)


@accelerators.command()
@click.argument("name")
@click.option(
    "--device",
    "is_device",
    is_flag=True,
    help="Write a device: registers, an interrupt, its driver, and its model in Python and C.",
)
@click.option(
    "--verilog",
    "is_verilog",
    is_flag=True,
    help="Write a device whose model is its RTL in SystemVerilog, for Verilator.",
)
def new(name: str, is_device: bool, is_verilog: bool) -> None:
    """Write a folder NAME here: a commented example that works, for you to change.

    Without --device or --verilog it is C functions.

    \b
        ethosgen accelerators new my_engine --device
    """
    from ethosgen.backend import start_wrapped

    folder = start_wrapped(name, Path(), is_device, is_verilog)
    click.echo(folder)
    click.echo(f"next: ethosgen accelerators check {shlex.quote(f'./{folder}')}", err=True)


@accelerators.command()
@click.argument("name_or_folder", metavar="NAME|FOLDER")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the networks."
)
@click.option(
    "--sanitizers/--no-sanitizers",
    "is_watched",
    default=True,
    help="Compile the C with the address and undefined-behavior sanitizers, if there are any.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def check(
    context: click.Context, name_or_folder: str, seed: int, is_watched: bool, as_json: bool
) -> None:
    """Try each operation on random networks, against our kernels and TensorFlow Lite Micro.

    The accelerator's C is compiled for this machine, and runs with checks for invalid memory
    accesses: guards around each memory, and the compiler's sanitizers. Exit status 0 means that
    each operation was tried and no output differs by more than declared.

    \b
        ethosgen accelerators check ./my_engine
    """
    from ethosgen.backend import load_wrapped
    from ethosgen.studies.acceptance import check_accelerator

    accelerator = load_wrapped(name_or_folder)
    findings = []
    with Progress() as progress:
        for result in check_accelerator(accelerator, seed, progress.watch(), is_watched):
            findings.append(result)
            if not as_json:
                for line in _lines(result):
                    click.echo(line)
    passed = all(result.passed for result in findings)
    verdict = "PASS" if passed else "FAIL"
    if as_json:
        rows = [{**dataclasses.asdict(r), "passed": r.passed} for r in findings]
        report = {"accelerator": accelerator.name, "passed": passed, "operations": rows}
        click.echo(json.dumps(report, indent=2))
    else:
        click.echo(verdict)
    context.exit(0 if passed else 1)


@accelerators.command()
@click.argument("name_or_folder", metavar="NAME|FOLDER")
@MODELS
@click.option("--board", required=True, shell_complete=completion.boards, help="Board to run on.")
@ON
@click.option("--flash", "flasher", metavar="TOOL", help="Flash the board with this tool first.")
@click.option(
    "--terms",
    metavar="TERM,TERM",
    help="The terms that identify a call [default: sizes, strides, dilations, padding, type].",
)
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder for the tables [default: this one].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@with_line
def measure(
    name_or_folder: str,
    networks: tuple[Path, ...],
    board: str,
    on: str,
    flasher: str | None,
    terms: str | None,
    folder: Path,
    as_json: bool,
    line: Any,
) -> None:
    """Measure the calls of an accelerator in networks, and write tables of cycles.

    Each network runs on a board, or on QEMU, and must give right outputs. On a board a call is
    timed whole. On QEMU the driver's cycles are counted; the device's come from its model, if that
    counts them, or else from the declaration. The tables are for `cycles_table`, a field of
    accelerator.toml.

    \b
        ethosgen accelerators measure ./my_engine MODEL.tflite --board corstone300
        ethosgen accelerators measure ./my_engine *.tflite --board my-board.toml --port /dev/ttyACM0
    """
    from ethosgen.flow import RunOptions
    from ethosgen.studies import cost_tables
    from ethosgen.verdict.judgement import Inputs

    options = RunOptions(Inputs(None, 1, 0), line=line)
    asked = cost_tables.CostRequest(networks, board, on, options, _terms(terms), flasher)
    with Progress() as progress:
        tables = cost_tables.measure_costs(name_or_folder, asked, progress.watch())
    paths = cost_tables.write_tables(tables, folder)
    if as_json:
        click.echo(json.dumps([table.summary() for table in tables], indent=2))
        return
    for table, path in zip(tables, paths, strict=True):
        for text in cost_tables.described(table):
            click.echo(text)
        click.echo(f"written: {path}")
        entry = f'cycles_table = "{path.name}"'
        click.echo(
            "next: put it beside accelerator.toml, and add below chain = "
            f"{json.dumps(table.operators)} there: {entry}",
            err=True,
        )


def _terms(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (term.strip() for term in (text or "").split(","))))


@accelerators.command()
def schema() -> None:
    """Print the JSON schema of accelerator.toml, for editors.

    \b
        ethosgen accelerators schema > accelerator.schema.json
    """
    from ethosgen.backend import wrapped_schema

    click.echo(wrapped_schema(), nl=False)


def _summary(accelerator: Any) -> dict[str, Any]:
    return {
        "name": accelerator.name,
        "title": accelerator.title,
        "kind": "library" if accelerator.is_library else "device",
        "chains": [
            {"operators": list(chain.members), "dtypes": list(chain.dtypes), "call": chain.call}
            for chain in accelerator.chains
        ],
    }


def _lines(result: Any) -> list[str]:
    """Describe how the trials of one operation ended."""
    head = f"{result.chain} ({result.call})"
    notes = [f"  note: {note}" for note in result.notes]
    if not result.is_possible:
        return [f"{head}: it takes nothing", *notes]
    if not result.elements:
        return [f"{head}: not tried", *notes]
    tried = (
        f"{counted(result.networks, 'network')}, {counted(result.samples, 'sample')}, "
        f"{counted(result.elements, 'output')}"
    )
    near = ""
    if result.steps:
        share = f"{100 * result.differing / result.elements:.2g} %"
        near = f"{share} differ, by up to {result.largest:.2g} of {steps_text(result.steps)}"
    if not result.findings:
        compared = " and ".join(result.compared)
        return [
            f"{head}: {tried} {f'near {compared}: {near}' if near else f'equal {compared}'}",
            *notes,
        ]
    lines = [f"  {finding.text()}" for finding in result.findings]
    left = len(lines) - MOST_FINDINGS
    if left > 1:
        lines[MOST_FINDINGS:] = [f"  and {counted(left, 'more network')}, listed by --json"]
    return [f"{head}: {tried}", *lines, *notes]
