"""Jobs of a sweep, and a worker's functions for them: plain functions of values."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ethosgen.values.errors import EthosgenError, InputError, ToolError
from ethosgen_sweep.locks import HeldError, Silence, held
from ethosgen_sweep.store import Shelf, Store

_POLL_S = 0.1
"""How often to look whether another sweep has done a job."""


@dataclass(frozen=True)
class Job:
    """A value to compute: `key` names it in the store, `task` describes it."""

    key: str
    task: Any


@dataclass(frozen=True)
class Batch:
    """Jobs that a worker does in order; all need `shared`, which it receives once."""

    jobs: tuple[Job, ...]
    shared: Any


@dataclass(frozen=True)
class Made:
    """A value; `lasting` if every machine would compute the same, so a store may keep it."""

    value: bytes
    lasting: bool = True


class UnfitWorkerError(ToolError):
    """A worker that cannot compute any job, such as one with another version."""


Compute = Callable[[Any, Any], Made]
"""Computes a value from what jobs share and what one is given; it must be picklable.

With a method `check`, that raises UnfitWorkerError in a process that cannot compute.
"""


@dataclass(frozen=True)
class JobAnswer:
    """A job's value, or why there is none. `was_there` if a store already had it."""

    key: str
    value: bytes | None
    fault: str = ""
    lasting: bool = True
    was_there: bool = False


def _always() -> bool:
    return True


def do_jobs(
    compute: Compute,
    jobs: Sequence[Job],
    shared: Any,
    shelf: Shelf,
    goes_on: Callable[[], bool] = _always,
) -> list[JobAnswer]:
    """Do jobs in order, at least one, and others while `goes_on` is true.

    A value that the store has, or that another sweep is computing, is not computed again: the
    latter is awaited when nothing else is left. A fault ends one job only. Each value is kept at
    once, so the death of this process costs the job that it works on.
    """
    check_worker(compute)
    answers: list[JobAnswer] = []
    held_jobs: list[Job] = []
    for job in jobs:
        if answers and not goes_on():
            return answers
        try:
            answers.append(_do(compute, job, shared, shelf))
        except HeldError:
            held_jobs.append(job)
    for job in held_jobs:
        answer = _wait(compute, job, shared, shelf, lambda: not answers or goes_on())
        if answer is None:
            break
        answers.append(answer)
    return answers


def _wait(
    compute: Compute, job: Job, shared: Any, shelf: Shelf, goes_on: Callable[[], bool]
) -> JobAnswer | None:
    """Do a job when the other sweep that has it is done or dead; None if that is too late."""
    silence = Silence(Store(shelf.folder).lock(job.key))
    while goes_on():
        try:
            return _do(compute, job, shared, shelf)
        except HeldError:
            silence.end()
            time.sleep(_POLL_S)
    return None


def check_worker(compute: Compute) -> None:
    """Raise UnfitWorkerError if this process cannot compute."""
    check: Callable[[], object] = getattr(compute, "check", _always)
    check()


def _do(compute: Compute, job: Job, shared: Any, shelf: Shelf) -> JobAnswer:
    """Return a job's answer, from the store if there; HeldError if another process does it."""
    store = shelf.open()
    if store is None:
        return _computed(compute, job, shared, None)
    value = store.get(job.key)
    if value is None:
        with held(store.lock(job.key)):
            value = store.get(job.key)  # the last holder may have kept it just now
            if value is None:
                return _computed(compute, job, shared, store)
    return JobAnswer(job.key, value, was_there=True)


def _computed(compute: Compute, job: Job, shared: Any, store: Store | None) -> JobAnswer:
    try:
        value = compute(shared, job.task)
    except EthosgenError as error:
        return JobAnswer(job.key, None, str(error))
    except Exception as error:  # one job's bug is that job's row
        return JobAnswer(job.key, None, f"a bug of ethosgen's: {type(error).__name__}: {error}")
    if store and value.lasting:
        with suppress(InputError):  # a worker may see the folder but not write to it
            store.put(job.key, value.value)
    return JobAnswer(job.key, value.value, lasting=value.lasting)
