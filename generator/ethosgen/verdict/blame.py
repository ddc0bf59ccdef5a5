"""Decide whether a failed compilation is a bug in ethosgen or a file that no interpreter runs."""

from collections.abc import Sequence

from ethosgen.oracle.answers import Question, answer
from ethosgen.values.errors import EthosgenError, InputError, InternalError
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Plan


def blame_file(error: InternalError, plan: Plan, samples: Sequence[Arrays]) -> None:
    """Raise InputError instead of an internal error if the oracles refuse these samples too."""
    if plan.is_precompiled:
        return
    try:
        answer(Question(plan.network, samples))
    except EthosgenError as refusal:
        words = str(refusal).partition(";")[0]
        raise InputError(
            f"'{plan.network.name}' is damaged: {error}, and {words}; convert it again"
        ) from error
