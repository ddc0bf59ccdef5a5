"""A network's firmware: rendered, built, flashed, run and judged."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethosgen.accelerator import NO_NPU, find_accelerator
from ethosgen.board import Board, Placement, load_board
from ethosgen.errors import InputError
from ethosgen.flatbuffer import parse_model
from ethosgen.model import Model
from ethosgen.pipeline.judgement import Inputs, choose_samples, judge
from ethosgen.pipeline.npu_model import attach_model
from ethosgen.pipeline.planning import choose_accelerator, make_plan, make_program, read
from ethosgen.plan import IoStyle, OffloadPlan
from ethosgen.program import Program
from ethosgen.report import Report
from ethosgen.samples import save_samples
from ethosgen.watch import Watch

if TYPE_CHECKING:
    from ethosgen.outcome import Outcome
    from ethosgen.project_info import ProjectInfo
    from ethosgen.target import Attach, Line
    from ethosgen.toolchain import Built


@dataclass(frozen=True)
class Written:
    """A project on disk: `files` are those that this call wrote, none if it was up to date."""

    directory: Path
    files: frozenset[str]
    plan: OffloadPlan
    program: Program


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
    from ethosgen.project import CSOLUTION, ZEPHYR, open_project
    from ethosgen.target import way_of
    from ethosgen.toolchain import build, build_csolution, build_zephyr

    info, way = open_project(directory), way_of(on)
    _check_target(info.board, on)
    if info.platform == ZEPHYR:
        with watch.stage("build", "compiling the application (Zephyr)"):
            return replace(build_zephyr(info, way), on=on)
    if info.platform == CSOLUTION:
        with watch.stage("build", "compiling the solution (cbuild)"):
            return replace(build_csolution(directory, way), on=on)
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
            attach=_model_for(info, built.on),
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


def _model_for(info: "ProjectInfo", on: str) -> "Attach | None":
    """Return what attaches the functional model, None where there is no NPU or a real one."""
    from ethosgen.target import way_of

    if info.npu == NO_NPU or way_of(on) == "board":
        return None
    return attach_model(find_accelerator(info.npu))


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
