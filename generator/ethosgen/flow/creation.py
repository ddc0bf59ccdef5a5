"""Creates a project on disk from networks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethosgen.applications import TakesRows, find_application
from ethosgen.applications.labels import load_labels
from ethosgen.backend import load_wrapped
from ethosgen.backend.protocol import Wrapped
from ethosgen.board import Board, load_board
from ethosgen.board.any_board import any_board
from ethosgen.flow.advice import with_advice
from ethosgen.flow.costs import Place
from ethosgen.flow.headlines import planned_headline
from ethosgen.flow.lowered import with_accelerators
from ethosgen.flow.models import united_devices
from ethosgen.flow.planning import (
    PlanSettings,
    choose_accelerator,
    choose_common_npu,
    read,
    read_stored,
)
from ethosgen.flow.reserve import stored_scratches
from ethosgen.flow.self_test import with_golden
from ethosgen.flow.sram_limit import fit_together
from ethosgen.platforms import LIBRARY_ONLY, find_platform, names_of
from ethosgen.project import arena_room
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.configurations import SramChoice
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.headline import Headline
from ethosgen.values.naming import joined_name
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle, OffloadOptions
from ethosgen.values.program import Program
from ethosgen.values.recipe import Recipe
from ethosgen.values.schedule import Schedule
from ethosgen.values.security import Security
from ethosgen.values.watch import Watch


@dataclass(frozen=True)
class Written:
    """A project on disk: `files` are the files that this call wrote, none if it was up to date.

    `choices` are the schedules chosen for an SRAM limit, and `headlines` the answers at a glance,
    in the order of `programs`.
    """

    directory: Path
    files: frozenset[str]
    programs: tuple[Program, ...]
    choices: tuple[SramChoice, ...] = ()
    headlines: tuple[Headline, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "directory": str(self.directory),
            "files": sorted(self.files),
            "networks": [
                {
                    "name": program.name,
                    "headline": headline.as_json(),
                    "advice": [piece.as_json() for piece in program.advice],
                    "arena": program.arena.as_json(),
                }
                for program, headline in zip(self.programs, self.headlines, strict=True)
            ],
            "sram_choices": [choice.as_json() for choice in self.choices],
        }


@dataclass(frozen=True)
class _Wanted:
    """A network for a project, and how it is offloaded."""

    network: Network
    options: OffloadOptions


def create_project(
    recipe: Recipe,
    *,
    directory: Path | None = None,
    with_ci: bool = False,
    ci_ethosgen: str | None = None,
    pack: str | None = None,
    watch: Watch,
) -> Written:
    """Generate a project in `directory`, by default named after one of the networks.

    If the project already exists with several networks and the recipe names only some of them, the
    others are generated again as stored. `pack`, VENDOR::NAME@VERSION, makes a CMSIS pack too.
    """
    from ethosgen.project import render, write

    board = _find_board(recipe)
    wrapped = _load_wrapped(recipe, board)
    networks = _read_all(recipe, watch)
    folder = directory or Path(joined_name([network.name for network in networks]))
    wanted = _with_the_others(
        [_Wanted(network, _options_of(recipe)) for network in networks], folder, watch
    )
    networks = [each.network for each in wanted]
    app = _fitting_app(recipe, networks) or _stored_app(folder)
    _require_same_feed(recipe, folder)
    accelerator = choose_accelerator(networks[0], choose_common_npu(networks, recipe.npu), board)
    mode = board.choose_memory_mode(recipe.memory_mode, accelerator)
    settings = PlanSettings(accelerator, recipe.options, recipe.io, wrapped).on(board, mode)
    places = [
        Place(
            each.network,
            board,
            mode,
            replace(settings, options=each.options),
            stored_scratches(folder, each.network) if recipe.apart else None,
        )
        for each in wanted
    ]
    choices: list[SramChoice] = []
    if recipe.sram_limit is None:
        programs = _compiled(places, watch)
    else:
        programs, choices = fit_together(recipe.sram_limit, places, watch)
    programs = [with_golden(program, watch) for program in map(with_advice, programs, places)]
    with watch.phase("render", f"writing the project to {folder}"):
        project = render(
            programs,
            board,
            platform=recipe.platform,
            memory_mode=mode,
            with_ci=with_ci,
            ci_ethosgen=ci_ethosgen,
            app=app,
            labels=_read_labels(recipe, networks),
            pack=pack,
        )
        files = write(project, folder)
    headlines = tuple(map(planned_headline, programs, places))
    return Written(folder, files, tuple(programs), tuple(choices), headlines)


def _compiled(places: Sequence[Place], watch: Watch) -> list[Program]:
    """Compile networks as their options say; by bands of rows if memory is too small otherwise."""
    programs = [place.compiled(watch) for place in places]
    room = arena_room(programs, places[0].board, places[0].mode)
    for number, place in enumerate(places):
        schedule = place.settings.options.schedule
        is_usual = replace(schedule, feed=False, steps=False) == Schedule()
        is_free = place.accelerator is None and is_usual
        if is_free and programs[number].arena_bytes > room > 0:
            programs[number] = place.scheduled(replace(schedule, arena_bytes=room)).compiled(watch)
    return programs


def _options_of(recipe: Recipe) -> OffloadOptions:
    """Return the options; weights that are replaced later must not influence the code."""
    return replace(recipe.options, optimize=False) if recipe.apart else recipe.options


def _fitting_app(recipe: Recipe, networks: Sequence[Network]) -> str | None:
    """Return the application's name, None without one; InputError if something does not fit it."""
    if recipe.app is None:
        return None
    application = find_application(recipe.app)
    if not find_platform(recipe.platform).takes_apps:
        able = " or ".join(names_of(lambda platform: platform.takes_apps))
        raise InputError(
            f"--app {recipe.app} is for --platform {able}, not {recipe.platform}; "
            "choose one of these, or leave out --app"
        )
    if recipe.apart:
        raise InputError(
            f"--app {recipe.app} has its weights in the code; leave out --weights blob, "
            "or --app: the firmware in app/ or src/ then opens the file (docs/weights.md)"
        )
    if recipe.io is not IoStyle.ARENA:
        raise InputError(
            f"--app {recipe.app} writes inputs into the arena; leave out --io {recipe.io.value}"
        )
    if recipe.options.schedule.feed and not isinstance(application, TakesRows):
        raise InputError(
            f"--app {recipe.app} writes whole inputs; leave out --feed, or choose --app image"
        )
    application.check(networks)
    return recipe.app


