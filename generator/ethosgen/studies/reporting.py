"""Gathers one network's report: plan, program, a run, and the NPU model's record of its work."""

import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.aot.times import stored_time
from ethosgen.backend import (
    compiler_of,
    load_wrapped,
    require_simulator,
)
from ethosgen.board import Board, load_board
from ethosgen.board.any_board import any_board
from ethosgen.flow.advice import cpu_estimates, thorough_advice, timelines_of
from ethosgen.flow.costs import Place, model_cycles
from ethosgen.flow.coverage import require_coverage
from ethosgen.flow.creation import create_project
from ethosgen.flow.firmware import build_project
from ethosgen.flow.firmware_run import RunOptions, run_and_judge
from ethosgen.flow.lowered import with_accelerators
from ethosgen.flow.planning import (
    PlanSettings,
    choose_accelerator,
    choose_npu,
    read,
)
from ethosgen.host.file_errors import require_writable
from ethosgen.platforms import find_platform
from ethosgen.report.assembly import Observed, assemble
from ethosgen.report.content import NetworkReport, ReportSetting
from ethosgen.report.exports import MARKS, node_data, perfetto_trace
from ethosgen.report.page import GENERATOR, render_page
from ethosgen.report.quality import read_quality
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.errors import InputError, cannot_write
from ethosgen.values.network import Network
from ethosgen.values.outcome import constant_outputs
from ethosgen.values.plan import Plan
from ethosgen.values.profile import Profile
from ethosgen.values.program import Program
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.time import CpuTime
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.fidelity import measure_fidelity, require_runtime
from ethosgen.verdict.golden_file import require_inputs
from ethosgen.verdict.judgement import USUAL, Criteria, Inputs, choose_samples, judge, with_examples

if TYPE_CHECKING:
    from ethosgen.targets import Line

SIMULATE = "simulate"
"""Runs the network on this machine, without firmware."""
_QEMU = "qemu"


_MARKS = (f'<meta name="generator" content="{GENERATOR}', *MARKS)
_START_BYTES = 4096
"""Bytes at the start of a file, in which a mark shows that it is ours."""

DRAWN = Inputs(None, None, 0)
"""Random samples, in the default number."""


@dataclass(frozen=True)
class ReportRequest:
    """What to report: a recipe of one network, its target and samples, and the user's command.

    `on` is a target, SIMULATE, or None: QEMU if it has the recipe's board, otherwise SIMULATE.
    `quality` are files of --json of `accuracy` and `quantize` about the same network. `coverage`
    also measures the part of the generated C that the samples reach.
    """

    recipe: Recipe
    on: str | None = None
    inputs: Inputs = DRAWN
    criteria: Criteria = USUAL
    line: "Line | None" = None
    command: str = ""
    quality: Sequence[Path] = ()
    coverage: bool = False


def make_report(asked: ReportRequest, watch: Watch) -> NetworkReport:
    """Plan and run a network; return its report."""
    asked = replace(asked, recipe=with_accelerators(asked.recipe))
    recipe = asked.recipe
    if len(recipe.networks) != 1:
        raise InputError(
            f"a report is about one network but got {len(recipe.networks)}; run it once for each"
        )
    file = recipe.networks[0]
    names = (file.name, file.stem, *recipe.names[:1])
    quality = read_quality(asked.quality, names)
    on = asked.on or _usual_target(recipe)
    require_inputs(asked.criteria.golden, asked.inputs.are_given)
    if on == SIMULATE and asked.coverage:
        raise InputError(
            "--coverage counts in a firmware on QEMU; name a board that QEMU has with --board"
        )
    if on == SIMULATE:
        board = _board(recipe) if recipe.board else any_board()
        network, program, report = _simulated(asked, board, watch)
    else:
        if recipe.board is None:
            raise InputError(f"--on {on} runs firmware for a board; name it with --board")
        board = _board(recipe)
        network, program, report = _measured(asked, on, watch)
    with watch.phase("report", "looking at the NPU's work"):
        setting = _setting(recipe, board, program.plan, on)
        report = replace(report, advice=thorough_advice(program, _place(recipe, board, program)))
        seen = Observed(
            asked.command,
            network,
            program,
            timelines_of(program.plan),
            cpu_estimates(program.plan, board.cpu.core),
            report,
            setting,
        )
        return replace(assemble(seen), quality=quality, coverage=report.coverage)


