"""Builds and runs the elements of a pipeline together, and judges the outputs of the last."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ethosgen import frontend
from ethosgen.backend import find_accelerator
from ethosgen.pipeline.firmware import build_project
from ethosgen.pipeline.judgement import Criteria, Inputs, choose_samples, judge
from ethosgen.pipeline.npu_model import attach_model
from ethosgen.samples.files import save_samples
from ethosgen.stages.cuts import Stage, cut, positions
from ethosgen.stages.layout import frame_bytes, tensor_bytes, windows
from ethosgen.stages.manifest import Manifest, open_manifest
from ethosgen.stages.report import ElementFigures, PipelineReport
from ethosgen.stages.schedule import Times, schedule
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError
from ethosgen.values.fitting import fitting
from ethosgen.values.grammar import counted
from ethosgen.values.handover import ROOM
from ethosgen.values.network import Graph, Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import ReadOptions
from ethosgen.values.watch import Watch

if TYPE_CHECKING:
    from ethosgen.target.elements import Measured, Member
    from ethosgen.target.wires import Tap
    from ethosgen.toolchain import Built

_ALONE_SAMPLES = 3
"""Samples that one element alone runs, for its cycles."""
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Opened:
    """A pipeline on disk, with its network and stages."""

    directory: Path
    manifest: Manifest
    network: Network
    stages: tuple[Stage, ...]

    @property
    def graph(self) -> Graph:
        """The network's entry graph."""
        return self.network.graph

    def folders(self) -> list[str]:
        """Return the folders of all projects."""
        alone = [self.manifest.alone] if self.manifest.alone else []
        return [*(element.name for element in self.manifest.elements), *alone]


def open_pipeline(directory: Path, watch: Watch) -> Opened:
    """Read a pipeline's manifest and network; InputError if they do not belong together."""
    manifest = open_manifest(directory)
    shapes = tuple((name, tuple(shape)) for name, shape in manifest.reading["shapes"].items())
    reading = ReadOptions(shapes, manifest.reading["input_layout"])
    with watch.stage("read", f"reading {manifest.source}"):
        network = frontend.read(directory / manifest.source, manifest.file_format, reading)
    network = replace(network, name=manifest.network)
    if not set(manifest.boundaries) <= set(positions(network.graph)):
        raise InputError(
            f"'{directory / manifest.source}' is not the network of this pipeline; generate the "
            "pipeline again elsewhere"
        )
    return Opened(directory, manifest, network, tuple(cut(network, manifest.boundaries)))


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
    tap: "Tap | None" = None,
    timeout_s: float = 120.0,
) -> PipelineReport:
    """Run samples through all elements on QEMU, and compare the outputs with the golden ones.

    `tap` and `timeout_s` are as for Elements. TargetError names the element that failed.
    """
    opened = open_pipeline(directory, watch)
    network, manifest = opened.network, opened.manifest
    samples = choose_samples(network, inputs)
    outputs, measured = _run(opened, samples, watch, tap, timeout_s)
    if output_path is not None:
        save_samples(output_path, outputs)
    oracle = criteria.oracle or manifest.oracle
    golden, second = judge(network, samples, outputs, watch, replace(criteria, oracle=oracle))
    alone, is_equal = _run_alone(opened, samples, outputs, watch)
    figures = _figures(opened, measured, len(samples))
    drawn = inputs.drawn(len(samples))
    return PipelineReport(
        network=network.name,
        link=manifest.link,
        samples=len(samples),
        elements=figures,
        schedule=schedule(_times(figures, manifest)),
        golden=golden,
        second=second,
        alone=alone,
        why_not_alone=manifest.why_not_alone,
        is_alone_equal=is_equal,
        seed=drawn.seed if drawn else None,
        wall_s=watch.wall_s,
    )


def members_of(opened: Opened) -> "list[Member]":
    """Return the built elements; InputError for one that is not built."""
    from ethosgen.project import open_project
    from ethosgen.target.elements import Member
    from ethosgen.toolchain import find_built

    members = []
    for element in opened.manifest.elements:
        place = opened.directory / element.name
        info = open_project(place)
        attach = None if info.npu == NO_NPU else attach_model(find_accelerator(info.npu))
        if info.board.run.qemu is None:
            raise InputError(
                f"element '{element.name}' cannot run here: QEMU has no board '{info.board.name}'"
            )
        members.append(Member(element.name, info, find_built(place, "qemu", "qemu").elf, attach))
    return members


