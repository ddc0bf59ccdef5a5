"""Builds, flashes, runs and judges firmware."""

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.board import Board, board_names, load_board
from ethosgen.flow.application import NO_FILES, Feed, OnLine, run_and_compare
from ethosgen.flow.coverage import require_coverage
from ethosgen.flow.creation import create_project
from ethosgen.flow.firmware_run import RunOptions, run_and_judge, run_samples
from ethosgen.flow.lowered import with_accelerators
from ethosgen.flow.models import require_models, target_for
from ethosgen.flow.planning import read_stored
from ethosgen.flow.profiling import require_counter, require_option
from ethosgen.flow.proof import prove
from ethosgen.flow.self_test import require_self_test
from ethosgen.host.file_errors import require_writable
from ethosgen.platforms import find_platform
from ethosgen.values.application import ApplicationReport
from ethosgen.values.configurations import SramChoice
from ethosgen.values.errors import CapacityError, InputError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.source import AS_GIVEN
from ethosgen.values.watch import Watch
from ethosgen.verdict.golden_file import require_inputs
from ethosgen.verdict.trial import Trial, question_of

if TYPE_CHECKING:
    from ethosgen.project.info import ProjectInfo
    from ethosgen.targets import Line
    from ethosgen.toolchain import Built

_PASSES = 2
"""The second only if the user's sources name the stack's bound, which the first one finds."""


def _check_target(board: Board, on: str, platform: str, accelerators: Sequence[Path | str]) -> None:
    """Refuse a target that cannot run the firmware, before anything is compiled for it."""
    from ethosgen.targets import require_target, targets_of

    kind = require_target(on)
    if kind.platform not in (None, platform):
        raise InputError(
            f"--on {on} needs a {kind.platform.capitalize()} application; use another --on, or "
            f"--platform {kind.platform}"
        )
    if not kind.can_run(board):
        raise InputError(
            f"board '{board.name}' does not run on {on}; choose --on "
            f"{' or '.join(targets_of(board))}{_without_stand_in(board, on, platform)}"
        )
    require_models(accelerators, board, on)


def _without_stand_in(board: Board, on: str, platform: str) -> str:
    """Return the board to use instead of one whose stand-in only bare metal supports, if any."""
    facts = load_board(board.name) if board.name in board_names() else board
    name = facts.run.stand_in if on == "qemu" else None
    if name is None or platform not in load_board(name).platforms:
        return ""
    npu = f" --npu {facts.npu.default}" if facts.npu else ""
    return (
        f", or run the network on QEMU with --board {name}{npu}, whose firmware stands in for this "
        "board's on bare metal only"
    )


def _open_application(directory: Path) -> "ProjectInfo":
    """Read a project with an application; InputError for a library alone."""
    from ethosgen.project import open_project

    info = open_project(directory)
    if not find_platform(info.platform).is_built:
        raise InputError(
            f"'{directory}' is a library without an application: add {directory}/model to your own "
            f"CMake project, as {directory}/README.md shows, or create a firmware with: "
            "ethosgen project with another --platform"
        )
    return info


def build_project(
    directory: Path,
    *,
    on: str | None = None,
    profile: bool = False,
    self_test: bool = False,
    watch: Watch,
) -> "Built":
    """Compile a project for a target, by default the first that runs its board and has its devices.

    With `profile` the firmware counts each step of its networks, with `self_test` it runs their
    self-tests when it starts.
    """
    from ethosgen.project import link_remedy
    from ethosgen.targets import require_target
    from ethosgen.toolchain import BuildSwitches, digest_sources, lock_build, stamp, toolchain_of

    info = _open_application(directory)
    on = on or target_for(info)
    way = require_target(on).variant
    _check_target(info.board, on, info.platform, info.accelerators)
    if profile:
        require_counter(info, on)
        require_option(info)
    if self_test:
        require_self_test(info)
    require_writable(info.directory / "build", "copy the project to a writable place")
    try:
        with lock_build(directory, watch):
            for _ in range(_PASSES):
                sources = digest_sources(info.directory)  # before: a later change is noticed
                toolchain = toolchain_of(info.platform)
                with watch.phase("build", toolchain.doing):
                    built = replace(
                        toolchain.build(info, way, BuildSwitches(profile, self_test)), on=on
                    )
                for image in filter(None, (built, built.application)):
                    stamp(image.elf, sources)
                built, is_used = prove(info, built, watch)
                if not is_used:
                    break
            return built
    except CapacityError as error:
        remedy = link_remedy(info, way, error.overflows)
        raise CapacityError(f"{error}; {remedy}", error.overflows) from None


