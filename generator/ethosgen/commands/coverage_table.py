"""Shows what a run reaches of the generated C."""

from collections.abc import Sequence

from ethosgen.values.coverage import CodeCoverage, Gap
from ethosgen.values.grammar import counted

_INDENT = " " * 12


def coverage_lines(coverage: CodeCoverage | None, verbose: bool = False) -> list[str]:
    """List what the samples never reach; with `verbose` also conditions that went one way only."""
    if coverage is None:
        return []
    lines = [f"  coverage  {coverage.text()}"]
    lines += _listed("never reached", coverage.unreached)
    if verbose:
        lines += _listed("not all branches taken", coverage.untaken)
    elif coverage.untaken:
        count = counted(sum(len(gap.lines) for gap in coverage.untaken), "line")
        lines.append(f"{_INDENT}not all branches taken: {count}, listed by --verbose")
    functions = sum(len(names) for names in coverage.unlinked.values())
    if functions:
        count = counted(functions, "function")
        lines.append(f"{_INDENT}not counted: {count} that the linker left out of the firmware")
    return lines


def _listed(title: str, gaps: Sequence[Gap]) -> list[str]:
    return [f"{_INDENT}{title}:", *(f"{_INDENT}  {gap.text()}" for gap in gaps)] if gaps else []
