"""`ethosgen place`: stages of a network on a large mesh, placed and simulated."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ethosgen.commands import completion
from ethosgen.commands.choices import path_option
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON, schema_option, with_reading
from ethosgen.commands.progress import Progress
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.time import duration, percent

_AUTO = "auto"
_SAID = 0.001
"""The least uncertainty of the throughput that the report states, as a share."""
_MESH = re.compile(r"(\d{1,6})[xX](\d{1,6})")


def _mesh(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """Read WIDTHxHEIGHT."""
    match = _MESH.fullmatch(value or "")
    if value is not None and match is None:
        raise InputError(f"--mesh '{value}' is not a width and a height, such as 192x38")
    return (int(match[1]), int(match[2])) if match else None


def _replicas(_context: click.Context, _option: click.Parameter, value: str) -> int | None:
    """Read a number, or auto."""
    if value == _AUTO:
        return None
    if not re.fullmatch(r"[1-9]\d{0,5}", value):
        raise InputError(f"--replicas '{value}' is neither {_AUTO} nor a number from 1")
    return int(value)


def _schema(name: str) -> str:
    from ethosgen_place.files import format_schema

    return format_schema(name)


@click.command(cls=GroupedCommand, short_help="Place a network on a large mesh, and simulate it")
@click.argument("source", metavar="GRAPH", type=click.Path(path_type=Path))
@click.option(
    "--mesh",
    metavar="WxH",
    callback=_mesh,
    help="Width and height of the mesh, e.g. 192x38 [default: from --elements].",
)
@path_option(
    "--elements",
    metavar="FILE.toml",
    help="Clock and memory of the elements, bandwidth and latency of the links, elements that "
    "differ, defects and energies [default: 400 MHz, 1 MiB, 1 GB/s, 20 ns for all].",
)
@click.option(
    "--stages",
    metavar="K",
    type=click.IntRange(1),
    help="Cut a network into K stages [default: a stage for each operator].",
)
@click.option(
    "--npu",
    shell_complete=completion.npus,
    metavar="NPU",
    help="NPU of each element, for the cycles of a network's operators [default: none, the CPU's].",
)
@click.option(
    "--split",
    type=click.Choice(["auto", "always", "off"]),
    default=_AUTO,
    show_default=True,
    help="auto: cut operators that do not fit an element into parts, by rows, channels or input "
    "channels, and for the goal latency also others; always: cut all that can be; off: refuse what "
    "does not fit.",
)
@click.option(
    "--replicas",
    metavar="auto|N",
    default=_AUTO,
    show_default=True,
    callback=_replicas,
    help="Elements for each task whose graph does not state them; auto: as many as make the whole "
    "faster.",
)
@click.option(
    "--goal",
    type=click.Choice(["throughput", "latency"]),
    default="throughput",
    show_default=True,
    help="Many samples at a time, or a sample alone as soon as possible, with one element for each "
    "task.",
)
@path_option(
    "--mapping",
    metavar="MAPPING.json",
    help="Evaluate this mapping instead of computing one.",
)
@path_option(
    "-o",
    "--output",
    metavar="PLACEMENT.json",
    help="Write the placement, in the format of --mapping.",
)
@path_option(
    "--graph",
    "graph_output",
    metavar="GRAPH.json",
    help="Write the task graph, for another mapper.",
)
@path_option(
    "--parts",
    metavar="PARTS.tflite",
    help="Write the network of the parts of operators; --graph then names its operators, for "
    "`ethosgen pipeline`.",
)
@path_option(
    "--plot",
    metavar="PLACEMENT.svg",
    help="Draw the elements by task, and how busy the links are; as .html, a page with figures.",
)
@click.option(
    "--samples",
    metavar="N",
    type=click.IntRange(24, 1_000_000),
    help="Number of samples to simulate [default: enough to fill the mesh and then measure].",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the placement."
)
@schema_option("such a file", _schema, ["graph", "mapping", "elements"])
@with_reading
@JSON
def place(
    source: Path,
    mesh: tuple[int, int] | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Place a task graph, or a network cut into stages, on a mesh of elements, and simulate it.

    \b
    GRAPH is a task graph (.json), or a network in any format:
        ethosgen place MODEL.tflite --mesh 16x8 --stages 12 --graph graph.json -o placement.json
        ethosgen place graph.json --mesh 192x38 --plot placement.svg
        ethosgen place graph.json --mesh 192x38 --mapping mine.json     judge another mapper's
    """
    from ethosgen_place.files import mesh_of
    from ethosgen_place.placement import PlacementRequest
    from ethosgen_place.placement import place as run

    asked = PlacementRequest(source, mesh=mesh_of(*mesh) if mesh else None, **options)
    with Progress() as progress:
        report = run(asked, progress.watch())
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        for line in report_lines(report):
            click.echo(line)
    suggest_next(_next(asked, report), quiet=as_json)


