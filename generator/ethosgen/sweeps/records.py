"""Results as bytes, for the store and between machines."""

import json
from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError

from ethosgen.values.comparison import Result

_RESULTS = TypeAdapter(tuple[Result, ...])


def results_bytes(results: Sequence[Result]) -> bytes:
    """Return results as JSON."""
    return json.dumps(_RESULTS.dump_python(tuple(results), mode="json")).encode()


def read_results(data: bytes) -> tuple[Result, ...] | None:
    """Return results, equal to what was written; None if these are no results."""
    try:
        return _RESULTS.validate_python(json.loads(data))
    except (ValueError, ValidationError):
        return None
