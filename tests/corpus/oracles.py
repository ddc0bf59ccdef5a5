"""Both reference interpreters, from the cache or in a forked process.

A network may crash its process: that is an answer too.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.host.child import ChildError
from ethosgen.oracle import litert, tflm
from ethosgen.oracle.oddities import operator_by_chance
from tests.corpus.cache import find, keep
from tests.support.fork_server import shared_server

Array = np.ndarray[Any, Any]
Question = tuple[bytes, list[list[Array]], int]
"""A network, its samples in the order of its inputs, and its number of outputs."""

Answer = tuple[str, Any]
""" "ok" and the outputs of each sample, or "refused" or "died" and the reason."""

_ARENA_BYTES = 8 << 20
_DIED = "the interpreter ended, or did not finish"


def ask(oracle: str, questions: Sequence[Question]) -> list[Answer]:
    """Answer questions with "tflm" or "litert", or from the cache."""
    return [_ask(oracle, question) for question in questions]


def _ask(oracle: str, question: Question) -> Answer:
    data, samples, outputs = question
    if oracle == "tflm" and (chance := operator_by_chance(parse_network(data, "case"))):
        return "refused", f"TFLite Micro computes {chance}"
    kept: Answer | None = find((oracle, question))
    if kept is not None:
        return kept
    call = shared_server().call
    try:
        if oracle == "tflm":
            arguments = data, samples, outputs, _ARENA_BYTES
            said = call(Path(tflm.__file__), "run_tflite_micro", *arguments)
        else:
            said = call(Path(litert.__file__), "run_litert", data, samples)
        answer: Answer = "ok", said.value
    except ChildError as error:  # any exception means that the interpreter cannot run it
        refused = error.how == "raised"
        answer = ("refused", str(error)) if refused else ("died", _DIED)
    keep((oracle, question), answer)
    return answer
