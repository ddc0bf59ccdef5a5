"""Prints the new seeds at the end."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the seeds from all processes."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    seeds = [v for r in reports for name, v in r.user_properties if name == "random networks"]
    if seeds:
        terminalreporter.write_line(f"random networks from seeds {', '.join(map(str, seeds))}")