def _run(
    opened: Opened,
    samples: Sequence[Arrays],
    watch: Watch,
    tap: "Tap | None",
    timeout_s: float,
) -> "tuple[list[Arrays], list[Measured]]":
    from ethosgen.target.elements import Elements

    manifest, graph, stages = opened.manifest, opened.graph, opened.stages
    rooms = windows(graph, stages, manifest.window[0], ROOM) if manifest.window else []
    frames = [_encode(graph, stages[0].receives, sample) for sample in samples]
    size = tensor_bytes(graph, stages[-1].sends)
    members = members_of(opened)
    count = counted(len(samples), "sample")
    with (
        watch.stage("run", f"running {counted(len(members), 'element')} on QEMU"),
        Elements(members, size, rooms, tap=tap, timeout_s=timeout_s) as elements,
    ):
        found = elements.run(frames, lambda done: watch.say(f"running on QEMU: {done} of {count}"))
        measured = elements.finish(len(samples))
    outputs = [_decode(graph, stages[-1].sends, data) if data else {} for data in found]
    return outputs, measured


def _encode(graph: Graph, tensors: Sequence[int], sample: Arrays) -> bytes:
    return b"".join(fitting(sample, graph.tensors[i]).tobytes() for i in tensors)


def _decode(graph: Graph, tensors: Sequence[int], data: bytes) -> Arrays:
    outputs, at = {}, 0
    for i in tensors:
        tensor = graph.tensors[i]
        array = np.frombuffer(data[at : at + tensor.bytes], tensor.dtype)
        outputs[tensor.name] = array.reshape(tensor.shape).copy()
        at += tensor.bytes
    return outputs


def _run_alone(
    opened: Opened, samples: Sequence[Arrays], outputs: Sequence[Arrays], watch: Watch
) -> tuple[int | None, bool]:
    """Return the cycles of the whole network on one element, and whether its outputs are equal."""
    from ethosgen.project import open_project
    from ethosgen.target import run
    from ethosgen.toolchain import find_built

    if not opened.manifest.alone:
        return None, True
    place = opened.directory / opened.manifest.alone
    info = open_project(place)
    attach = None if info.npu == NO_NPU else attach_model(find_accelerator(info.npu))
    with watch.stage("alone", "running one element alone on QEMU"):
        elf = find_built(place, "qemu", "qemu").elf
        done = run(elf, info, samples[:_ALONE_SAMPLES], attach=attach).samples
    is_equal = all(
        one.outputs.keys() == other.keys()
        and all(
            np.array_equal(one.outputs[n], other[n], equal_nan=_has_nan(other[n])) for n in other
        )
        for one, other in zip(done, outputs, strict=False)
    )
    cycles = [(s.cpu_instructions or 0) + (s.npu_pmu or {}).get("cycles", 0) for s in done]
    return max(cycles), is_equal


def _has_nan(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bool:
    return bool(array.dtype.kind == "f")


def _figures(
    opened: Opened, measured: "Sequence[Measured]", samples: int
) -> tuple[ElementFigures, ...]:
    from ethosgen.project import open_project

    manifest, figures = opened.manifest, []
    for k, (element, one) in enumerate(zip(manifest.elements, measured, strict=True)):
        qemu = open_project(opened.directory / element.name).board.run.qemu
        assert qemu is not None  # it ran there
        report = one.report
        per_cycle = one.hello.ticks_hz * qemu.instruction_ns / _NANOSECONDS * samples
        sends = opened.stages[k].sends
        wire = 0.0
        if k < len(manifest.links):
            wire = frame_bytes(opened.graph, sends) / manifest.links[k][0] * element.clock_hz
        receive = report.receive_ticks + report.interrupt_ticks
        figures.append(
            ElementFigures(
                name=element.name,
                board=element.board,
                clock_hz=element.clock_hz,
                estimated=element.cycles,
                cpu=round(report.run_ticks / per_cycle),
                npu=round(report.npu_cycles / samples),
                receive=round(receive / per_cycle),
                send=round(report.send_ticks / per_cycle),
                wire=round(wire),
                sent_bytes=tensor_bytes(opened.graph, sends),
                stack_bytes=report.stack_bytes,
            )
        )
    return tuple(figures)


def _times(figures: Sequence[ElementFigures], manifest: Manifest) -> list[Times]:
    latencies = [*(latency for _, latency in manifest.links), 0.0]
    return [
        Times(
            (one.receive + one.cpu + one.npu) / one.clock_hz,
            max(one.send, one.wire) / one.clock_hz,
            latency,
        )
        for one, latency in zip(figures, latencies, strict=True)
    ]
