"""The summary for a network that was planned and compiled, but has not run yet."""

from ethosgen.board.any_board import ANY_BOARD
from ethosgen.flow.costs import Place, cost_of
from ethosgen.oracle import check_text
from ethosgen.project import part_sizes, room_bytes
from ethosgen.values.configurations import Cost
from ethosgen.values.headline import Headline, Latency, Occupancy
from ethosgen.values.plan import Plan
from ethosgen.values.program import Program


def planned_headline(program: Program, place: Place) -> Headline:
    """Return the verdict of the check, the models' time, and the bytes of tensors and weights."""
    plan, board = program.plan, place.board
    sizes, is_any_board = part_sizes(program, board), board.name == ANY_BOARD
    room = None if is_any_board else room_bytes(board, place.mode)
    subject = program.name if is_any_board else f"{program.name} for {board.name}"
    return Headline(
        "PASS" if plan.check and plan.check.oracle else "NOT COMPARED",
        f"{subject} ({plan.npu}, not run yet)",
        _compared(plan),
        _latency(cost_of(program, place)),
        Occupancy(sizes["arena"] + sizes["io"] + sizes["fast"], room and room[1]),
        Occupancy(sizes["weights"] + sizes["commands"], room and room[0]),
        program.advice[0] if program.advice else None,
        is_library_alone=True,
    )


def _compared(plan: Plan) -> str:
    check = plan.check
    if check is None:
        return "the check was skipped"
    if check.oracle is None:
        return ""
    return check_text(check, plan.npu, plan.steps)


def _latency(cost: Cost) -> Latency | None:
    """Return the time of an inference at the board's clocks, None if one is unknown."""
    on_npu, needs_npu = cost.npu_estimate, cost.partitions > 0
    if cost.cpu_hz is None or (needs_npu and (cost.npu_hz is None or not on_npu)):
        return None
    cpu = (cost.cpu_cycles + cost.start_cycles) / cost.cpu_hz
    npu = on_npu / cost.npu_hz if needs_npu and cost.npu_hz and on_npu else None
    return Latency(cpu + (npu or 0), npu, hz=cost.cpu_hz, unknown=cost.without)
