"""Builds and runs the elements of a pipeline together, and judges the outputs of the last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ethosgen import frontend
from ethosgen.backend import find_accelerator
from ethosgen.flow.firmware import build_project, find_firmware
from ethosgen.flow.models import attach_model, devices_of
from ethosgen.frontend import source_of
from ethosgen.samples.files import save_samples
from ethosgen.samples.fitting import fitting
from ethosgen.stages.cuts import Stage, cut, positions
from ethosgen.stages.frames import tensor_bytes, whole_bytes, windows
from ethosgen.stages.manifest import MANIFEST, Manifest, open_manifest
from ethosgen.stages.report import ElementFigures, PipelineReport, Suspect
from ethosgen.stages.routes import bring_everything
from ethosgen.stages.timing import PipelineTiming, Times, Way, busiest_link_s, schedule
from ethosgen.systems.suspect import decode, find_suspect
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.grammar import counted, unknown
from ethosgen.values.handover import identity_of
from ethosgen.values.mesh import ElementMesh
from ethosgen.values.network import Graph, Network
from ethosgen.values.outcome import Arrays, OutputComparison
from ethosgen.values.source import ReadOptions
from ethosgen.values.watch import Watch
from ethosgen.values.wiring import HOST, StageEdge, Wiring, line_names
from ethosgen.verdict.fidelity import measure_fidelity, require_runtime
from ethosgen.verdict.judgement import Criteria, Inputs, choose_samples, judge

if TYPE_CHECKING:
    from ethosgen.project.info import ProjectInfo
    from ethosgen.targets.elements import ElementFirmware, Measured
    from ethosgen.targets.relay import ElementPorts
    from ethosgen.targets.wires import Tap
    from ethosgen.toolchain import Built

_MOST_TICKS = 1 << 31
"""A difference above half of a counter's range means that the time went back."""
_ALONE_SAMPLES = 3
"""Number of samples that one element alone runs, to measure its cycles."""
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Opened:
    """A pipeline on disk, with its network, its stages, and the lines between their elements."""

    directory: Path
    manifest: Manifest
    network: Network
    stages: tuple[Stage, ...]
    wiring: Wiring

    @property
    def graph(self) -> Graph:
        """The network's entry graph."""
        return self.network.graph

    @property
    def identity(self) -> bytes:
        """An identity that distinguishes its elements from other pipelines'."""
        starts = [stage.start for stage in self.stages]
        return identity_of(source_of(self.network).data, starts, self.wiring)

    @property
    def names(self) -> list[str]:
        """The elements' names."""
        return [element.name for element in self.manifest.elements]

    @property
    def mesh(self) -> ElementMesh | None:
        """The mesh that carries the frames, if any."""
        mesh = self.manifest.mesh
        return mesh and ElementMesh(*mesh, len(self.manifest.elements))

    def folders(self) -> list[str]:
        """Return the folders of all projects."""
        alone = [self.manifest.alone] if self.manifest.alone else []
        return [*(element.name for element in self.manifest.elements), *alone]


@dataclass(frozen=True)
class Rig:
    """The setting of elements: boards at `ports`, by name, the others on QEMU.

    `tap` and `timeout_s` are as for Elements.
    """

    ports: "Mapping[str, ElementPorts]" = field(default_factory=dict)
    tap: "Tap | None" = None
    timeout_s: float = 120.0


@dataclass(frozen=True)
class _Done:
    """A run: the outputs, the elements' accounts, and the frames on each line if recorded."""

    outputs: list[Arrays]
    measured: "list[Measured]"
    frames: list[list[bytes]]


def open_pipeline(directory: Path, watch: Watch) -> Opened:
    """Read a pipeline's manifest and network; InputError if they do not belong together."""
    manifest = open_manifest(directory)
    shapes = tuple((name, tuple(shape)) for name, shape in manifest.reading["shapes"].items())
    reading = ReadOptions(shapes, manifest.reading["input_layout"])
    with watch.phase("read", f"reading {manifest.source}"):
        network = frontend.read(directory / manifest.source, manifest.file_format, reading)
    network = replace(network, name=manifest.network)
    graph = network.graph
    tensors = {i for each in manifest.handovers for i in each.tensors}
    if not set(manifest.boundaries) <= set(positions(graph)) or not tensors <= set(
        range(len(graph.tensors))
    ):
        raise InputError(
            f"'{directory / manifest.source}' is not the network of this pipeline; generate the "
            "pipeline again elsewhere"
        )
    edges = tuple(
        StageEdge(each.sender, each.receiver, each.tensors, tensor_bytes(graph, each.tensors))
        for each in manifest.handovers
    )
    stages = tuple(cut(network, manifest.boundaries))
    if not bring_everything(graph, stages, edges):
        raise InputError(
            f"'{directory / MANIFEST}' is damaged: its handovers do not bring each stage the "
            "tensors that it reads; generate the pipeline again elsewhere"
        )
    return Opened(
        directory,
        manifest,
        network,
        stages,
        Wiring(manifest.replicas, edges, manifest.link == "shared"),
    )


