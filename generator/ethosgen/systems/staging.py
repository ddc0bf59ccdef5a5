"""Writes a pipeline: a network cut into stages, and a project for each stage's element."""

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

from ethosgen.backend import is_compiled, load_wrapped
from ethosgen.board.system import Element, System
from ethosgen.flow.planning import PlanSettings, compile_placed, make_plan
from ethosgen.frontend import source_of, suffix_of
from ethosgen.project import Project, render, require_writable, write
from ethosgen.stages.balance import Cost, balance
from ethosgen.stages.cuts import Stage, cut, has_state, positions
from ethosgen.stages.frames import handover, windows, windows_bytes
from ethosgen.stages.linked import balance_linked
from ethosgen.stages.manifest import (
    MANIFEST,
    ElementProject,
    HandoverFacts,
    Manifest,
    is_pipeline,
    manifest_text,
    open_manifest,
)
from ethosgen.stages.report import plan_json
from ethosgen.stages.routes import route
from ethosgen.systems.estimates import Estimates, accelerator_of
from ethosgen.values.errors import CapacityError, InputError, UnsupportedError, cannot_write
from ethosgen.values.grammar import counted
from ethosgen.values.handover import (
    MOST_LINES,
    MOST_RECEIVED,
    Handover,
    SharedWindow,
    identity_of,
)
from ethosgen.values.network import Network
from ethosgen.values.plan import OffloadOptions, PlanSummary
from ethosgen.values.watch import Watch
from ethosgen.values.wiring import StageEdge, Wiring

ALONE = "one_element"
"""The folder of the whole network on the first element."""
_MOST_TRIES = 20
"""Maximum number of cuts to try if compiled stages are larger than estimated."""


@dataclass(frozen=True)
class StageFigures:
    """A stage for the user: its element, operators, plan and estimates."""

    name: str
    board: str
    operators: int
    plan: PlanSummary
    cycles: int
    seconds: float
    sent_bytes: int


@dataclass(frozen=True)
class WrittenPipeline:
    """A pipeline on disk."""

    directory: Path
    network: str
    stages: tuple[StageFigures, ...]
    one_element_cycles: int
    why_not_alone: str

    def as_json(self) -> dict[str, Any]:
        """Return the pipeline as an object of JSON types."""
        return {
            "directory": str(self.directory),
            "model": self.network,
            "elements": [{**vars(stage), "plan": plan_json(stage.plan)} for stage in self.stages],
            "one_element_cycles": self.one_element_cycles,
            "why_not_one_element": self.why_not_alone or None,
        }


def create_pipeline(
    network: Network,
    system: System,
    options: OffloadOptions,
    directory: Path | None,
    watch: Watch,
    cuts: Sequence[int] | None = None,
) -> WrittenPipeline:
    """Cut a network for a system's elements, and write a project for each.

    `cuts`, if given, are the boundaries between stages, with both ends. Nothing is written unless
    all stages fit. InputError if the network cannot be cut into this many stages, CapacityError if
    a stage fits no element.
    """
    if options.steps:
        raise InputError("a pipeline's outputs must equal the oracle's; omit --allow-difference")
    _require_cuttable(network, system)
    estimates = Estimates(network, system, options)
    place = directory or Path(f"{network.name}_pipeline")
    _require_new_or_same(place, network, system)
    boundaries, wiring, generated = _fitting(network, system, estimates, options, watch, cuts)
    _require_same_lines(place, wiring)
    stages = cut(network, boundaries)
    alone, why_not = _alone(network, system.elements[0], options, watch)
    manifest = _manifest(estimates, boundaries, wiring, why_not, options)
    source = source_of(network)
    files = {MANIFEST: manifest_text(manifest), manifest.source: source.data}
    projects = {
        element.name: project
        for element, (project, _) in zip(system.elements, generated, strict=True)
    }
    if alone is not None:
        projects[ALONE] = alone
    with watch.phase("render", f"writing the pipeline to {place}"):
        _write(place, files, projects)
    figures = [
        StageFigures(
            element.name,
            element.board.name,
            len((stage := stages[element.stage]).network.graph.operators),
            plan,
            estimates.cycles(element.stage, stage.start, stage.stop),
            estimates.seconds(element.stage, stage.start, stage.stop),
            sum(wiring.edges[edge].bytes for edge in wiring.edges_behind(element.stage)),
        )
        for element, (_, plan) in zip(system.elements, generated, strict=True)
    ]
    whole = estimates.cycles(0, 0, len(network.graph.operators))
    return WrittenPipeline(place, network.name, tuple(figures), whole, why_not)