def run_project(
    directory: Path,
    options: RunOptions,
    *,
    on: str | None = None,
    network: str | None = None,
    build: Path | None = None,
    watch: Watch,
) -> Report | FirmwareReport:
    """Run a built project on a target, and compare its outputs with the golden outputs.

    All its networks run in turn, or only `network`; with several, each has a Report. With
    `options.profile` each Report has the cost of each step, if the firmware was built for it.
    """
    info, on = open_built(directory, on)
    if options.profile:
        require_counter(info, on)
    chosen = range(len(info.networks)) if network is None else [info.index(network)]
    _check_one(len(chosen), options, "choose one with --network")
    built = find_firmware(info, on, build)
    networks = {index: read_stored(info.networks[index], watch) for index in chosen}
    return run_and_judge(networks, info, built, options, watch)


def open_built(directory: Path, on: str | None) -> "tuple[ProjectInfo, str]":
    """Read a project that is to run on a target; return it, and the target or the default one.

    InputError for a library alone, or a target that does not run the project.
    """
    from ethosgen.targets import default_target

    info = _open_application(directory)
    on = on or default_target(info.board)
    _check_target(info.board, on, info.platform, info.accelerators)
    return info, on


def find_firmware(info: "ProjectInfo", on: str, build: Path | None = None) -> "Built":
    """Return the firmware that was built for a target; InputError if it is missing or out of date.

    `build` is west's build directory, if it is not in the project.
    """
    from ethosgen.targets import require_target
    from ethosgen.toolchain import require_fresh, toolchain_of

    way = require_target(on).variant
    built = toolchain_of(info.platform).find(info, way, build, on)
    require_fresh(built.elf, info.directory, on)
    return replace(built, on=on)


def run_app(
    directory: Path,
    *,
    on: str | None = None,
    feed: Feed,
    build: Path | None = None,
    line: "Line | None" = None,
    on_line: OnLine = lambda _line: None,
    watch: Watch,
) -> ApplicationReport:
    """Run a built project's application on a target, and compare its lines."""
    info, on = open_built(directory, on)
    if info.app is None:
        raise InputError(
            f"'{directory}' has no application besides the one that serves inferences, so it takes "
            "no files; run its network on samples with --input, or create a project with --app"
        )
    elf = find_app(info, on, build)
    networks = [read_stored(network, watch) for network in info.networks]
    return run_and_compare(elf, info, networks, feed, on, watch, line, on_line)


def find_app(info: "ProjectInfo", on: str, build: Path | None = None) -> Path:
    """Return the ELF of a built project's application."""
    from ethosgen.targets import require_target
    from ethosgen.toolchain import require_fresh, toolchain_of

    way = require_target(on).variant
    elf = toolchain_of(info.platform).find_application(info, way, build, on).elf
    require_fresh(elf, info.directory, on)
    return elf


