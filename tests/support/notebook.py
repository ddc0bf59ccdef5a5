"""Runs the notebooks of docs/notebooks; `python -m tests.support.notebook` stores their outputs."""

import copy
import tempfile
from pathlib import Path
from typing import Any

from tests import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    """Return a notebook."""
    import nbformat

    return nbformat.read(path, as_version=4)


def executed(notebook: Any) -> Any:
    """Return a notebook with the outputs of running it in the repository's folder.

    An error in a cell is raised.
    """
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    copied = copy.deepcopy(notebook)
    with tempfile.TemporaryDirectory() as place:  # its sockets are files, by default beside ours
        sockets = f"{place}/kernel"
        client = NotebookClient(
            copied,
            km=AsyncKernelManager(kernel_name="python3", transport="ipc", ip=sockets),
            timeout=300,
            record_timing=False,
            resources={"metadata": {"path": str(ROOT)}},
        )
        client.execute()
    return copied


def texts(notebook: Any) -> list[str]:
    """Return the text output of each code cell."""
    return [
        "".join(
            output.get("text", "") or output.get("data", {}).get("text/plain", "")
            for output in cell.outputs
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


if __name__ == "__main__":
    import nbformat

    for path in NOTEBOOKS:
        nbformat.write(executed(read(path)), path)
