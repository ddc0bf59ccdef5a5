"""Lowered programs as projects."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ethosgen.api import create_project
from ethosgen.flow import Written
from ethosgen.values.errors import InputError


def to_project(
    program: Any,
    *,
    directory: str | os.PathLike[str],
    board: str | None = None,
    name: str = "network",
    **firmware: Any,
) -> Written:
    """Generate firmware for a lowered program, as `ethosgen.create_project` does for its .pte file.

    `program` is what to_edge_transform_and_lower or to_executorch returns. `name` is the prefix of
    the C functions, `firmware` has other options of create_project. InputError for another object
    or a directory with other contents, UnsupportedError for an operator on the CPU that ethosgen
    does not have.
    """
    lowered = program.to_executorch() if hasattr(program, "to_executorch") else program
    buffer = getattr(lowered, "buffer", None)
    if not isinstance(buffer, bytes):
        raise InputError(
            "to_project takes what to_edge_transform_and_lower or to_executorch returns, not "
            f"{type(program).__name__}"
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.pte"
        path.write_bytes(buffer)
        return create_project(path, directory=directory, board=board, **firmware)
