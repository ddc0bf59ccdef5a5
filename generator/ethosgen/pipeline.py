"""The flow, joined: read, offload, compile, render, build, run, compare.

    .tflite ──▶ Model ──▶ OffloadPlan ──▶ Program ──▶ Project ──▶ ELF ──▶ Outcome ──▶ Report

Every function takes a Watch, which times the stages and tells the user where the work is.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ethosgen.accelerator import DEFAULT_NPU, NO_NPU, Accelerator, find_accelerator
from ethosgen.board import Board, Placement, VelaOptions, load_board
from ethosgen.errors import InputError
from ethosgen.flatbuffer import is_compiled, parse_model, read_model
from ethosgen.model import Model, Tensor
from ethosgen.naming import check_name, name_from_file
from ethosgen.outcome import Arrays, Comparison, compare
from ethosgen.plan import IoStyle, OffloadMode, OffloadPlan, Partition
from ethosgen.program import Program
from ethosgen.report import Report
from ethosgen.samples import load_samples, save_samples
from ethosgen.watch import Watch

if TYPE_CHECKING:
    from ethosgen.npu.trace import Trace
    from ethosgen.outcome import Outcome
    from ethosgen.project_info import ProjectInfo
    from ethosgen.target import Attach, Line, SharedMemory
    from ethosgen.toolchain import Built


@dataclass(frozen=True)
class Inputs:
    """Where samples come from: a file, or `count` random ones from `seed`."""

    path: Path | None
    count: int
    seed: int


@dataclass(frozen=True)
class Written:
    """A project on disk: `files` are those that this call wrote, none if it was up to date."""

    directory: Path
    files: frozenset[str]
    plan: OffloadPlan
    program: Program


def read(path: Path, name: str | None, watch: Watch) -> Model:
    """Read a network and give it a name that C accepts."""
    chosen = check_name(name) if name is not None else name_from_file(path.stem)
    with watch.stage("read", f"reading {path.name}"):
        model = read_model(path)
    return Model(chosen, model.data, model.graphs, model.metadata)


def choose_npu(model: Model, npu: str | None) -> str | None:
    """Return the NPU that the user or a compiled file names, None if neither does."""
    if npu is not None or not is_compiled(model):
        return npu
    from ethosgen.offload import compiled_for

    return compiled_for(model).name


def choose_accelerator(model: Model, npu: str | None, board: Board | None) -> Accelerator | None:
    """Return the NPU to compile for: the named one, else the file's, else the board's.

    None for NO_NPU, where all runs on the CPU. InputError if the board has no such NPU.
    """
    name = choose_npu(model, npu)
    if name == NO_NPU:
        return None
    return board.accelerator(name) if board else find_accelerator(name or DEFAULT_NPU)


def make_plan(
    model: Model,
    accelerator: Accelerator | None,
    io: IoStyle,
    watch: Watch,
    cpu_ops: Sequence[str] = (),
    vela: VelaOptions | None = None,
    mode: str = "all",
) -> OffloadPlan:
    """Let Vela decide what the NPU runs; `cpu_ops` names operators that it must leave.

    `vela` says what memories the board has, `mode` is an OffloadMode. Without an accelerator there
    is nothing to decide.
    """
    from ethosgen.aot import can_run
    from ethosgen.offload import Schedule, offload

    what = f"compiling for {accelerator.name} (Vela)" if accelerator else "planning for the CPU"
    with watch.stage("offload", what):
        if vela is None:
            wanted = OffloadMode(mode)
            return offload(model, accelerator, io, ignore=cpu_ops, mode=wanted, can_run=can_run)
        return offload(
            model,
            accelerator,
            io,
            ignore=cpu_ops,
            system_config=vela.system_config,
            memory_mode=vela.memory_mode,
            schedule=Schedule(arena_bytes=vela.arena_cache_bytes),
            mode=OffloadMode(mode),
            can_run=can_run,
        )


def make_program(plan: OffloadPlan, watch: Watch) -> Program:
    """Let TVM compile the rest to C."""
    with watch.stage("aot", "compiling for the CPU (TVM)"):
        from ethosgen.aot import compile_program

        return compile_program(plan, plan.model.name)


def choose_samples(model: Model, inputs: Inputs) -> list[Arrays]:
    """Load the user's samples, or make random ones."""
    from ethosgen.reference import random_samples

    if inputs.path is not None:
        return load_samples(inputs.path, model.inputs)
    return random_samples(model, inputs.count, inputs.seed)


