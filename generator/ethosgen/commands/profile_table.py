"""Shows a profile as a table."""

from collections.abc import Sequence

from ethosgen.values.grammar import counted
from ethosgen.values.plan import CPU
from ethosgen.values.profile import NPU, NpuOperation, Profile, StepCost

_COPY = "DMA "
"""The start of a copy's line in a trace."""
Row = tuple[str, ...]
_RUNS = 3
"""The column of runs, which is omitted without subgraphs."""
_CYCLES = -2
"""The column of the CPU's cycles, which is omitted if they are unknown."""
_WIDEST = 48
"""Most characters of a name in the table; --json has all of them."""


def profile_lines(profile: Profile) -> list[str]:
    """Return a line for each step and each operator on the NPU, with a header and a sum."""
    rows: list[Row] = [
        ("step", "operators", "on", "runs", profile.unit, "share", "cycles", "NPU cycles")
    ]
    depths: list[int] = []
    subgraphs: set[tuple[int, str]] = set()
    for number, cost in enumerate(profile.steps, 1):
        step = cost.step
        depths.append(depths[step.inside - 1] + 1 if step.inside else 0)
        if step.inside and (step.inside, step.branch) not in subgraphs:
            subgraphs.add((step.inside, step.branch))
            title = f"{step.branch} '{step.subgraph}'" if step.subgraph else "bands of rows"
            rows.append(_text_row(title, 2 * depths[-1] - 1))
        rows.append(_step_row(number, cost, profile.total, 2 * depths[-1]))
        rows += _operation_rows(cost.operations)
    rest, total = profile.outside, profile.total
    outside, whole = _cycles(profile.outside_cycles), _cycles(profile.cycles)
    rows.append(("", "outside of steps", CPU, "", f"{rest:,}", _share(rest, total), outside, ""))
    npu = f"{profile.npu_cycles:,}" if profile.npu_cycles else ""
    rows.append(("", "sum", "", "", f"{total:,}", _share(total, total), whole, npu))
    if not subgraphs:  # each step runs once
        rows = [(*row[:_RUNS], *row[_RUNS + 1 :]) for row in rows]
    if profile.cycles is None:
        rows = [(*row[:_CYCLES], *row[_CYCLES + 1 :]) for row in rows]
    hook = f"the hook's {profile.hook:.1f} {profile.unit} in each step are subtracted"
    return [f"  profile   of {_title(profile)}; {hook}", *_aligned(rows)]


def _title(profile: Profile) -> str:
    return f"the inference with the median cost, {counted(len(profile.steps), 'step')}"


def _step_row(number: int, cost: StepCost, total: int, indent: int) -> Row:
    step = cost.step
    name = f"wait for {step.name}" if step.is_wait else f"{step.name} ({step.output})"
    cycles = f"{cost.npu_cycles:,}" if step.on == NPU else ""
    share = _share(cost.count, total)
    what, times = _short("  " * indent + name), f"{cost.runs:,}"
    own = _cycles(cost.cycles)
    return str(number), what, step.on, times, f"{cost.count:,}", share, own, cycles


def _text_row(text: str, indent: int) -> Row:
    return "", _short("  " * indent + text), "", "", "", "", "", ""


def _operation_rows(operations: Sequence[NpuOperation]) -> list[Row]:
    """Return a row for each operator of the network, and one for all copies."""
    groups: dict[tuple[str, str], list[NpuOperation]] = {}
    for number, operation in enumerate(operations):
        is_copy = operation.name.startswith(_COPY)
        key = (
            (operation.operator, operation.layer)
            if operation.layer
            else ("", "" if is_copy else str(number))
        )
        groups.setdefault(key, []).append(operation)
    return [_group_row(group) for group in groups.values()]


def _group_row(group: Sequence[NpuOperation]) -> Row:
    first, count = group[0], len(group)
    if first.layer:
        more = f": {counted(count, 'operation')}" if count > 1 else ""
        what = f"{first.operator} ({first.layer}){more}"
    else:
        what = counted(count, "copy", "copies") if first.name.startswith(_COPY) else first.name
    cycles = f"~{sum(operation.cycles for operation in group):,}"
    return "", f"  {_short(what)}", "", "", "", "", "", cycles


def _cycles(known: int | None) -> str:
    return "" if known is None else f"{known:,}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f}%"


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _aligned(rows: Sequence[Row]) -> list[str]:
    """Return rows as lines; the columns of figures end at the same place."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i in (1, 2) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"    {'  '.join(cells)}".rstrip())
    return lines
