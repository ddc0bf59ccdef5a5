"""dask's workers on this machine: a killed worker costs a retry; one job may be its fault."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import dask
import distributed
import pytest

from ethosgen_sweep.connection import connected
from ethosgen_sweep.jobs import Batch, Job, JobAnswer, Made
from ethosgen_sweep.store import Store
from tests.support.time_limit import time_limit

GOOD, KILLS_ONCE, KILLS = range(3)
assert distributed.__version__, "its settings are there before a test changes one of them"


def compute(shared: Path, task: Any) -> Made:
    """Kill this process once or always; a file counts the attempts."""
    name, kind = task
    attempts = shared / name
    attempts.write_text(attempts.read_text() + "." if attempts.exists() else ".")
    if kind == KILLS or (kind == KILLS_ONCE and attempts.read_text() == "."):
        time.sleep(2)  # the scheduler learns what ended before, so only the queue is blamed, too
        os.kill(os.getpid(), signal.SIGKILL)
    return Made(name.encode())


@pytest.mark.slow  # starts workers again and again
def test_a_killed_worker_costs_a_retry_and_a_killer_is_an_answer(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    kinds = [GOOD, KILLS_ONCE, GOOD, GOOD, KILLS, GOOD]
    jobs = [Job(f"{number:064x}", (f"job{number}", kind)) for number, kind in enumerate(kinds)]
    batches = [Batch(tuple(jobs[:3]), counts), Batch(tuple(jobs[3:]), counts)]
    store = Store.make(tmp_path / "store")
    with (
        time_limit(300),
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        connected(None, 1) as cluster,
    ):
        assert cluster.workers() == 1
        assert cluster.dashboard.startswith("http://127.0.0.1:")
        answers = [
            answer for some in cluster.run(compute, batches, store.shelf()) for answer in some
        ]
    by_key: dict[str, JobAnswer] = {answer.key: answer for answer in answers}
    assert len(answers) == len(by_key) == len(jobs)
    values = [by_key[job.key].value for job in jobs]
    assert values == [b"job0", b"job1", b"job2", b"job3", None, b"job5"]
    assert "its worker failed" in by_key[jobs[4].key].fault
    attempts = [len((counts / f"job{number}").read_text()) for number in range(6)]
    assert attempts[:4] == [1, 2, 1, 1] and attempts[5] == 1  # what was done is not done again