def build_pipeline(directory: Path, watch: Watch) -> "list[tuple[str, Built]]":
    """Compile all projects, for QEMU if it has the board; return each with its folder."""
    from ethosgen.project import open_project

    opened = open_pipeline(directory, watch)
    built = []
    for name in opened.folders():
        watch.say(f"compiling {name}")
        on = "qemu" if open_project(directory / name).board.run.qemu else None
        built.append((name, build_project(directory / name, on=on, watch=watch)))
    return built


def run_pipeline(
    directory: Path,
    inputs: Inputs,
    criteria: Criteria,
    output_path: Path | None,
    watch: Watch,
    rig: "Rig | None" = None,
) -> PipelineReport:
    """Run samples through all elements, and compare the outputs with the golden ones.

    TargetError names the element that failed.
    """
    rig = rig or Rig()
    opened = open_pipeline(directory, watch)
    network, manifest = opened.network, opened.manifest
    require_runtime([network], criteria)
    samples = choose_samples(network, inputs)
    require_ports(opened, rig.ports)
    done = _run(opened, samples, watch, rig)
    if output_path is not None:
        save_samples(output_path, done.outputs)
    criteria = replace(criteria, oracle=criteria.oracle or manifest.oracle)
    golden, second = judge(network, samples, done.outputs, watch, criteria)
    alone, is_equal = _run_alone(opened, samples, done.outputs, watch)
    figures = _figures(opened, done.measured, len(samples))
    drawn = inputs.drawn(network, len(samples))
    return PipelineReport(
        network=network.name,
        link=manifest.link,
        samples=len(samples),
        elements=figures,
        schedule=_schedule(figures, opened),
        golden=golden,
        second=second,
        plans=tuple(
            _info(opened, element.name).networks[0].summary for element in manifest.elements
        ),
        alone=alone,
        why_not_alone=manifest.why_not_alone,
        is_alone_equal=is_equal,
        seed=drawn.seed if drawn else None,
        fidelity=measure_fidelity(network, samples, done.outputs, criteria, watch),
        suspect=_suspect(opened, samples, golden, criteria, watch, rig),
        wall_s=watch.wall_s,
    )


def _suspect(
    opened: Opened,
    samples: Sequence[Arrays],
    golden: OutputComparison | None,
    criteria: Criteria,
    watch: Watch,
    rig: "Rig",
) -> Suspect | None:
    """Run again up to the first differing sample, and find the faulty element."""
    if golden is None or golden.first is None or criteria.golden is not None:
        return None
    if rig.ports:
        return Suspect(None, note="run the pipeline on QEMU alone to see which element is wrong")
    some = samples[: golden.first.sample + 1]
    with watch.phase("blame", "asking who was wrong"):
        frames = _run(opened, some, watch, rig, is_recording=True).frames
        return find_suspect(
            opened.graph, opened.stages, opened.names, opened.wiring, frames, criteria.oracle
        )


def _info(opened: Opened, folder: str) -> "ProjectInfo":
    """Read a project of the pipeline, with the devices that run on QEMU."""
    from ethosgen.project import open_project

    info = open_project(opened.directory / folder)
    return replace(info, devices=devices_of(info, "qemu"))


