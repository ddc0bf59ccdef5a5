"""Rows as a table of pandas, which is not required."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ethosgen.values.errors import ToolError


def make_dataframe(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return flat rows as a pandas DataFrame; ToolError without pandas."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        told = "to_dataframe() needs pandas; install it with: pip install pandas"
        raise ToolError(told) from None
    return pandas.DataFrame(list(rows))