def _board(recipe: Recipe) -> Board:
    """Return the recipe's board in the recipe's security state."""
    assert recipe.board is not None
    return load_board(recipe.board).in_state(recipe.security)


def _usual_target(recipe: Recipe) -> str:
    from ethosgen.targets import default_target

    if recipe.board is None:
        return SIMULATE
    board = _board(recipe).for_platform(recipe.platform)
    return _QEMU if default_target(board) == _QEMU else SIMULATE


def _simulated(asked: ReportRequest, board: Board, watch: Watch) -> tuple[Network, Program, Report]:
    """Plan and compile a network, and run samples on this machine."""
    recipe = asked.recipe
    name = recipe.names[0] if recipe.names else None
    network = read(recipe.networks[0], name, watch, recipe.reading)
    accelerator = _accelerator(network, recipe, board)
    if accelerator is not None:
        require_simulator(accelerator)
    require_runtime([network], asked.criteria)
    wrapped = [load_wrapped(accelerator) for accelerator in recipe.accelerators]
    mode = board.choose_memory_mode(recipe.memory_mode, accelerator)
    settings = PlanSettings(accelerator, recipe.options, recipe.io, wrapped).on(board, mode)
    program = Place(network, board, mode, settings).compiled(watch)
    plan = program.plan
    inputs, criteria = with_examples(network, asked.inputs, asked.criteria)
    samples = choose_samples(network, inputs)
    outputs = simulate_samples(plan, samples, watch)
    criteria = replace(criteria, oracle=recipe.options.oracle, steps=plan.steps)
    golden, second = judge(network, samples, outputs, watch, criteria)
    report = Report(
        network=network.name,
        board=recipe.board,
        on=SIMULATE,
        plan=program.summary(),
        samples=len(samples),
        drawn=inputs.drawn(network, len(samples)),
        golden=golden,
        second=second,
        fidelity=measure_fidelity(network, samples, outputs, criteria, watch),
        ended=True,
        constant=constant_outputs(samples, outputs),
        cpu_time=_stored_time(plan, board) if recipe.board else None,
        model_cycles=model_cycles(plan),
        npu_hz=board.npu.clock_hz if recipe.board and board.npu else None,
    )
    return network, program, report


def _stored_time(plan: Plan, board: Board) -> CpuTime | None:
    start = compiler_of(plan.accelerator).start_cycles if plan.accelerator else 0
    return stored_time(plan, board.cpu.core, board.cpu.clock_hz, start)


def _accelerator(network: Network, recipe: Recipe, board: Board) -> Accelerator | None:
    """Return the NPU; without a board, the named one, the file's, or the default."""
    named = board if recipe.board else None
    return choose_accelerator(network, choose_npu(network, recipe.npu), named)


def _place(recipe: Recipe, board: Board, program: Program) -> Place:
    """Return the program's network and board with the recipe's settings."""
    plan, wrapped = program.plan, [load_wrapped(name) for name in recipe.accelerators]
    mode = board.choose_memory_mode(recipe.memory_mode, plan.accelerator)
    settings = PlanSettings(plan.accelerator, recipe.options, recipe.io, wrapped).on(board, mode)
    return Place(plan.original, board, mode, settings)


