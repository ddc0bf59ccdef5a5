"""Shows the part of the generated C that a run reaches."""

from collections.abc import Sequence

from ethosgen.values.coverage import CodeCoverage, Gap
from ethosgen.values.grammar import counted

_INDENT = " " * 12


def coverage_lines(coverage: CodeCoverage | None) -> list[str]:
    """List what the samples never reach, and the conditions that went one way only."""
    if coverage is None:
        return []
    lines = [f"  coverage  {coverage.text()}"]
    lines += _listed("never reached", coverage.unreached)
    lines += _listed("not all branches taken", coverage.untaken)
    functions = sum(len(names) for names in coverage.unlinked.values())
    if functions:
        count = counted(functions, "function")
        lines.append(f"{_INDENT}not counted: {count} that the linker left out of the firmware")
    return lines


def _listed(title: str, gaps: Sequence[Gap]) -> list[str]:
    return [f"{_INDENT}{title}:", *(f"{_INDENT}  {gap.text()}" for gap in gaps)] if gaps else []
