"""Measures one configuration of a network, or the front of an NPU and memory mode.

These are pure functions of values that can be pickled: any process, on any machine with the same
ethosgen, gives the same result.
"""

import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from ethosgen.backend import is_compiled
from ethosgen.board import load_board
from ethosgen.flow.costs import Place, cost_of
from ethosgen.flow.firmware import build_project
from ethosgen.flow.fronts import explore
from ethosgen.flow.planning import PlanSettings, choose_accelerator
from ethosgen.frontend import open_source, read_source
from ethosgen.oracle.answers import Answer
from ethosgen.platforms import DEFAULT_PLATFORM
from ethosgen.project import check_capacity, render, write
from ethosgen.samples.drawing import default_samples, draw_samples
from ethosgen.values.configurations import Cost, Exactness, Point, Result
from ethosgen.values.errors import (
    BuildError,
    CapacityError,
    EthosgenError,
    ToolError,
    UnsupportedError,
)
from ethosgen.values.naming import name_from_file
from ethosgen.values.network import Network
from ethosgen.values.plan import EXACT, OffloadOptions, Plan
from ethosgen.values.program import Program
from ethosgen.values.source import Source
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer

SAMPLES = 5
"""Default number of samples for exactness: one of each distribution."""
MOST_WORK = 2_000_000_000
"""Limit on the multiplications of these samples; a larger network gets fewer."""


def find_place(point: Point) -> Place:
    """Read a point's network and board; InputError if the board has no such NPU or mode."""
    setting = point.setting
    options = replace(point.options, schedule=setting.schedule)
    return _place(point.source, setting.board, setting.npu, setting.memory_mode, options)


def _place(
    source: Source, board_name: str, npu: str | None, mode: str | None, options: OffloadOptions
) -> Place:
    network = replace(_read(source), name=name_from_file(Path(source.name).stem))
    board = load_board(board_name)
    accelerator = choose_accelerator(network, npu, board)
    chosen = board.choose_memory_mode(mode, accelerator)
    return Place(network, board, chosen, PlanSettings(accelerator, options).on(board, chosen))


def estimate(network: Path, board: str, npu: str | None) -> Cost:
    """Return the estimated cost of a network on a board, not compared with the oracle.

    `npu` is None for the board's default.
    """
    place = _place(open_source(network), board, npu, None, EXACT).unchecked()
    return cost_of(place.compiled(Watch()), place)


@lru_cache(maxsize=4)
def _read(source: Source) -> Network:
    return read_source(source)


def measure_point(point: Point) -> Result:
    """Compile a configuration, estimate its cost, and compare its outputs with the oracle's.

    A refusal becomes the result's reason; only bugs in ethosgen are raised. The result depends only
    on the point, the installed versions and the board's file.
    """
    setting = point.setting
    try:
        place = find_place(point)
        setting = place.setting(setting)
        program = place.compiled(Watch())
        cost = cost_of(program, place)
        exactness, unmeasured = _measure_exactness(point, place, program.plan)
    except EthosgenError as error:
        is_elsewhere = isinstance(error, ToolError)
        return Result(setting, refusal=str(error), may_pass=is_elsewhere)
    units = ("cpu", "npu") if place.accelerator else ("cpu",)
    lack, notes = misfit(program, place), list(place.board.clock_doubts(*units))
    if point.build and not lack:
        size, note = _code_bytes(program, place)
        cost, notes = replace(cost, code_bytes=size), notes + note
    return Result(setting, cost, exactness, misfit=lack, unmeasured=unmeasured, notes=tuple(notes))


def misfit(program: Program, place: Place) -> str:
    """Return an error that names the memory that is too small, "" if all are large enough."""
    try:
        check_capacity([program], place.board, place.mode)
    except CapacityError as error:
        return str(error)
    return ""


def _code_bytes(program: Program, place: Place) -> tuple[int | None, list[str]]:
    """Build bare-metal firmware; return the library's code and constants, or a note why not."""
    board = place.board
    if DEFAULT_PLATFORM not in board.platforms:
        return None, [f"board '{board.name}' has no bare-metal firmware, so no code was built"]
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as folder:
        directory = Path(folder) / program.name
        try:
            write(
                render([program], board, memory_mode=place.mode),
                directory,
            )
            library = build_project(directory, watch=Watch()).sizes.library
        except (BuildError, CapacityError, ToolError) as error:
            where = f"{program.name} on {board.name}, {place.npu}"
            return None, [f"the code of {where} is unknown: {error}"]
    return library["code"] + library["constants"], []


def _measure_exactness(point: Point, place: Place, plan: Plan) -> tuple[Exactness | None, str]:
    """Run the plan on the NPU model and compare it with the oracle, or say why not."""
    network = place.network
    if point.samples == 0:
        return None, "no samples were requested"
    if is_compiled(network):
        return None, "the file is compiled already: no oracle runs it"
    count = point.samples or default_samples(network, SAMPLES, MOST_WORK)
    count = max(count, network.period)
    try:
        golden = _golden(point.source, point.options.oracle, count, point.seed)
    except UnsupportedError as error:
        return None, str(error)
    samples = golden.question.samples
    compared = golden.against(simulate_samples(plan, samples, Watch()), plan.steps)
    return Exactness(
        golden.oracle.name,
        len(samples),
        compared.elements,
        compared.mismatches,
        compared.max_abs_diff,
        compared.left_out,
    ), ""


@lru_cache(maxsize=4)
def _golden(source: Source, oracle: str | None, count: int, seed: int) -> Answer:
    """Return the answer of the oracle that decides, once for all NPUs and modes."""
    network = _read(source)
    return golden_answer(network, draw_samples(network, count, seed), oracle)


def measure_front(point: Point) -> tuple[Result, ...]:
    """Measure the configurations on the front of a point's network, NPU and memory mode.

    The search starts from the point's own schedule. Only configurations on the front are compared
    with the oracle.
    """
    try:
        place = find_place(point)
    except EthosgenError as error:
        return (Result(point.setting, refusal=str(error)),)
    attempts = explore(place.attempt, point.setting.schedule, heads=place.heads())
    if not attempts:
        return (measure_point(point),)
    settings = [replace(point.setting, schedule=attempt.schedule) for attempt in attempts]
    return tuple(measure_point(replace(point, setting=setting)) for setting in settings)