def judge(
    model: Model,
    samples: Sequence[Arrays],
    outputs: Sequence[Arrays],
    watch: Watch,
    original: Path | None = None,
) -> tuple[Comparison | None, Comparison | None]:
    """Compare outputs with TFLite Micro's, which decide, and with LiteRT's.

    `original` is the network to ask instead of `model`: what a compiled file was made from. Without
    it a compiled file has no golden answer.
    """
    from ethosgen.reference import golden_outputs, second_opinion

    if original is not None:
        theirs = read_model(original)
        if is_compiled(theirs):
            raise InputError(f"'{original}' is compiled too; the network before Vela is needed")
        samples = _renamed(samples, model.inputs, theirs.inputs, theirs)
        outputs = _renamed(outputs, model.outputs, theirs.outputs, theirs)
        model = theirs
    if is_compiled(model):
        return None, None
    with watch.stage("reference", "asking TFLite Micro and LiteRT"):
        golden = golden_outputs(model, samples)
        second = second_opinion(model, samples)
    return (
        compare("tflm", list(outputs), golden),
        compare("litert", list(outputs), second) if second is not None else None,
    )


def _renamed(
    samples: Sequence[Arrays], ours: Sequence[Tensor], theirs: Sequence[Tensor], original: Model
) -> list[Arrays]:
    """Call tensors as the original does: Vela keeps their order, but not always their names."""
    if [(t.shape, t.dtype) for t in ours] != [(t.shape, t.dtype) for t in theirs]:
        raise InputError(
            f"'{original.name}' is not what this network was compiled from: it has other inputs or "
            "outputs"
        )
    pairs = [(ours.name, theirs.name) for ours, theirs in zip(ours, theirs, strict=True)]
    return [{new: sample[old] for old, new in pairs if old in sample} for sample in samples]


def simulate(
    path: Path,
    *,
    npu: str | None,
    inputs: Inputs,
    output_path: Path | None = None,
    cpu_ops: Sequence[str] = (),
    offload: str = "all",
    original: Path | None = None,
    trace: "Trace | None" = None,
    watch: Watch,
) -> Report:
    """Run a network with its partitions on the functional model, in process.

    `trace` is told of every operation of the NPU.
    """
    model = read(path, None, watch)
    accelerator = choose_accelerator(model, npu, None)
    samples = choose_samples(model, inputs)
    plan = make_plan(model, accelerator, IoStyle.ARENA, watch, cpu_ops, mode=offload)
    outputs = _simulate_samples(plan, samples, trace, watch)
    if output_path is not None:
        save_samples(output_path, outputs)
    golden, second = judge(model, samples, outputs, watch, original)
    return Report(
        model=model.name,
        board=None,
        on="simulate",
        plan=plan.summary(),
        samples=len(samples),
        golden=golden,
        second=second,
        ended=True,
        wall_s=watch.wall_s,
    )


def _simulate_samples(
    plan: OffloadPlan, samples: Sequence[Arrays], trace: "Trace | None", watch: Watch
) -> list[Arrays]:
    from ethosgen.aot import evaluate
    from ethosgen.npu.host import PartitionRunner

    what = "running the NPU model" if plan.accelerator else "running on this machine"
    with watch.stage("load", "preparing the NPU model"):
        runner = PartitionRunner(plan, trace) if plan.accelerator else _no_npu
    outputs = []
    with watch.stage("simulate", what):
        for index, sample in enumerate(samples):
            watch.say(f"{what}: sample {index + 1} of {len(samples)}")
            if trace is not None:
                trace.begin_sample()
            outputs.append(evaluate(plan, sample, runner))
    if trace is not None:
        trace.check_dumps()
    return outputs


def _no_npu(partition: Partition, _inputs: Arrays) -> Arrays:
    raise ValueError(f"{partition.name} in a plan without an NPU")