def verify(
    recipe: Recipe,
    options: RunOptions,
    *,
    on: str = "qemu",
    flasher: str | None = None,
    feed: Feed = NO_FILES,
    watch: Watch,
) -> Report | FirmwareReport:
    """Run all steps in a temporary directory, to check networks on a board.

    Several networks go into one firmware and run in turn. With `options.profile` it counts each
    step, and with `options.coverage` another one counts the code that it reaches; with
    `options.self_test` it starts only if all self-tests pass. If the recipe has an application, it
    runs on the `feed`, and the report includes the application's.
    """
    from ethosgen.project import open_project

    if recipe.board is None:
        raise InputError("name the board with --board, or use --platform linux")
    remedy = "create a project, and choose one with: ethosgen run --network"
    _check_one(len(recipe.networks), options, remedy)
    board = load_board(recipe.board).in_state(recipe.security)
    accelerators = with_accelerators(recipe).accelerators
    _check_target(board.for_platform(recipe.platform), on, recipe.platform, accelerators)
    if recipe.app is not None and on == "serial":
        raise InputError(
            "verify runs two firmwares with --app, but a board holds one; create a project, flash "
            "its application, and run it with: ethosgen run"
        )
    if recipe.app is None and feed.paths:
        raise InputError("--app-input is for an application; name it with --app")
    if options.coverage:
        require_coverage(recipe.platform, on)
    if flasher is not None and on != "serial":
        raise InputError(f"--flash writes to a board; it needs --on serial instead of --on {on}")
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as temporary:
        directory = Path(temporary) / "project"
        written = create_project(recipe, directory=directory, watch=watch)
        built = build_project(
            directory, on=on, profile=options.profile, self_test=options.self_test, watch=watch
        )
        info = open_project(directory)
        if flasher is not None:
            flash_project(directory, tool=flasher, watch=watch)
        networks = [program.plan.original for program in written.programs]
        part = partial(_try_on_qemu, recipe, options) if on == "qemu" else None
        judged = run_and_judge(dict(enumerate(networks)), info, built, options, watch, part)
        report = _with_choices(judged, written.choices)
        if info.app is None:
            return report
        elf = find_app(info, on)
        application = run_and_compare(elf, info, networks, feed, on, watch, options.line)
        return replace(report, application=application)


def _try_on_qemu(
    recipe: Recipe, options: RunOptions, network: Network, samples: Sequence[Arrays]
) -> Trial:
    """Generate, build and run firmware of a network, or a part of one."""
    from ethosgen.frontend import suffix_of, written
    from ethosgen.project import open_project

    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as temporary:
        source, directory = written(network), Path(temporary) / "project"
        file = Path(temporary) / f"part{suffix_of(source)}"
        file.write_bytes(source.data)
        asked = replace(
            recipe,
            networks=(file,),
            names=(),
            options=replace(recipe.options, check=False),
            reading=AS_GIVEN,
            app=None,
            labels=None,
        )
        (program,) = create_project(asked, directory=directory, watch=watch).programs
        built = build_project(directory, on="qemu", watch=watch)
        outcome = run_samples(samples, open_project(directory), built, options, watch)
    outputs = [sample.outputs for sample in outcome.samples]
    question = question_of(program.plan.original, samples, options.criteria.oracle)
    return Trial(program.plan, question, outputs)


def _with_choices(
    report: Report | FirmwareReport, choices: Sequence[SramChoice]
) -> Report | FirmwareReport:
    """Return a report whose networks have the schedules chosen for an SRAM limit."""
    if not choices:
        return report
    if isinstance(report, Report):
        return replace(report, sram_choice=choices[0])
    each = zip(report.reports, choices, strict=True)
    return replace(
        report, reports=tuple(replace(network, sram_choice=choice) for network, choice in each)
    )


def _check_one(count: int, options: RunOptions, remedy: str) -> None:
    """Refuse options for one network if there are several, and options that need another one."""
    inputs, golden = options.inputs, options.criteria.golden
    require_inputs(golden, inputs.are_given)
    for option, value in (
        ("--input", inputs.path or inputs.arrays),
        ("--output", options.output_path),
        ("--golden", golden),
    ):
        if count > 1 and value is not None:
            raise InputError(f"{option} is for one network, but there are {count}; {remedy}")


def flash_project(
    directory: Path, *, tool: str | None = None, harness: bool = False, watch: Watch
) -> Path:
    """Write a project's firmware to its board, for which it was built; return the ELF.

    This is its application, if it has one, unless `harness` selects the firmware that serves
    inferences.
    """
    from ethosgen.targets.flasher import flash_images
    from ethosgen.toolchain import find_built, require_fresh

    info = _open_application(directory)
    if remedy := find_platform(info.platform).flash_remedy:
        quoted = shlex.quote(str(directory))
        raise InputError(remedy.format(directory=directory, argument=quoted))
    name = "application.elf" if info.app and not harness else "firmware.elf"
    elf = find_built(directory, "board", "serial", name).elf
    require_fresh(elf, directory, "serial", has_weights=True)
    with watch.phase("flash", f"flashing {info.board.name}"):
        flash_images(elf, info.board, tool)
    return elf
