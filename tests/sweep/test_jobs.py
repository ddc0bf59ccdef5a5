"""Jobs in a worker: nothing is computed twice, and a fault ends one job only."""

from pathlib import Path

import pytest

from ethosgen.values.errors import InputError
from ethosgen_sweep.jobs import Job, Made, do_jobs
from ethosgen_sweep.store import Store

KEYS = ["aa" * 32, "bb" * 32, "cc" * 32]


def test_values_are_kept_at_once_and_not_computed_again(tmp_path: Path) -> None:
    store = Store.make(tmp_path)
    jobs = [Job(key, number) for number, key in enumerate(KEYS)]
    calls = []

    def compute(shared: int, task: int) -> Made:
        calls.append(task)
        if task == 2:
            raise KeyboardInterrupt  # stands for the end of the process
        return Made(str(shared + task).encode(), lasting=task != 1)

    with pytest.raises(KeyboardInterrupt):
        do_jobs(compute, jobs, 10, store.shelf())
    assert [store.get(key) for key in KEYS] == [b"10", None, None]
    answers = do_jobs(compute, jobs[:2], 10, store.shelf())
    assert [(answer.value, answer.was_there, answer.lasting) for answer in answers] == [
        (b"10", True, True),
        (b"11", False, False),
    ]
    assert calls == [0, 1, 2, 1]


def test_a_fault_is_the_job_s_own(tmp_path: Path) -> None:
    faults = [InputError("a sentence"), ZeroDivisionError("oops"), None]

    def compute(_shared: None, fault: Exception | None) -> Made:
        if fault is not None:
            raise fault
        return Made(b"fine")

    jobs = [Job(key, fault) for key, fault in zip(KEYS, faults, strict=True)]
    answers = do_jobs(compute, jobs, None, Store.make(tmp_path).shelf())
    assert [answer.fault for answer in answers] == [
        "a sentence",
        "a bug of ethosgen's: ZeroDivisionError: oops",
        "",
    ]
    assert [answer.value for answer in answers] == [None, None, b"fine"]