def require_ports(opened: Opened, ports: "Mapping[str, ElementPorts]") -> None:
    """Raise InputError unless exactly the lines that boards need are named."""
    names, wiring = opened.names, opened.wiring
    strange = next((name for name in ports if name not in names), None)
    if strange is not None:
        raise InputError(f"--port: {unknown('element', strange, names)}")
    if ports and opened.manifest.link != "serial":
        how = "are in a mesh" if opened.manifest.mesh else "share memory"
        raise InputError(f"--port is for elements on serial lines; these {how}")
    urls: dict[int, dict[str, str | None]] = {n: {} for n in range(len(wiring.lines))}
    for number, name in enumerate(names):
        if name in ports:
            lines = line_names(wiring, number, names)
            for line, end in lines.items():
                urls[line][f"{name}.{end}"] = ports[name].lines.get(end)
            unused = next((end for end in ports[name].lines if end not in lines.values()), None)
            if unused is not None:
                raise InputError(
                    f"--port {name}.{unused}: {unknown('line', unused, [*lines.values()])}"
                )
    for ends in urls.values():
        is_direct = len(ends) == 2 and not any(ends.values())
        missing = next((end for end, url in ends.items() if url is None), None)
        if missing is not None and not is_direct:
            raise InputError(
                f"the line {missing} ends at this machine: name its serial port with --port "
                f"{missing}=PORT"
            )


def members_of(
    opened: Opened, ports: "Mapping[str, ElementPorts] | None" = None
) -> "list[ElementFirmware]":
    """Return the built elements, boards for those in `ports`; InputError for one without build."""
    from ethosgen.targets.elements import ElementFirmware

    members = []
    for element in opened.manifest.elements:
        info = _info(opened, element.name)
        if ports and element.name in ports:
            members.append(ElementFirmware(element.name, info, None, None, ports[element.name]))
            continue
        attach = None if info.npu == NO_NPU else attach_model(find_accelerator(info.npu))
        if info.board.run.qemu is None:
            raise InputError(
                f"element '{element.name}' cannot run here: QEMU has no board '{info.board.name}'; "
                f"for a real one, name its serial ports with --port {element.name}=PORT and so on"
            )
        members.append(ElementFirmware(element.name, info, find_firmware(info, "qemu").elf, attach))
    return members


def _run(
    opened: Opened,
    samples: Sequence[Arrays],
    watch: Watch,
    rig: "Rig",
    is_recording: bool = False,
) -> "_Done":
    from ethosgen.targets.elements import Elements

    manifest = opened.manifest
    rooms = windows(opened.wiring, manifest.window[0]) if manifest.window else []
    members = members_of(opened, rig.ports)
    count = counted(len(samples), "sample")
    with (
        watch.phase("run", f"running {counted(len(members), 'element')} on QEMU"),
        Elements(
            members,
            opened.wiring,
            opened.identity,
            rooms,
            mesh=opened.mesh,
            tap=rig.tap,
            timeout_s=rig.timeout_s,
            is_recording=is_recording,
        ) as elements,
    ):
        results = elements.run(
            encoded(opened, samples), lambda done: watch.say(f"running on QEMU: {done} of {count}")
        )
        measured = elements.finish(len(samples))
    outputs = [
        _outputs(opened, sample, data) for sample, data in zip(samples, results, strict=True)
    ]
    return _Done(outputs, measured, [recorder.frames for recorder in elements.recorders])


def encoded(opened: Opened, samples: Sequence[Arrays]) -> list[list[bytes]]:
    """Return, for each sample, the tensors of the frame of each hand-over from the host."""
    graph, wiring = opened.graph, opened.wiring
    edges = [wiring.edges[edge] for edge in wiring.edges_behind(HOST)]
    return [[_encode(graph, edge.tensors, sample) for edge in edges] for sample in samples]


def _encode(graph: Graph, tensors: Sequence[int], sample: Arrays) -> bytes:
    return b"".join(fitting(sample, graph.tensors[i]).tobytes() for i in tensors)


def _outputs(opened: Opened, sample: Arrays, frames: Sequence[bytes] | None) -> Arrays:
    """Return a sample's outputs from the frames of each hand-over to the host, none without."""
    if frames is None:
        return {}
    graph, wiring = opened.graph, opened.wiring
    outputs: dict[str, Any] = {}
    for edge, data in zip(wiring.edges_before(HOST), frames, strict=True):
        outputs |= decode(graph, wiring.edges[edge].tensors, data)
    for i in set(graph.outputs) & set(graph.inputs):
        outputs[graph.tensors[i].name] = fitting(sample, graph.tensors[i])
    for i in set(graph.outputs):  # nobody computes or hands over a constant
        constant = graph.tensors[i].data
        if constant is not None:
            outputs |= decode(graph, [i], constant)
    return outputs


