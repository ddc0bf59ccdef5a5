"""Finds whose fault a failed compilation is: ethosgen's, or that of a file that nobody can run."""

from collections.abc import Iterator
from contextlib import contextmanager

from ethosgen.frontend.tflite.reader import is_compiled
from ethosgen.pipeline.judgement import decisive_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import EthosgenError, InputError, InternalError
from ethosgen.values.model import Model


@contextmanager
def blaming(model: Model) -> Iterator[None]:
    """Turn an internal error into an error of the file if TFLite's interpreters refuse it too."""
    try:
        yield
    except InternalError as error:
        words = _refusal(model)
        if words is None:
            raise
        raise InputError(
            f"'{model.name}' is damaged: {error}, and {words}; convert it again"
        ) from error


def _refusal(model: Model) -> str | None:
    """Return why no interpreter runs the network; None if one does, or none is available."""
    if is_compiled(model):
        return None
    try:
        decisive_outputs(model, random_samples(model, 1, seed=0))
    except EthosgenError as error:
        return str(error).partition(";")[0]
    return None
