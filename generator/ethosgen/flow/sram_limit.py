"""Chooses the fastest configuration of a network within an SRAM limit."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ethosgen.board import Board
from ethosgen.flow.costs import SRAM, Place, cost_of
from ethosgen.flow.fronts import explore, shortest_head
from ethosgen.flow.head import fullest_output
from ethosgen.project import SHARED_PARTS, part_sizes
from ethosgen.values.configurations import SramChoice, Tried
from ethosgen.values.errors import CapacityError, EthosgenError
from ethosgen.values.grammar import counted
from ethosgen.values.plan import OffloadMode
from ethosgen.values.program import Program
from ethosgen.values.watch import Watch


def fit(limit_bytes: int, place: Place, watch: Watch) -> tuple[Program, SramChoice]:
    """Return the fastest program whose parts in SRAM fit a limit in bytes, and the choice.

    Strategies and arena limits are tried without the check of outputs, which only the chosen
    program gets. If nothing fits with the NPU, `--offload auto` leaves the first operators to the
    CPU, in bands of rows, or all of them: whatever is faster. CapacityError names the smallest
    possible size if it is above the limit.
    """
    trials = _explored(limit_bytes, place, watch)
    try:
        return _fastest(limit_bytes, place, trials, watch)
    except CapacityError:
        is_auto = place.settings.options.mode is OffloadMode.AUTO
        candidates = _with_bands(limit_bytes, place, trials, watch) if is_auto else []
        if not place.accelerator or not candidates:
            raise
    program, choice = min(candidates, key=lambda candidate: candidate[1].chosen.cost.time)
    less = min((other.chosen for _, other in candidates), key=lambda tried: tried.cost.sram_bytes)
    is_less = less.cost.sram_bytes < choice.chosen.cost.sram_bytes
    larger = trials[0] if trials else None
    return program, replace(choice, smaller=less if is_less else choice.smaller, larger=larger)


def _explored(limit_bytes: int, place: Place, watch: Watch) -> list[Tried]:
    """Return the front of what strategies and arena limits give, by SRAM."""
    with watch.phase("limit", f"trying strategies and arena limits for '{place.network.name}'"):
        return explore(place.attempt, place.settings.options.schedule, limit_bytes)


def _with_bands(
    limit_bytes: int, place: Place, trials: Sequence[Tried], watch: Watch
) -> list[tuple[Program, SramChoice]]:
    """Return the programs that fit: with the head in bands on the CPU, and with everything there.

    CapacityError if nothing fits and the CPU alone needs less than the trials.
    """
    beside = None
    with suppress(EthosgenError):
        beside = _with_head(limit_bytes, place, trials, watch)
    candidates = [beside] if beside else []
    options = replace(place.settings.options, mode=OffloadMode.NONE)
    alone = replace(place, settings=replace(place.settings, accelerator=None, options=options))
    tried = _explored(limit_bytes, alone, watch)
    try:
        program, choice = _fastest(limit_bytes, alone, tried, watch)
        candidates.append((_with_reason(program, limit_bytes), choice))
    except EthosgenError as error:
        least = min((trial.cost.sram_bytes for trial in tried), default=limit_bytes)
        is_less = not trials or least < trials[0].cost.sram_bytes
        if not candidates and is_less and isinstance(error, CapacityError):
            raise
    return candidates


def _with_head(
    limit_bytes: int, place: Place, trials: Sequence[Tried], watch: Watch
) -> tuple[Program, SramChoice] | None:
    """Return the program with the shortest head on the CPU that fits, the rest on the NPU.

    None if none fits.
    """
    name, usual = place.network.name, place.settings.options.schedule
    tried = None
    if trials:
        heads, least = place.heads(), trials[0].cost
        with watch.phase("limit", f"trying heads of '{name}' on the CPU"):
            tried = shortest_head(place.attempt, usual, heads, least, limit_bytes)
    if tried is not None:
        program = place.scheduled(tried.schedule).compiled(watch)
        cost = cost_of(program, place)
        if cost.sram_bytes <= limit_bytes and cost.partitions:
            return program, SramChoice(name, limit_bytes, replace(tried, cost=cost))
    return None


def _with_reason(program: Program, limit_bytes: int) -> Program:
    """Return a program that says why its operators are on the CPU."""
    why = f"with the NPU nothing fits {counted(limit_bytes, 'byte')} of SRAM"
    plan = program.plan
    operators = tuple(replace(operator, reason=why) for operator in plan.cpu_operators)
    return replace(program, plan=replace(plan, cpu_operators=operators))


def _fastest(
    limit_bytes: int, place: Place, trials: Sequence[Tried], watch: Watch
) -> tuple[Program, SramChoice]:
    """Return the fastest program within the limit, with one division of the network."""
    name = place.network.name
    if not trials:
        place.compiled(watch)  # raises the reason
    position = sum(trial.cost.sram_bytes <= limit_bytes for trial in trials)
    smallest = trials[0].cost.sram_bytes if trials else 0
    while position:
        position -= 1
        schedule = trials[position].schedule
        program = place.scheduled(schedule).compiled(watch)
        cost = cost_of(program, place)
        if cost.sram_bytes <= limit_bytes:
            return program, SramChoice(
                name,
                limit_bytes,
                Tried(schedule, cost),
                trials[position - 1] if position else None,
                trials[position + 1] if position + 1 < len(trials) else None,
            )
        smallest = cost.sram_bytes  # the check has moved operators to the CPU
    fullest = ""
    if trials and place.accelerator is None:
        least = place.unchecked().scheduled(trials[0].schedule).compiled(watch)
        fullest = _fullest(least) if least.steps else ""
    elif trials:
        fullest = fullest_output(place.network.graph)
    why = f", most of them where '{fullest}' is made" if fullest else ""
    raise _too_large([name], smallest, limit_bytes, place, why)


def _fullest(program: Program) -> str:
    """Return the first output of the step in which most bytes of the arena are live."""
    steps = [step for step in program.steps if not step.inside and not step.is_wait]
    held = (*program.placements, *program.workspaces)
    live = [sum(h.bytes for h in held if h.first <= i <= h.last) for i in range(len(steps))]
    return steps[live.index(max(live))].output


def fit_together(
    limit_bytes: int, places: Sequence[Place], watch: Watch
) -> tuple[list[Program], list[SramChoice]]:
    """Return programs and choices of networks that share an arena in one firmware.

    The limit covers all of them: the largest arena, and everything else in SRAM.
    """
    others = [0] * len(places)
    if len(places) > 1:
        usual = [place.unchecked().compiled(watch) for place in places]
        own = [_sram(program, place, False) for program, place in zip(usual, places, strict=True)]
        others = [sum(own) - mine for mine in own]
    done = [
        fit(max(limit_bytes - rest, 0), place, watch)
        for rest, place in zip(others, places, strict=True)
    ]
    programs, choices = [program for program, _ in done], [choice for _, choice in done]
    needed = together_bytes(programs, places)
    if needed > limit_bytes:
        names = [place.network.name for place in places]
        raise _too_large(names, needed, limit_bytes, places[0])
    return programs, choices


def together_bytes(programs: Sequence[Program], places: Sequence[Place]) -> int:
    """Return the SRAM of networks in one firmware: they share the arena."""
    pairs = list(zip(programs, places, strict=True))
    shared = max(_sram(program, place, True) for program, place in pairs)
    return shared + sum(_sram(program, place, False) for program, place in pairs)


def _sram(program: Program, place: Place, is_shared: bool) -> int:
    """Return the bytes in SRAM of the parts that networks share, or of the others."""
    sizes = part_sizes(program, place.board)
    return sum(
        sizes[part]
        for part, memory in place.board.placement(place.mode).npu_parts().items()
        if (part in SHARED_PARTS) is is_shared and _is_sram(place.board, memory)
    )


def _is_sram(board: Board, memory: str) -> bool:
    return board.memories[memory].kind in SRAM


def _too_large(
    names: Sequence[str], smallest: int, limit_bytes: int, place: Place, why: str = ""
) -> CapacityError:
    """Return the error for a limit that nothing meets; `why` names the largest need."""
    npu = place.accelerator.name if place.accelerator else "the CPU alone"
    verb = "needs" if len(names) == 1 else "together need"
    named = " and ".join(f"'{name}'" for name in names)
    is_all = place.accelerator and place.settings.options.mode is OffloadMode.ALL
    could_share = is_all and place.board.placement(place.mode).fast is None
    bands = "give the CPU the first layers with --offload auto, " if could_share else ""
    return CapacityError(
        f"{named} {verb} at least "
        f"{counted(smallest, 'byte')} of SRAM on {npu} in memory mode {place.mode}{why}, but "
        f"--sram-limit is {limit_bytes:,}; raise it, {bands}or see with "
        "'ethosgen compare --npu all --memory-mode all --front' what others need"
    )