def _measured(asked: ReportRequest, on: str, watch: Watch) -> tuple[Network, Program, Report]:
    """Build and run the firmware, and again with counters, which have a size and a time."""
    from ethosgen.project import open_project

    if asked.coverage:
        require_coverage(asked.recipe.platform, on)
    counts = not find_platform(asked.recipe.platform).profile_remedy
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as temporary:
        directory = Path(temporary) / "project"
        (program,) = create_project(asked.recipe, directory=directory, watch=watch).programs
        network, info = program.plan.original, open_project(directory)
        options = RunOptions(asked.inputs, asked.criteria, line=asked.line, coverage=asked.coverage)

        def run(options: RunOptions) -> Report:
            built = build_project(directory, on=on, profile=options.profile, watch=watch)
            report = run_and_judge({0: network}, info, built, options, watch)
            assert isinstance(report, Report)  # of one network
            return report

        report = run(options)
        if counts:
            counted = run(replace(options, profile=True, coverage=False))
            report = report if counted.passed or not report.passed else counted
            report = replace(report, profile=counted.profile)
    return network, program, _with_profile(report, program)


def _with_profile(report: Report, program: Program) -> Report:
    """Return the report, without the profile if its number of steps differs from the program's."""
    profile: Profile | None = report.profile
    if profile is not None and len(profile.steps) != len(program.steps):
        return replace(report, profile=None)
    return report


def _setting(recipe: Recipe, board: Board, plan: Plan, on: str) -> ReportSetting:
    compiler = ""
    cpu_hz = board.cpu.clock_hz if recipe.board else None
    npu_hz = board.npu.clock_hz if recipe.board and board.npu else None
    if plan.accelerator is not None:
        by = compiler_of(plan.accelerator)
        compiler = f"{by.compiler} {by.compiler_version()}".strip()
        if plan.is_precompiled:
            compiler = "compiled before"
    return ReportSetting(
        npu=plan.npu,
        board=recipe.board,
        processor=board.cpu.core,
        clock_hz=npu_hz if plan.accelerator else cpu_hz,
        cpu_clock_hz=cpu_hz,
        memory_mode=board.choose_memory_mode(recipe.memory_mode, plan.accelerator),
        io=plan.io.value,
        platform=recipe.platform if recipe.board else None,
        offload=plan.options.mode.value,
        compiler=compiler,
        on=on,
        board_on_qemu=recipe.board is not None and board.on_qemu is not None,
        doubts=tuple(board.clock_doubts("cpu", "npu")) if recipe.board else (),
    )


@dataclass(frozen=True)
class Files:
    """The files to write, None for those that were not requested.

    With `force` they replace any file, otherwise only files that `ethosgen report` wrote.
    """

    page: Path | None = None
    perfetto: Path | None = None
    explorer: Path | None = None
    force: bool = False

    @property
    def wanted(self) -> tuple[Path, ...]:
        """The files in the order in which they are written."""
        return tuple(p for p in (self.page, self.perfetto, self.explorer) if p is not None)

    def require(self) -> None:
        """Raise InputError if a file cannot be written, or must not be replaced."""
        if len({path.absolute() for path in self.wanted}) < len(self.wanted):
            raise InputError("two results have the same file; name one for each")
        for path in self.wanted:
            if path.is_dir():
                raise InputError(f"'{path}' is a folder; name a file")
            if path.exists() and not self.force and not is_ours(path):
                raise InputError(
                    f"'{path}' exists, and ethosgen report did not write it; name another file, or "
                    "replace it with --force"
                )
            require_writable(path.parent)


def is_ours(path: Path, marks: Sequence[str] = _MARKS) -> bool:
    """Return whether a file begins like those that we write, with one of `marks`."""
    try:
        with path.open("rb") as file:
            start = file.read(_START_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    return any(mark in start for mark in marks)


def write_report(report: NetworkReport, files: Files) -> list[Path]:
    """Write the page and the other requested files; return the files."""
    texts = {
        files.page: lambda: render_page(report),
        files.perfetto: lambda: json.dumps(perfetto_trace(report), indent=1) + "\n",
        files.explorer: lambda: json.dumps(node_data(report), indent=1) + "\n",
    }
    for path in files.wanted:
        write_page(path, texts[path]())
    return list(files.wanted)


def write_page(path: Path, text: str) -> None:
    """Write a file atomically, because it may replace one."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, "utf-8")
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise cannot_write(path, error) from None
