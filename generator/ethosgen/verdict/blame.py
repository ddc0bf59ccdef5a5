"""Decide whether a failed compilation is a bug in ethosgen or a file that no interpreter runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from ethosgen.oracle.answers import Question, answer
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import EthosgenError, InputError, InternalError
from ethosgen.values.plan import Plan


@contextmanager
def blaming(plan: Plan) -> Iterator[None]:
    """Convert an internal error to an error of the file if TFLite's interpreters refuse it too."""
    try:
        yield
    except InternalError as error:
        words = _refusal(plan)
        if words is None:
            raise
        raise InputError(
            f"'{plan.network.name}' is damaged: {error}, and {words}; convert it again"
        ) from error


def _refusal(plan: Plan) -> str | None:
    """Return the reason why no interpreter runs the network, None if one does or is missing."""
    if plan.is_precompiled:
        return None
    try:
        answer(Question(plan.network, random_samples(plan.network, 1, seed=0)))
    except EthosgenError as error:
        return str(error).partition(";")[0]
    return None
