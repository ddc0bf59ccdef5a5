"""`ethosgen simulate`: run a network on the functional model of the NPU."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethosgen.commands import completion
from ethosgen.commands.endings import answer
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.offload_options import with_offloading
from ethosgen.commands.options import (
    ACCELERATORS,
    JSON,
    MODEL,
    OUTPUT,
    with_reading,
    with_samples,
)
from ethosgen.commands.progress import Progress
from ethosgen.commands.verbosity import VERBOSE
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.source import ReadOptions

if TYPE_CHECKING:
    from ethosgen.verdict.judgement import Criteria, Inputs

_SAMPLES = click.option(
    "--samples",
    type=click.IntRange(1),
    help="Number of random samples, from several distributions in turn [default: 10; fewer for a "
    "large network; 1 with --trace or --dump].",
)


@click.command(
    cls=GroupedCommand, short_help="Run a network on the NPU model: no compiler, no QEMU"
)
@MODEL
@click.option(
    "--npu",
    shell_complete=completion.npus,
    metavar="NPU",
    help="NPU, e.g. ethos-u65-256, or none to run everything on the CPU [default: the NPU that "
    "MODEL was compiled for, or ethos-u55-128].",
)
@ACCELERATORS
@with_offloading
@with_reading
@with_samples(_SAMPLES)
@OUTPUT
@click.option("--trace", is_flag=True, help="List each operation of the NPU, with its data.")
@click.option(
    "--no-times", is_flag=True, help="Omit times from the list, so that you can compare runs."
)
@click.option(
    "--dump",
    "dumps",
    metavar="N=FILE.npz",
    multiple=True,
    help="Store inputs and outputs of operation N, as --trace counts them. Repeatable.",
)
@VERBOSE
@JSON
def simulate(
    network: Path,
    npu: str | None,
    accelerators: tuple[str, ...],
    options: OffloadOptions,
    reading: ReadOptions,
    inputs: "Inputs",
    criteria: "Criteria",
    output_path: Path | None,
    trace: bool,
    no_times: bool,
    dumps: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run a network's partitions on the NPU model, in process: no compiler, no QEMU.

    \b
    To find the first operation in which two runs differ:
        ethosgen simulate MODEL.tflite --trace --no-times > one.txt
        diff one.txt other.txt
    """
    from ethosgen import flow
    from ethosgen.flow import inspection

    if trace or dumps:
        inputs = replace(inputs, count=inputs.count or 1)
    observer = inspection.make_trace(dumps) if trace or dumps else None
    with Progress() as progress:
        try:
            report = flow.simulate(
                network,
                npu=npu,
                accelerators=accelerators,
                options=options,
                inputs=inputs,
                output_path=output_path,
                criteria=criteria,
                reading=reading,
                trace=observer,
                watch=progress.watch(),
            )
        finally:  # the list must show the operations before a fault
            if observer is not None and trace and not as_json:
                for line in inspection.trace_lines(observer.entries, not no_times):
                    click.echo(line)
    listed = (
        {"trace": inspection.trace_objects(observer.entries, not no_times)}
        if observer is not None and trace
        else {}
    )
    answer(report, as_json, more=listed)