def create_project(
    path: Path,
    board_name: str,
    *,
    npu: str | None = None,
    name: str | None = None,
    directory: Path | None = None,
    io: str = "arena",
    cpu_ops: Sequence[str] = (),
    offload: str = "all",
    platform: str = "baremetal",
    memory_mode: str | None = None,
    with_ci: bool = False,
    watch: Watch,
) -> Written:
    """Render a project into `directory`, by default one of the network's name."""
    from ethosgen.project import render, write

    board = load_board(board_name)
    if npu not in (None, NO_NPU):
        board.accelerator(npu)
    model = read(path, name, watch)
    accelerator = choose_accelerator(model, npu, board)
    mode = board.choose_memory_mode(memory_mode, accelerator)
    vela = board.vela_options(mode, accelerator) if accelerator else None
    plan = make_plan(model, accelerator, IoStyle(io), watch, cpu_ops, vela, offload)
    program = _make_program(plan, board.placement(mode), watch)
    place = directory or Path(model.name)
    with watch.stage("render", f"writing the project to {place}"):
        project = render(program, board, platform=platform, memory_mode=mode, with_ci=with_ci)
        files = write(project, place)
    return Written(place, files, plan, program)


def _make_program(plan: OffloadPlan, placement: Placement, watch: Watch) -> Program:
    """Compile, with fast scratch outside the arena where it has a memory of its own."""
    if placement.fast is None:
        return make_program(plan, watch)
    program = make_program(replace(plan, scratch_fast_bytes=0), watch)
    return replace(program, plan=plan)


def _check_target(board: Board, on: str) -> None:
    """Refuse a simulator that the board file does not have, before anything is compiled for it."""
    if on in ("qemu", "fvp") and getattr(board.run, on) is None:
        able = [name for name in ("qemu", "fvp") if getattr(board.run, name)] + ["serial"]
        raise InputError(
            f"board '{board.name}' does not run on {on}; choose --on {' or '.join(able)}"
        )


def build_project(directory: Path, *, on: str = "qemu", watch: Watch) -> "Built":
    """Compile a project for a target."""
    from ethosgen.project import ZEPHYR, open_project
    from ethosgen.target import way_of
    from ethosgen.toolchain import build, build_zephyr

    info, way = open_project(directory), way_of(on)
    _check_target(info.board, on)
    if info.platform == ZEPHYR:
        with watch.stage("build", "compiling the application (Zephyr)"):
            return replace(build_zephyr(info, way), on=on)
    with watch.stage("build", "compiling the firmware (arm-none-eabi-gcc)"):
        return replace(build(directory, way), on=on)


def run_project(
    directory: Path,
    *,
    on: str = "qemu",
    inputs: Inputs,
    output_path: Path | None = None,
    original: Path | None = None,
    build: Path | None = None,
    line: "Line | None" = None,
    watch: Watch,
) -> Report:
    """Run a built project on a target, and compare its outputs with the golden ones."""
    from ethosgen.project import ZEPHYR, open_project
    from ethosgen.target import way_of
    from ethosgen.toolchain import find_built, find_zephyr

    info, way = open_project(directory), way_of(on)
    is_zephyr = info.platform == ZEPHYR
    built = find_zephyr(info, way, build) if is_zephyr else find_built(directory, way)
    with watch.stage("read", "reading the project's network"):
        model = parse_model(info.model_path.read_bytes(), info.name)
    built = replace(built, on=on)
    return _run_and_judge(model, info, built, inputs, output_path, original, watch, line)


def verify(
    path: Path,
    board_name: str,
    *,
    npu: str | None = None,
    on: str = "qemu",
    io: str = "arena",
    cpu_ops: Sequence[str] = (),
    offload: str = "all",
    platform: str = "baremetal",
    memory_mode: str | None = None,
    inputs: Inputs,
    original: Path | None = None,
    line: "Line | None" = None,
    flasher: str | None = None,
    watch: Watch,
) -> Report:
    """Do all of it in a temporary directory: does this network work on this board?"""
    from ethosgen.project import open_project

    _check_target(load_board(board_name), on)
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as temporary:
        directory = Path(temporary) / "project"
        written = create_project(
            path,
            board_name,
            npu=npu,
            directory=directory,
            io=io,
            cpu_ops=cpu_ops,
            offload=offload,
            platform=platform,
            memory_mode=memory_mode,
            watch=watch,
        )
        built = build_project(directory, on=on, watch=watch)
        info = open_project(directory)
        if flasher is not None:
            flash_project(directory, tool=flasher, watch=watch)
        return _run_and_judge(written.plan.model, info, built, inputs, None, original, watch, line)


