"""Results as bytes, for the store and between machines."""

import io
import json
import zipfile
import zlib
from collections.abc import Sequence

import numpy as np
from pydantic import TypeAdapter, ValidationError

from ethosgen.values.configurations import Result
from ethosgen.values.network import Tensor
from ethosgen.values.outcome import Arrays

_RESULTS = TypeAdapter(tuple[Result, ...])


def results_bytes(results: Sequence[Result]) -> bytes:
    """Return results as JSON."""
    return json.dumps(_RESULTS.dump_python(tuple(results), mode="json")).encode()


def read_results(data: bytes) -> tuple[Result, ...] | None:
    """Return results, equal to the written ones; None for other bytes."""
    try:
        return _RESULTS.validate_python(json.loads(data))
    except (ValueError, ValidationError):
        return None


_REFUSED = b"refused: "
_MADE = "made"
"""The array that says which samples have outputs; the others are numbered as the outputs are."""


def outputs_bytes(outputs: Sequence[Arrays], tensors: Sequence[Tensor]) -> bytes:
    """Return the outputs of samples as a compressed .npz; a sample may have none."""
    present = [output for output in outputs if output]
    arrays = {
        str(index): np.stack([output[tensor.name].reshape(-1) for output in present])
        for index, tensor in enumerate(tensors)
        if present
    }
    data = io.BytesIO()
    arrays[_MADE] = np.array([bool(output) for output in outputs])
    np.savez_compressed(data, allow_pickle=False, **arrays)
    return data.getvalue()


def refusal_bytes(reason: str) -> bytes:
    """Return the reason why there are no outputs, instead of them."""
    return _REFUSED + reason.encode()


def read_refusal(data: bytes) -> str:
    """Return the reason why there are no outputs, "" if these are outputs."""
    return data.removeprefix(_REFUSED).decode() if data.startswith(_REFUSED) else ""


def read_outputs(data: bytes, tensors: Sequence[Tensor], count: int) -> list[Arrays] | None:
    """Return the outputs of samples in the tensors' types and shapes; None for other bytes."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            is_present = archive[_MADE]
            tensors_read = [
                archive[str(index)] for index in range(len(tensors) if is_present.any() else 0)
            ]
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    stacks = list(zip(tensors, tensors_read, strict=False))
    fits = all(a.dtype == t.dtype and a.shape == (is_present.sum(), t.elements) for t, a in stacks)
    if is_present.shape != (count,) or is_present.dtype != np.bool_ or not fits:
        return None
    each = iter(zip(*tensors_read, strict=True))
    shapes = [(tensor.name, tensor.shape) for tensor in tensors]
    return [
        {name: row.reshape(shape) for (name, shape), row in zip(shapes, next(each), strict=True)}
        if has_outputs
        else {}
        for has_outputs in is_present
    ]
