"""Both reference interpreters for many networks in one child process; see ethosgen.child."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Question = tuple[bytes, list[list[Array]], int]
"""A network, its samples in the order of its inputs, and how many outputs it has."""

Answer = tuple[str, Any]
""" "ok" and the outputs of each sample, or "refused" or "died" and why."""

_ARENA_BYTES = 8 << 20
_LIMIT_S = 300.0


def ask(oracle: str, questions: Sequence[Question]) -> list[Answer]:
    """Put questions to "tflm" or "litert", but those that it has answered before."""
    from corpus.cache import find, keep

    answers = [find((oracle, question)) for question in questions]
    left = [index for index, answer in enumerate(answers) if answer is None]
    for index, answer in zip(left, _ask(oracle, [questions[i] for i in left]), strict=True):
        answers[index] = answer
        keep((oracle, questions[index]), answer)
    return [answer for answer in answers if answer is not None]


def _ask(oracle: str, questions: Sequence[Question]) -> list[Answer]:
    """Run every network through an oracle; one that ends the child is an answer too."""
    from ethosgen.child import ChildError, call

    if not questions:
        return []
    try:
        answers: list[Answer] = call(
            Path(__file__), "answer_all", oracle, list(questions), limit_s=_LIMIT_S
        ).value
        return answers
    except ChildError as error:
        if len(questions) == 1:
            return [("died", str(error))]
    half = len(questions) // 2
    return _ask(oracle, questions[:half]) + _ask(oracle, questions[half:])


def answer_all(oracle: str, questions: list[Question]) -> list[Answer]:
    """Answer in the child."""
    return [_answer(oracle, *question) for question in questions]


def _answer(oracle: str, data: bytes, samples: list[list[Array]], outputs: int) -> Answer:
    from ethosgen.reference import run_litert, run_tflite_micro

    try:
        if oracle == "tflm":
            return "ok", run_tflite_micro(data, samples, outputs, _ARENA_BYTES)
        return "ok", run_litert(data, samples)
    except Exception as error:  # whatever an interpreter raises means that it cannot
        return "refused", f"{type(error).__name__}: {error}"
