"""Progress in a notebook: a line under the cell, which disappears when the cell has run."""

import sys
from html import escape
from typing import Any

from ethosgen.values.watch import Announce, Watch


def watch_of(announce: Announce | None) -> Watch:
    """Return a watch that reports phases to `announce`, or else to the notebook if there is one."""
    announce = announce or _notebook_line()
    return Watch() if announce is None else Watch(announce)


def _notebook_line() -> Announce | None:
    """Return a function that shows a line under the running cell; None outside a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    line: Any = display(_shown(""), raw=True, display_id=True)

    def end(*_: object) -> None:
        line.update(_shown(""), raw=True)
        shell.events.unregister("post_run_cell", end)

    shell.events.register("post_run_cell", end)
    return lambda text: line.update(_shown(text), raw=True)


def _shown(text: str) -> dict[str, str]:
    return {"text/plain": text, "text/html": f"<em>{escape(text)}</em>" if text else ""}
