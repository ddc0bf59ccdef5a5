"""Decide whether a failed compilation is a bug in ethosgen or a file that no interpreter runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from ethosgen.backend import is_compiled
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import EthosgenError, InputError, InternalError
from ethosgen.values.network import Network
from ethosgen.verdict.judgement import golden_answer


@contextmanager
def blaming(network: Network) -> Iterator[None]:
    """Convert an internal error to an error of the file if TFLite's interpreters refuse it too."""
    try:
        yield
    except InternalError as error:
        words = _refusal(network)
        if words is None:
            raise
        raise InputError(
            f"'{network.name}' is damaged: {error}, and {words}; convert it again"
        ) from error


def _refusal(network: Network) -> str | None:
    """Return the reason why no interpreter runs the network, None if one does or is missing."""
    if is_compiled(network):
        return None
    try:
        golden_answer(network, random_samples(network, 1, seed=0))
    except EthosgenError as error:
        return str(error).partition(";")[0]
    return None
