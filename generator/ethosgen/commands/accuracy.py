"""`ethosgen accuracy`: how often is a network correct on labelled data?"""

import json
import sys
from pathlib import Path
from typing import Any

import click

from ethosgen.commands import completion
from ethosgen.commands.accuracy_table import report_lines
from ethosgen.commands.choices import path_option
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.offload_options import with_offloading
from ethosgen.commands.options import JSON, with_reading
from ethosgen.commands.preparing import with_preparation
from ethosgen.commands.progress import Progress
from ethosgen.samples.pictures import Preparation
from ethosgen.values.accuracy import RESET, STATES


@click.command(cls=GroupedCommand, short_help="Measure a network's accuracy on labelled data")
@click.argument("network", metavar="MODEL", type=click.Path(path_type=Path))
@path_option(
    "--data",
    required=True,
    metavar="DATA",
    help="Samples in an .npz file: an array for each input, by name or as x, and the labels as y. "
    "Or a folder of .npy files, pictures or sounds, with a subfolder for each class, or listed in "
    "--labels.",
)
@path_option(
    "--labels",
    metavar="FILE",
    help="Labels of the samples (.npy), or the classes' names, one per line (.txt), or the files "
    "of a folder and their labels, in lines FILE,LABEL (.csv).",
)
@with_preparation
@click.option(
    "--on",
    metavar="TARGET[,TARGET…]",
    default="simulate",
    show_default=True,
    help="Targets to run on: simulate, qemu, tflm, litert. The figures come from the first; the "
    "others must agree with it in each sample.",
)
@click.option(
    "--board",
    shell_complete=completion.boards,
    metavar="BOARD",
    help="Board name, e.g. corstone300; needed for --on qemu.",
)
@click.option(
    "--npu",
    shell_complete=completion.npus,
    metavar="NPU",
    help="NPU, e.g. ethos-u65-256, or none to run everything on the CPU [default: the NPU that "
    "MODEL was compiled for, or the board's, or ethos-u55-128].",
)
@with_offloading
@with_reading
@click.option(
    "--output-tensor",
    "output",
    metavar="NAME|INDEX",
    help="The output to judge, if the network has several.",
)
@click.option(
    "--state",
    type=click.Choice(STATES),
    default=RESET,
    show_default=True,
    help="For a network with state: reset it before each sample (reset); treat each sample as a "
    "sequence of inputs whose last outputs count (sequence); or keep the state through all "
    "samples (stream).",
)
@click.option(
    "--score",
    metavar="reconstruction|INDEX",
    help="For a detector: use the mean squared error between output and input as its score, or an "
    "element of the output. Labels other than 0 are positive.",
)
@click.option(
    "--top",
    "tops",
    type=click.IntRange(1),
    multiple=True,
    metavar="K",
    help="Also count samples whose class is among the K best. Repeatable.",
)
@click.option(
    "--results",
    metavar="FILE.jsonl",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Store each sample's outputs in this file; a stopped run continues from it.",
)
@click.option(
    "--tables",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write classes.csv, confusion.csv, and samples.csv with each sample's answer.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="Worker processes of a target [default: one for each processor, two for QEMU, if there "
    "are enough samples].",
)
@JSON
def accuracy(
    network: Path,
    data: Path,
    labels: Path | None,
    preparation: Preparation,
    on: str,
    tops: tuple[int, ...],
    tables: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure a network's accuracy on labelled data.

    It quantizes floats as TFLite does, and uses integers of an input's own type unchanged. Exit
    status 1 means that targets differ in a sample.

    \b
        ethosgen accuracy MODEL.tflite --data test.npz
        ethosgen accuracy MODEL.tflite --data pictures/ --on simulate,tflm
    """
    from ethosgen.samples.verdicts import require_new, write_csv
    from ethosgen.studies.accuracy import AccuracyRequest, measure_accuracy

    targets = tuple(name.strip() for name in on.split(","))
    tops = tuple(dict.fromkeys((1, *tops)))
    asked = AccuracyRequest(network, data, labels, preparation, targets, tops=tops, **options)
    if tables is not None:
        require_new(tables)
    with Progress() as progress:
        report = measure_accuracy(asked, progress.watch())
    if tables is not None:
        write_csv(tables, report)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        for line in report_lines(report):
            click.echo(line)
    if not report.passed:
        sys.exit(1)
