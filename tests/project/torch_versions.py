"""The versions of torch and of its schema, in the environment "torch"."""

from pathlib import Path
from typing import Any


def versions(
    _request: dict[str, Any], _arrays: dict[str, Any], _folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the versions that torch writes into a .pt2 file."""
    import torch
    from torch._export.serde.schema import SCHEMA_VERSION

    return {"torch": torch.__version__, "schema": ".".join(map(str, SCHEMA_VERSION))}, {}
