"""Both reference interpreters, each in a child process that lives as long as this one.

A network may crash its child, which is then restarted: that is an answer too.
"""

import contextlib
import os
import pickle
import select
import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, Any]
Question = tuple[bytes, list[list[Array]], int]
"""A network, its samples in the order of its inputs, and its number of outputs."""

Answer = tuple[str, Any]
""" "ok" and the outputs of each sample, or "refused" or "died" and the reason."""

_ARENA_BYTES = 8 << 20
_LIMIT_S = 120.0
_LENGTH = struct.Struct("<Q")


class Child:
    """A child process that runs an oracle."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.corpus.oracles"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def ask(self, oracle: str, question: Question) -> Answer | None:
        """Return the answer; None if the child ended, or took too long and was killed."""
        given, answers = self._process.stdin, self._process.stdout
        if given is None or answers is None:
            return None
        with contextlib.suppress(BrokenPipeError, EOFError):
            _send(given, (oracle, *question))
            if select.select([answers], [], [], _LIMIT_S)[0]:
                answer: Answer = _receive(answers)
                return answer
        self._process.kill()
        self._process.wait()
        return None


_children: dict[tuple[int, str], Child] = {}
"""Children by process, since a fork must not share a pipe, and by oracle."""


def ask(oracle: str, questions: Sequence[Question]) -> list[Answer]:
    """Answer questions with "tflm" or "litert", or from the cache."""
    return [_ask(oracle, question) for question in questions]


def _ask(oracle: str, question: Question) -> Answer:
    from tests.corpus.cache import find, keep

    kept: Answer | None = find((oracle, question))
    if kept is not None:
        return kept
    name = os.getpid(), oracle
    child = _children.get(name) or _children.setdefault(name, Child())
    answer = child.ask(oracle, question)
    if answer is None:
        del _children[name]
        answer = "died", "the interpreter ended, or did not finish"
    keep((oracle, question), answer)
    return answer


# ---- in the child process ------------------------------------------------------------------------


def _send(stream: IO[bytes], value: object) -> None:
    data = pickle.dumps(value)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    return pickle.loads(stream.read(_LENGTH.unpack(head)[0]))


def _serve() -> None:
    """Answer questions until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the interpreters print to stdout
    with contextlib.suppress(EOFError):
        while True:
            _send(answers, _answer(*_receive(sys.stdin.buffer)))


def _answer(oracle: str, data: bytes, samples: list[list[Array]], outputs: int) -> Answer:
    from ethosgen.oracle.litert import run_litert
    from ethosgen.oracle.tflm import run_tflite_micro

    try:
        if oracle == "tflm":
            return "ok", run_tflite_micro(data, samples, outputs, _ARENA_BYTES)
        return "ok", run_litert(data, samples)
    except Exception as error:  # any exception means that the interpreter cannot run it
        return "refused", f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    _serve()