def flash_project(directory: Path, *, tool: str | None = None, watch: Watch) -> Path:
    """Write a project's firmware, built for its board, to the board; return the ELF."""
    from ethosgen.project import ZEPHYR, open_project
    from ethosgen.target.flasher import flash
    from ethosgen.toolchain import find_built

    info = open_project(directory)
    if info.platform == ZEPHYR:
        raise InputError(f"'{directory}' is a Zephyr application; flash it by: west flash")
    elf = find_built(directory, "board").elf
    with watch.stage("flash", f"flashing {info.board.name}"):
        flash(elf, info.board, tool)
    return elf


def _run_and_judge(
    model: Model,
    info: "ProjectInfo",
    built: "Built",
    inputs: Inputs,
    output_path: Path | None,
    original: Path | None,
    watch: Watch,
    line: "Line | None" = None,
) -> Report:
    from ethosgen.target import run

    samples = choose_samples(model, inputs)
    with watch.stage("run", f"running on {built.on}"):
        outcome = run(
            built.elf,
            info,
            samples,
            on=built.on,
            attach=None if info.npu == NO_NPU else attach_model(find_accelerator(info.npu)),
            line=line,
            progress=_tell_samples(watch, built.on),
        )
    outputs = [sample.outputs for sample in outcome.samples]
    if output_path is not None:
        save_samples(output_path, outputs)
    golden, second = judge(model, samples, outputs, watch, original)
    return Report(
        **_counters(outcome),
        model=model.name,
        plan=info.summary,
        board=info.board.name,
        on=built.on,
        samples=len(samples),
        golden=golden,
        second=second,
        ended=outcome.ended,
        flash_bytes=built.sizes.flash,
        ram_bytes=built.sizes.ram,
        library_bytes=built.sizes.library,
        wall_s=watch.wall_s,
    )


def attach_model(accelerator: Accelerator) -> "Attach":
    """Return what puts the functional model behind a target's register page."""
    from ethosgen.npu.machine import Machine
    from ethosgen.npu.memory import Bus, Segment
    from ethosgen.npu.registers import RegisterFile

    def attach(
        page: np.ndarray[Any, np.dtype[np.uint32]],
        memories: "Sequence[SharedMemory]",
        raise_irq: Callable[[], None],
    ) -> RegisterFile:
        segments = [Segment(m.start_addr, m.memory, m.writable, m.name) for m in memories]
        registers = RegisterFile(page, Machine(accelerator, Bus(segments)), raise_irq)
        registers.power_on()
        return registers

    return attach


def serve_npu(requests: BinaryIO, answers: BinaryIO) -> None:
    """Run the NPU's model for an application of Zephyr's native_sim, until it is gone."""
    from ethosgen.npu.server import serve

    serve(requests, answers)


def _counters(outcome: "Outcome") -> dict[str, Any]:
    """Return the worst of each counter over the samples."""

    def worst(values: list[int | None]) -> int | None:
        return max((v for v in values if v is not None), default=None)

    samples = outcome.samples
    return {
        "cpu_instructions": worst([s.cpu_instructions for s in samples]),
        "init_instructions": worst([s.init_instructions for s in samples]),
        "stack_bytes": worst([s.stack_bytes for s in samples]),
        "npu_pmu": _largest([s.npu_pmu for s in samples if s.npu_pmu]),
    }


def _largest(figures: Sequence[Mapping[str, int]]) -> dict[str, int] | None:
    """Return the largest of each figure; not every sample has all, as runs take turns."""
    names = dict.fromkeys(name for one in figures for name in one)
    return {name: max(one.get(name, 0) for one in figures) for name in names} or None


def _tell_samples(watch: Watch, on: str) -> Callable[[int, int], None]:
    def tell(done: int, count: int) -> None:
        watch.say(f"running on {on}: {done} of {count} samples")

    return tell
