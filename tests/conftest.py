"""Says at the end which seeds were drawn afresh."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the seeds, whichever process drew them."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    seeds = [v for r in reports for name, v in r.user_properties if name == "random networks"]
    if seeds:
        terminalreporter.write_line(f"random networks from seeds {', '.join(map(str, seeds))}")