def report_lines(report: Any) -> Iterator[str]:
    """Yield the report for people."""
    from ethosgen_place.report import energy, rate

    facts = report.as_json()
    slowest, latency, run = facts["slowest_task"], facts["latency_s"], facts["simulated"]
    tasks, used = len(facts["tasks"]), facts["used_elements"]
    mesh = facts["mesh"]
    yield (
        f"{facts['graph']}: {counted(tasks, 'task')} on {used:,} of "
        f"{counted(facts['elements'], 'element')} ({mesh['width']}x{mesh['height']})"
    )
    most = max(facts["tasks"], key=lambda task: task["replicas"])
    lanes = f", in {counted(facts['lanes'], 'lane')}" if facts["lanes"] > 1 else ""
    yield f"  replicas    at most {most['replicas']:,}, of '{most['name']}'{lanes}"
    for each in report.cuts:
        yield f"  cut         {each.text}"
    each = duration(slowest["seconds_per_sample"])
    yield f"  slowest     '{slowest['name']}': {each} for each sample"
    speed, bound = facts["samples_per_s"], facts["bound"]
    doubt = run["uncertainty"]
    sure = f" (± {percent(doubt)})" if run["full"] and doubt and doubt >= _SAID else ""
    yield (
        f"  throughput  {rate(speed)} per second simulated{sure}, "
        f"{rate(bound['samples_per_s'])} at best, limited by {bound['limit']}"
    )
    mean, longest = duration(latency["mean"]), duration(latency["max"])
    alone = duration(latency["alone"])
    yield f"  latency     {mean} on average, {longest} at most; {alone} for a sample alone"
    if cost := facts["energy_j_per_sample"]:
        total = cost["work"] + cost["links"]
        share = percent(cost["links"] / total)
        yield f"  energy      {energy(total)} for each sample, {share} of it for bytes on links"
    if hot := facts["hottest_link"]:
        load = percent(hot["load"])
        yield f"  links       the hottest, {hot['link']}, is busy for {load} of the time"
        size = facts["bytes_per_sample"]
        yield f"  traffic     {size:,} B for each sample; links on a byte's way: {report.hops:.2f}"
    yield (
        f"  simulated   {counted(run['samples'], 'sample')}, measured {run['measured']:,}: "
        "each came out once, in order"
    )
    yield from _notes(facts)


def _notes(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is unusual."""
    run = facts["simulated"]
    if short := facts["short_of_buffers"]:
        yield (
            f"  note        {short['hand_over']} there is room for {short['buffers']:,} of the "
            f"{counted(short['needed'], 'sample')} on the longer way, which may hold up the others"
        )
    if circle := facts["blocking_circle"]:
        yield (
            "  note        transfers on ways around broken links could block each other for ever "
            f"in a circle of {counted(len(circle), 'link')} from {circle[0]}, unless a router's "
            "buffer holds a whole transfer"
        )
    if run["was_full"]:
        yield (
            "  note        the mesh was full when the simulation began, so the latency is that of "
            "samples which came that far without waiting; a large --samples fills it instead"
        )
    if not run["full"]:
        yield "  note        the mesh was not full before measuring; --samples sets a larger number"
    elif not run["steady"]:
        yield (
            f"  note        the mesh is not steady: its period still changed by "
            f"{percent(run['unsteadiness'])}; --samples sets a larger number"
        )


def _next(asked: Any, report: Any) -> str:
    """Return the command that a user may want next."""
    words = ["ethosgen", "place", str(asked.graph_output or asked.source)]
    if asked.mesh is not None:
        words += ["--mesh", str(asked.mesh)]
    if asked.elements is not None:
        words += ["--elements", str(asked.elements)]
    if asked.goal != "throughput" and asked.output is None:
        words += ["--goal", asked.goal]
    if asked.output is not None:
        return shlex.join([*words, "--mapping", str(asked.output)])
    if asked.graph_output is None and asked.stages is not None:
        words += ["--stages", str(asked.stages)]
    if asked.graph_output is None and asked.split != _AUTO:
        words += ["--split", asked.split]
    if asked.graph_output is None and asked.npu is not None:
        words += ["--npu", asked.npu]
    return shlex.join([*words, "-o", "placement.json", "--plot", "placement.svg"])
