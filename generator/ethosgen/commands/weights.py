"""`ethosgen weights`: files of weights apart from the code."""

import json
import shlex
from pathlib import Path
from typing import Any

import click

from ethosgen.commands.choices import Group
from ethosgen.commands.endings import answer, suggest_next
from ethosgen.commands.options import JSON, SAMPLES, SEED, with_reading
from ethosgen.commands.progress import Progress
from ethosgen.values.grammar import counted
from ethosgen.values.source import ReadOptions

FILE = click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
_PROJECT = click.Path(path_type=Path)


@click.group(cls=Group, short_help="Create, show and check files of weights for --weights blob")
def weights() -> None:
    """Create, show and check files of weights for projects with --weights blob."""


@weights.command()
@FILE
@click.option(
    "--for",
    "directory",
    metavar="PROJECT",
    type=_PROJECT,
    help="Also check that this project's code accepts it.",
)
@JSON
def info(file: Path, directory: Path | None, as_json: bool) -> None:
    """Show a file of weights, and check that it is intact.

    With --for, exit status 0 means that the project's code accepts it.

    \b
        ethosgen weights info digits.weights --for firmware
    """
    from ethosgen.flow.weights import codes_of, read_file
    from ethosgen.project import open_project

    content = read_file(file, codes_of(open_project(directory)) if directory else ())
    size = file.stat().st_size
    if as_json:
        click.echo(json.dumps(_summary(content, size), indent=2))
        return
    click.echo(f"{file}: {counted(size, 'byte')}, both CRC-32 are right")
    click.echo(f"  network   {content.network}, revision {content.revision}")
    click.echo(f"  code      {content.digest}")
    sizes = [len(region) for region in content.regions]
    click.echo(f"  regions   {len(sizes)}: {', '.join(f'{size:,}' for size in sizes)} B")
    if directory is not None:
        click.echo(f"  fits      {directory}")


@weights.command()
@click.argument("network_file", metavar="NETWORK", type=click.Path(path_type=Path))
@click.option(
    "--for", "directory", metavar="PROJECT", type=_PROJECT, required=True,
    help="The project whose code runs the network.",
)  # fmt: skip
@click.option("--network", metavar="NAME", help="The network's name, if the project has several.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file [default: NAME.weights]."
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option(
    "--revision",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="A number in the file, with which an application can choose the newest.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Also run the project's built firmware with the file on QEMU, and compare its outputs.",
)
@SAMPLES
@SEED
@with_reading
@JSON
def build(
    network_file: Path,
    directory: Path,
    network: str | None,
    output: Path | None,
    force: bool,
    revision: int,
    verify: bool,
    samples: int | None,
    seed: int,
    reading: ReadOptions,
    as_json: bool,
) -> None:
    """Create the file of weights of a retrained network, for the code of a project.

    If the network needs other code, the command fails and says what differs.

    \b
        ethosgen weights build retrained.tflite --for firmware -o new.weights
    """
    from ethosgen.flow.weights import build_weights, verify_weights
    from ethosgen.verdict.judgement import Inputs

    with Progress() as progress:
        watch = progress.watch()
        built = build_weights(
            network_file,
            directory,
            network=network,
            output=output,
            revision=revision,
            force=force,
            reading=reading,
            watch=watch,
        )
        report = None
        if verify:
            inputs = Inputs(None, samples, seed)
            report = verify_weights(built, directory, inputs=inputs, watch=watch)
    summary = {"file": str(built.file), **_summary(built.weights, built.bytes)}
    if report is not None:
        if not as_json:
            click.echo(_written(built))
        answer(report, as_json, more={"weights": summary})
        return
    click.echo(json.dumps(summary, indent=2) if as_json else _written(built))
    project = shlex.quote(str(directory))
    suggest_next(f"ethosgen weights info {shlex.quote(str(built.file))} --for {project}", as_json)


def _written(built: Any) -> str:
    size, revision = counted(built.bytes, "byte"), built.weights.revision
    return f"{built.file}: {size}, revision {revision}; the code need not change"


def _summary(content: Any, size: int) -> dict[str, Any]:
    return {
        "network": content.network,
        "revision": content.revision,
        "code": content.digest,
        "bytes": size,
        "regions": [len(region) for region in content.regions],
    }
