"""`ethosgen pipeline`: cut a network into stages for several elements."""

import json
import shlex
from pathlib import Path
from typing import Any

import click

from ethosgen.commands import completion
from ethosgen.commands.choices import ValueChoice, path_option
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.offload_options import with_offloading
from ethosgen.commands.options import (
    ACCELERATORS,
    JSON,
    MEMORY_MODE,
    MODEL,
    NPU,
    schema_option,
    with_reading,
)
from ethosgen.commands.progress import Progress
from ethosgen.commands.stage_table import written_text
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.source import ReadOptions


def _schema() -> str:
    from ethosgen.board.system import system_schema

    return system_schema()


@click.command(
    cls=GroupedCommand, short_help="Cut a network into stages, with a project for each element"
)
@MODEL
@click.option("--stages", type=click.IntRange(1), metavar="K", help="Number of equal elements.")
@click.option(
    "--board",
    shell_complete=completion.boards,
    metavar="BOARD",
    help="Board of each element, e.g. corstone300.",
)
@path_option(
    "--system",
    "system_path",
    metavar="FILE.toml",
    help="The elements and links, instead of --stages and --board.",
)
@click.option(
    "--link",
    type=ValueChoice(["serial", "shared"]),
    help="Hand over frames on a serial line, or in shared memory with doorbells [default: serial].",
)
@click.option(
    "--topology",
    type=ValueChoice(["chain", "graph"]),
    help="Hand over frames through all elements in order, or directly to each that reads them "
    "[default: chain].",
)
@path_option(
    "--task-graph",
    "task_graph",
    metavar="FILE.json",
    help="Cut according to this task graph, from ethosgen place or your own partitioner, instead "
    "of --stages.",
)
@NPU
@ACCELERATORS
@MEMORY_MODE
@click.option(
    "--name", metavar="NAME", help="Prefix of the C functions [default: the file's name]."
)
@path_option(
    "-o",
    "--output",
    "directory",
    help="Output directory [default: NAME_pipeline].",
)
@schema_option("--system's files", _schema)
@JSON
@with_offloading
@with_reading
def pipeline(
    network: Path,
    stages: int | None,
    board: str | None,
    system_path: Path | None,
    link: str | None,
    topology: str | None,
    task_graph: Path | None,
    npu: str | None,
    accelerators: tuple[str, ...],
    memory_mode: str | None,
    name: str | None,
    directory: Path | None,
    as_json: bool,
    options: OffloadOptions,
    reading: ReadOptions,
) -> None:
    """Cut a network into stages, and generate a project for each stage's element.

    The cuts make the slowest stage as fast as possible, by estimated cycles and the link's
    bandwidth, and each stage fits its element's memories. Each project runs its part of the network
    on the frames that the previous element hands over.

    \b
        ethosgen pipeline MODEL.tflite --board corstone300 -o line
    """
    from ethosgen.flow.lowered import choices_for, refuse_accelerators
    from ethosgen.flow.planning import read
    from ethosgen.systems.staging import create_pipeline

    tasks = _tasks(task_graph, stages, system_path)
    if tasks and system_path is None:
        stages = len(tasks)
    if system_path is None:
        npu, accelerators = choices_for(network, npu, accelerators)
    asked = (link, topology, npu, memory_mode, accelerators)
    replicas = tuple(task.replicas for task in tasks)
    system = _system(stages, board, system_path, *asked, replicas)
    with Progress() as progress:
        watch = progress.watch()
        given_network = read(network, name, watch, reading)
        if not any(stage.accelerators for stage in system.stages):
            refuse_accelerators(network, f"no element of '{system_path}' names an accelerator")
        cuts = None
        if task_graph is not None:
            cuts = _boundaries(tasks, given_network, system, f"task graph '{task_graph}'")
        written = create_pipeline(given_network, system, options, directory, watch, cuts)
    click.echo(json.dumps(written.as_json(), indent=2) if as_json else written_text(written))
    suggest_next(f"ethosgen build {shlex.quote(str(written.directory))}", quiet=as_json)


def _tasks(path: Path | None, stages: int | None, system_path: Path | None) -> tuple[Any, ...]:
    """Return a task graph's tasks, none without one."""
    if path is None:
        return ()
    if stages is not None:
        raise InputError("--task-graph says how many stages there are; omit --stages")
    from ethosgen.stages.task_cuts import read_cuts

    tasks = read_cuts(path)
    if system_path is not None and any(task.replicas > 1 for task in tasks):
        raise InputError(
            f"task graph '{path}' has replicas, but --system says all about the elements; give "
            "them there, and remove them from the tasks"
        )
    return tasks


def _boundaries(tasks: tuple[Any, ...], network: Any, system: Any, title: str) -> tuple[int, ...]:
    from ethosgen.stages.task_cuts import boundaries_of

    if len(tasks) != len(system.stages):
        raise InputError(
            f"{title} has {counted(len(tasks), 'task')}, but the system has "
            f"{counted(len(system.stages), 'element')}; each does one task"
        )
    return boundaries_of(tasks, network, title)


def _system(
    stages: int | None,
    board: str | None,
    path: Path | None,
    link: str | None,
    topology: str | None,
    npu: str | None,
    memory_mode: str | None,
    accelerators: tuple[str, ...],
    replicas: tuple[int, ...],
) -> Any:
    from ethosgen.board import load_board
    from ethosgen.board.system import load_system, uniform_system
    from ethosgen.board.system_facts import LINK_KINDS, TOPOLOGIES

    if path is not None:
        options: dict[str, Any] = {
            "--stages": stages,
            "--board": board,
            "--link": link,
            "--topology": topology,
            "--npu": npu,
            "--accelerator": accelerators or None,
            "--memory-mode": memory_mode,
        }
        named = [option for option, value in options.items() if value is not None]
        if named:
            raise InputError(f"--system says all about the elements; omit {' and '.join(named)}")
        return load_system(path)
    if stages is None or board is None:
        raise InputError(
            "name the elements: --stages K and --board BOARD for equal ones, with --task-graph "
            "FILE.json instead of --stages for your own cuts, or --system FILE.toml"
        )
    kind = next(known for known in LINK_KINDS if known == (link or LINK_KINDS[0]))
    form = next((known for known in TOPOLOGIES if known == topology), None)
    equal = (load_board(board), npu, memory_mode, stages, kind, accelerators, form)
    return uniform_system(*equal, replicas)