def _read_labels(recipe: Recipe, networks: Sequence[Network]) -> tuple[str, ...]:
    """Return the names of classes; InputError for a file that does not fit the application."""
    if recipe.labels is None:
        return ()
    wanted = find_application(recipe.app).facts(networks).get("labels") if recipe.app else None
    if wanted is None:
        raise InputError(
            "--app-labels is for an application that names classes, such as --app image"
        )
    return load_labels(recipe.labels, len(wanted))


def _stored_app(directory: Path) -> str | None:
    """Return the application of the existing project."""
    from ethosgen.project import is_project, open_project

    return open_project(directory).app if is_project(directory) else None


def _require_same_feed(recipe: Recipe, directory: Path) -> None:
    """Raise InputError if a kept application gives its input in the other way."""
    from ethosgen.project import is_project, open_project

    info = open_project(directory) if is_project(directory) else None
    if info is None or info.app is None:
        return
    was_fed = any(network.options.schedule.feed for network in info.networks)
    if was_fed != recipe.options.schedule.feed:
        inputs = "by rows" if was_fed else "as whole images"
        option = "add --feed" if was_fed else "leave out --feed"
        raise InputError(
            f"the application in '{directory}', which is yours and kept, gives its "
            f"inputs {inputs}; {option}, or generate a new project with -o"
        )


def _find_board(recipe: Recipe) -> Board:
    """Return the board; InputError if it lacks the NPU that the recipe names, or none is named."""
    board = _named_board(recipe)
    if recipe.npu not in (None, NO_NPU):
        board.accelerator(recipe.npu)
    return board


def _named_board(recipe: Recipe) -> Board:
    """Return the board; InputError if the options need one and none is named."""
    if recipe.board is not None:
        return load_board(recipe.board).in_state(recipe.security)
    if recipe.security is Security.NON_SECURE:
        raise InputError(
            "--security non-secure needs a board, whose addresses differ by state: name it with "
            "--board, or omit the option: a library for any board runs in both states"
        )
    if find_platform(recipe.platform).is_built:
        raise InputError(
            f"--platform {recipe.platform} needs a board: name it with --board, or generate a "
            f"library for any board with --platform {LIBRARY_ONLY}"
        )
    if recipe.npu is None:
        raise InputError(
            "a library for any board needs to know the NPU: name it with --npu, e.g. --npu "
            "ethos-u55-128 or --npu none, or name the board with --board"
        )
    return any_board()


def _load_wrapped(recipe: Recipe, board: Board) -> list[Wrapped]:
    """Read the users' accelerators; InputError if the firmware cannot drive their devices."""
    from ethosgen.project import require_devices

    names = with_accelerators(recipe).accelerators
    require_devices(recipe.platform, board, united_devices(names))
    return [load_wrapped(name) for name in names]


def _read_all(recipe: Recipe, watch: Watch) -> list[Network]:
    """Read networks and name them; InputError for a wrong number of them, or of names."""
    from ethosgen.project import check_names

    names: Sequence[str | None] = recipe.names or [None] * len(recipe.networks)
    if len(names) != len(recipe.networks):
        raise InputError(
            f"got --name {counted(len(names), 'time')} for "
            f"{counted(len(recipe.networks), 'network')}; pass it once for each, in their order, "
            "or not at all"
        )
    networks = [
        read(path, name, watch, recipe.reading)
        for path, name in zip(recipe.networks, names, strict=True)
    ]
    check_names([network.name for network in networks])
    if len(networks) > 1 and recipe.options.schedule.is_sliced:
        raise InputError(
            "--feed and --step are for a project of one network, since several share an arena "
            "that an unfinished inference needs; make a project for each"
        )
    return networks


def _with_the_others(wanted: list[_Wanted], directory: Path, watch: Watch) -> list[_Wanted]:
    """Return the networks in the existing project's order, including those that it keeps."""
    from ethosgen.project import is_project, open_project

    by_name = {ours.network.name: ours for ours in wanted}
    if not is_project(directory):
        return wanted
    there = open_project(directory).networks
    if not by_name.keys() <= {network.name for network in there}:
        return wanted  # writing refuses it later
    return [
        by_name.get(network.name) or _Wanted(read_stored(network, watch), network.options)
        for network in there
    ]
