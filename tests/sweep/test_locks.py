"""Locks of jobs: two sweeps at once compute each job once, and a dead holder's lock is taken."""

import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from ethosgen_sweep import locks
from ethosgen_sweep.jobs import Job, JobAnswer, Made, do_jobs
from ethosgen_sweep.locks import HeldError, Silence, held
from ethosgen_sweep.store import Store

JOBS = [Job(f"{number:064x}", number) for number in range(72)]
HOLD = """
import sys, time
from pathlib import Path
from ethosgen_sweep.locks import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def _locks(store: Store) -> list[Path]:
    return list(store.folder.rglob(".*"))


def test_two_sweeps_at_once_compute_each_job_once(tmp_path: Path) -> None:
    store = Store.make(tmp_path)
    calls: list[int] = []
    answers: list[list[JobAnswer]] = [[], []]

    def compute(_shared: None, task: int) -> Made:
        calls.append(task)
        time.sleep(0.005)
        return Made(str(task).encode())

    def sweep(number: int) -> None:
        answers[number] = do_jobs(compute, JOBS, None, store.shelf())

    threads = [Thread(target=sweep, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls) == list(range(72))
    for some in answers:
        assert {answer.key: answer.value for answer in some} == {
            j.key: b"%d" % j.task for j in JOBS
        }
    assert sum(not answer.was_there for some in answers for answer in some) == 72
    assert not _locks(store)


def test_a_killed_holder_s_lock_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "aa" / ".lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(HeldError), held(path):
            pass
        child.kill()
    with held(path):
        assert path.exists()
    assert not list(path.parent.iterdir())


def test_a_holder_on_another_machine_is_dead_when_it_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "SILENCE_S", 0.0)
    path = tmp_path / ".lock"
    path.write_text("elsewhere 1 ab")
    silence = Silence(path)
    silence.end()
    os.utime(path, ns=(1, 1))
    silence.end()
    with pytest.raises(HeldError), held(path):
        pass
    silence.end()
    with held(path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_lock_goes_with_a_fault(tmp_path: Path) -> None:
    def compute(_shared: None, _given: int) -> Made:
        raise KeyboardInterrupt

    store = Store.make(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        do_jobs(compute, JOBS[:1], None, store.shelf())
    assert not _locks(store)