def _run_alone(
    opened: Opened, samples: Sequence[Arrays], outputs: Sequence[Arrays], watch: Watch
) -> tuple[int | None, bool]:
    """Return the cycles of the whole network on one element, and whether its outputs are equal."""
    from ethosgen.targets import run

    if not opened.manifest.alone:
        return None, True
    info = _info(opened, opened.manifest.alone)
    attach = None if info.npu == NO_NPU else attach_model(find_accelerator(info.npu))
    with watch.phase("alone", "running one element alone on QEMU"):
        elf = find_firmware(info, "qemu").elf
        done = run(elf, info, samples[:_ALONE_SAMPLES], attach=attach).samples
    is_equal = all(
        sample.outputs.keys() == other.keys()
        and all(
            np.array_equal(sample.outputs[n], other[n], equal_nan=_has_nan(other[n])) for n in other
        )
        for sample, other in zip(done, outputs, strict=False)
    )
    cycles = [(s.cpu_instructions or 0) + (s.npu_pmu or {}).get("cycles", 0) for s in done]
    return max(cycles), is_equal


def _has_nan(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bool:
    return bool(array.dtype.kind == "f")


def _figures(
    opened: Opened, measured: "Sequence[Measured]", samples: int
) -> tuple[ElementFigures, ...]:
    figures = []
    for number, measurement in enumerate(measured):
        element, report = opened.manifest.elements[number], measurement.report
        if report.most_run_ticks > _MOST_TICKS:
            ticks = counted(report.most_run_ticks, "tick")
            raise TargetError(
                f"element '{element.name}' reports {ticks} for a run, which its counter of 32 bits "
                "cannot have counted; run the pipeline again"
            )
        own = max(len(opened.wiring.samples_of(number, samples)), 1)
        per_cycle = measurement.hello.ticks_hz / element.clock_hz * own
        if measurement.instruction_ns is not None:
            per_cycle = measurement.hello.ticks_hz * measurement.instruction_ns / _NANOSECONDS * own
        edges = opened.wiring.edges_behind(element.stage)
        receive = report.receive_ticks + report.interrupt_ticks
        figures.append(
            ElementFigures(
                name=element.name,
                board=element.board,
                clock_hz=element.clock_hz,
                estimated=element.cycles,
                cpu=round(report.run_ticks / per_cycle),
                npu=round(report.npu_cycles / own),
                receive=round(receive / per_cycle),
                send=round(report.send_ticks / per_cycle),
                wire=round(_wire_s(opened, edges) * element.clock_hz),
                sent_bytes=sum(opened.wiring.edges[edge].bytes for edge in edges),
                stack_bytes=report.stack_bytes,
                replicas=opened.wiring.replicas[element.stage],
            )
        )
    return tuple(figures)


def _wire_s(opened: Opened, edges: Sequence[int]) -> float:
    """Return the time of frames on their links, one after the other; the host's take none."""
    once = [edge for edge in edges if opened.wiring.first_alike(edge) == edge]
    rates = [(edge, opened.manifest.handovers[edge].bytes_per_s) for edge in once]
    return sum(whole_bytes(opened.wiring.edges[edge].bytes) / rate for edge, rate in rates if rate)


def _schedule(figures: Sequence[ElementFigures], opened: Opened) -> PipelineTiming:
    """Return the times of samples in the full pipeline; the host is never late."""
    wiring = opened.wiring
    stages: list[list[Times]] = [[] for _ in wiring.replicas]
    for element, (stage, _) in zip(figures, wiring.elements, strict=True):
        busy = (element.receive + element.cpu + element.npu) / element.clock_hz
        stages[stage].append(Times(busy, max(element.send, element.wire) / element.clock_hz))
    ways = [
        Way(
            edge.sender, edge.receiver, facts.latency_s, wiring.room(number) * wiring.period(number)
        )
        for number, (edge, facts) in enumerate(
            zip(wiring.edges, opened.manifest.handovers, strict=True)
        )
        if HOST not in (edge.sender, edge.receiver)
    ]
    timing = schedule(stages, ways)
    rates = [facts.bytes_per_s for facts in opened.manifest.handovers if facts.bytes_per_s]
    if opened.mesh is None or not rates:
        return timing
    busy = busiest_link_s(opened.mesh, wiring, min(rates))
    return replace(timing, interval=max(timing.interval, busy))