def find_boundaries(
    estimates: Estimates,
    forbidden: Sequence[tuple[int, int, int]] = (),
    chosen: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the best cuts by estimate; CapacityError tells how far the best stage is too large.

    `forbidden` are stages, as element and boundaries, that proved too large. `chosen` are the only
    places to cut, all places where it is possible if None.
    """
    cuts = chosen or positions(estimates.graph)

    def cost(stage: int, start: int, stop: int) -> float:
        return inf if (stage, start, stop) in forbidden else estimates.cost(stage, start, stop)

    boundaries = _balanced(estimates, cuts, cost)
    if boundaries is None:
        _require_stateless_replicas(estimates, cuts)
        _require_ways(estimates, cuts)
        raise CapacityError((_chosen_too_large if chosen else _too_large)(estimates, cuts))
    return boundaries


def _balanced(estimates: Estimates, cuts: Sequence[int], cost: Cost) -> tuple[int, ...] | None:
    """Return the best boundaries for which the system's links also suffice."""
    system, stages = estimates.system, len(estimates.system.stages)
    if system.has_ways_to_all:
        return balance(cuts, stages, cost)
    return balance_linked(estimates.graph, cuts, stages, system.ways, cost)


def _require_ways(estimates: Estimates, cuts: Sequence[int]) -> None:
    """Raise InputError if all cuts, of any size, leave an element idle or need another link."""
    network, system = estimates.network, estimates.system

    def cost(stage: int, start: int, stop: int) -> float:
        return 0.0 if estimates.has_ends(start, stop) else inf

    if _balanced(estimates, cuts, cost) is not None:
        return
    ends = balance(cuts, len(system.stages), cost) or balance(
        cuts, len(system.stages), lambda stage, start, stop: 0.0
    )
    if ends is not None:
        route(network.graph, cut(network, ends), _names(system), system.ways, system.replicas)


def _names(system: System) -> list[str]:
    return [element.name for element in system.stages]


def _require_cuttable(network: Network, system: System) -> None:
    if is_compiled(network):
        raise UnsupportedError(
            f"'{network.name}' is compiled for an NPU already and cannot be cut; pass the "
            "uncompiled network"
        )
    most, asked = len(positions(network.graph)) - 1, len(system.stages)
    if asked > most:
        raise InputError(
            f"'{network.name}' can be cut into at most {counted(most, 'stage')}, but "
            f"{asked} were requested: it has {counted(len(network.graph.operators), 'operator')}; "
            "use fewer elements"
        )


def _require_stateless_replicas(estimates: Estimates, cuts: Sequence[int]) -> None:
    """Raise InputError if all cuts leave a state, which sees every sample, to replicas."""
    network, system = estimates.network, estimates.system

    def cost(stage: int, start: int, stop: int) -> float:
        is_split = system.replicas[stage] > 1 and has_state(network.graph, start, stop)
        return inf if is_split else 0.0

    if balance(cuts, len(system.stages), cost) is None:
        names = [
            f"'{e.name}'" for e, n in zip(system.stages, system.replicas, strict=True) if n > 1
        ]
        raise InputError(
            f"'{network.name}' keeps a state between samples, which cannot be in a stage with "
            f"replicas, as each sees only some samples; give {' or '.join(names)} no replicas"
        )


def _too_large(estimates: Estimates, cuts: Sequence[int]) -> str:
    """Name the part of the network that fits no element, or report that the sum is too large."""
    network, elements = estimates.network, estimates.system.stages
    for start, stop in pairwise(cuts):
        shortages = [
            (estimates.shortage(k, start, stop), element) for k, element in enumerate(elements)
        ]
        if all(shortage is not None for shortage, _ in shortages):
            shortage, element = min(
                ((shortage, element) for shortage, element in shortages if shortage),
                key=lambda each: each[0].bytes,
            )
            op = network.graph.operators[start]
            return (
                f"the stage of operator {start} ({op.title}) of '{network.name}' fits no element: "
                f"it needs {counted(shortage.bytes, 'byte')} more than '{shortage.memory}' of "
                f"'{element.name}' has, which comes closest; use a board with more memory"
            )
    return (
        f"'{network.name}' does not fit {counted(len(elements), 'element')}: however it is cut, a "
        f"stage is too large by at least {counted(_least_shortage(estimates, cuts), 'byte')}; "
        "use more elements, or a board with more memory"
    )


def _chosen_too_large(estimates: Estimates, cuts: Sequence[int]) -> str:
    """Name the stage between given cuts that does not fit its element."""
    network = estimates.network
    for k, (start, stop) in enumerate(pairwise(cuts)):
        if short := estimates.shortage(k, start, stop):
            return (
                f"operators {start} to {stop - 1} of '{network.name}' do not fit element "
                f"'{estimates.system.stages[k].name}': they need {counted(short.bytes, 'byte')} "
                f"more than '{short.memory}' has; cut elsewhere, or use a board with more memory"
            )
    return f"'{network.name}' does not fit its elements, cut as given; cut elsewhere"


def _least_shortage(estimates: Estimates, cuts: Sequence[int]) -> int:
    """Return the smallest shortage, over all cuts, of the worst stage in bytes."""

    def cost(stage: int, start: int, stop: int) -> float:
        shortage = estimates.shortage(stage, start, stop)
        return float(shortage.bytes) if shortage else 0.0

    stages = len(estimates.system.stages)
    boundaries = balance(cuts, stages, cost)
    if boundaries is None:
        return 0
    return int(max(cost(k, boundaries[k], boundaries[k + 1]) for k in range(stages)))


def _fitting(
    network: Network,
    system: System,
    estimates: Estimates,
    options: OffloadOptions,
    watch: Watch,
    cuts: Sequence[int] | None,
) -> tuple[tuple[int, ...], Wiring, list[tuple[Project, PlanSummary]]]:
    """Return cuts whose compiled stages fit, with each element's project and plan."""
    forbidden: list[tuple[int, int, int]] = []
    error: CapacityError | None = None
    for _ in range(_MOST_TRIES):
        try:
            boundaries = find_boundaries(estimates, forbidden, cuts)
        except CapacityError:
            if error is not None:
                raise error from None
            raise
        stages = cut(network, boundaries)
        means = system.ways, system.replicas, system.link == "shared"
        wiring = route(network.graph, stages, _names(system), *means)
        handovers = _handovers(network, system, stages, wiring)
        generated: list[tuple[Project, PlanSummary]] = []
        try:
            for element, frames in zip(system.elements, handovers, strict=True):
                _require_lines(element, frames)
            for element, frames in zip(system.elements, handovers, strict=True):
                generated.append(
                    _make(stages[element.stage].network, element, options, frames, watch)
                )
        except CapacityError as late:
            error = CapacityError(f"element '{element.name}': {late}", late.overflows)
            stage = stages[element.stage]
            forbidden.append((element.stage, stage.start, stage.stop))
            continue
        return boundaries, wiring, generated
    assert error is not None
    raise error


def _require_lines(element: Element, frames: Handover) -> None:
    """Raise CapacityError if an element has more neighbours than its board or its C has lines."""
    need, has = frames.lines, len(element.board.links)
    if 0 < has < need:
        raise CapacityError(
            f"it exchanges frames over {counted(need, 'line')}, but board '{element.board.name}' "
            f"has {has}; use fewer elements, or a board with more [[links]]"
        )
    for most, count, what in (
        (MOST_RECEIVED, len(frames.turns_before[0]), "hand-overs for each sample"),
        (MOST_LINES, max(len(frames.before), len(frames.behind)), "ends of lines on a side"),
    ):
        if count > most:
            raise CapacityError(
                f"it has {count} {what}, but the generated C can have {most}; use fewer elements"
            )


def _handovers(
    network: Network, system: System, stages: Sequence[Stage], wiring: Wiring
) -> list[Handover]:
    """Return the hand-over of each element."""
    names = [element.name for element in system.elements]
    identity = identity_of(source_of(network).data, [stage.start for stage in stages], wiring)
    rooms = _windows(network, system, wiring)
    return [
        handover(
            *(network.graph, stages[element.stage], names, number, wiring, identity, rooms),
            system.mesh,
        )
        for number, element in enumerate(system.elements)
    ]


def _windows(network: Network, system: System, wiring: Wiring) -> list[SharedWindow]:
    if system.shared is None:
        return []
    need = windows_bytes(wiring)
    if need > system.shared.size_bytes:
        raise CapacityError(
            f"the frames of '{network.name}' need {counted(need, 'byte')} of shared memory, "
            f"{counted(need - system.shared.size_bytes, 'byte')} more than [shared] has; make it "
            "larger, or use fewer elements"
        )
    return windows(wiring, system.shared.start_addr)


def _make(
    network: Network,
    element: Element,
    options: OffloadOptions,
    handover: Handover | None,
    watch: Watch,
) -> tuple[Project, PlanSummary]:
    """Return the project of a network on an element, and its plan."""
    board, accelerator = element.board, accelerator_of(element)
    mode = board.choose_memory_mode(element.memory_mode, accelerator)
    watch.say(f"compiling {network.name} for {element.name}")
    wrapped = [load_wrapped(name) for name in element.accelerators]
    settings = PlanSettings(accelerator, options, wrapped=wrapped).on(board, mode)
    plan = make_plan(network, settings, watch)
    program = compile_placed(plan, board, mode, watch)
    return render(program, board, memory_mode=mode, handover=handover), program.summary()


def _alone(
    network: Network, element: Element, options: OffloadOptions, watch: Watch
) -> tuple[Project | None, str]:
    """Return the project of the whole network on one element, or why there is none."""
    try:
        return _make(network, element, options, None, watch)[0], ""
    except CapacityError as error:
        return None, str(error)


def _manifest(
    estimates: Estimates,
    boundaries: Sequence[int],
    wiring: Wiring,
    why_not: str,
    options: OffloadOptions,
) -> Manifest:
    network, system = estimates.network, estimates.system
    source = source_of(network)
    return Manifest(
        network=network.name,
        source=f"{network.name}{suffix_of(source)}",
        file_format=source.format,
        reading={
            "shapes": {name: list(shape) for name, shape in source.options.shapes},
            "input_layout": source.options.input_layout,
        },
        link=system.link,
        boundaries=tuple(boundaries),
        elements=tuple(
            ElementProject(
                element.name,
                element.stage,
                element.board.name,
                element.clock_hz,
                estimates.cycles(element.stage, *boundaries[element.stage : element.stage + 2]),
            )
            for element in system.elements
        ),
        handovers=tuple(_handover_facts(edge, system) for edge in wiring.edges),
        window=(system.shared.start_addr, system.shared.size_bytes) if system.shared else None,
        mesh=(system.mesh.columns, system.mesh.rows) if system.mesh else None,
        alone="" if why_not else ALONE,
        why_not_alone=why_not,
        oracle=options.oracle,
    )


def _handover_facts(edge: StageEdge, system: System) -> HandoverFacts:
    link = system.links.get((edge.sender, edge.receiver))
    speed = (link.bytes_per_s, link.latency_s) if link else (None, 0.0)
    return HandoverFacts(edge.sender, edge.receiver, edge.tensors, *speed)


def _require_new_or_same(place: Path, network: Network, system: System) -> None:
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    if not is_pipeline(place):
        raise InputError(f"'{place}' exists and is not a pipeline; choose another with -o")
    there = open_manifest(place)
    names = tuple(element.name for element in system.elements)
    if (there.network, tuple(element.name for element in there.elements)) != (network.name, names):
        raise InputError(
            f"'{place}' is a pipeline of '{there.network}' for "
            f"{', '.join(element.name for element in there.elements)}; choose another with -o"
        )
    mesh = (system.mesh.columns, system.mesh.rows) if system.mesh else None
    if (there.link, there.mesh) != (system.link, mesh):
        raise _other_links(place)


def _require_same_lines(place: Path, wiring: Wiring) -> None:
    """Raise InputError if a pipeline is there whose elements have other lines."""
    if is_pipeline(place):
        there = [(each.sender, each.receiver) for each in open_manifest(place).handovers]
        if there != [(edge.sender, edge.receiver) for edge in wiring.edges]:
            raise _other_links(place)


def _other_links(place: Path) -> InputError:
    return InputError(
        f"the elements of the pipeline in '{place}' have other links, for which their board/link.c "
        "is written; that file is yours and stays, so choose another folder with -o"
    )


def _write(place: Path, files: dict[str, bytes], projects: dict[str, Project]) -> None:
    """Write the projects; a new pipeline appears atomically, an old one keeps its applications."""
    try:
        if is_pipeline(place):
            for name, project in projects.items():
                require_writable(project, place / name)  # before any is written
            for name, project in projects.items():
                write(project, place / name)
            for name, data in files.items():
                (place / name).write_bytes(data)
            return
        place.absolute().parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".ethosgen-", dir=place.absolute().parent))
        try:
            for name, project in projects.items():
                write(project, stage / name)
            for name, data in files.items():
                (stage / name).write_bytes(data)
            stage.chmod(0o755)
            with suppress(OSError):
                place.rmdir()  # an empty folder
            stage.rename(place)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        raise cannot_write(place, error) from None
