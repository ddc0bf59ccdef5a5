"""The code inside a dask worker: it ends a batch early if nothing waits for the rest."""

import time
from collections.abc import Sequence

from ethosgen_sweep.jobs import Compute, Job, JobAnswer, do_jobs
from ethosgen_sweep.store import Shelf

_LONGEST_S = 20.0
"""A batch ends after the job that passes this time; others do the rest. So progress shows, and
a worker that dies without the store's folder costs no more."""


def do_batch(
    compute: Compute, jobs: Sequence[Job], shared: object, shelf: Shelf
) -> list[JobAnswer]:
    """Do jobs in order until the time is over, or until the sweep that sent them is gone."""
    until = time.monotonic() + _LONGEST_S
    return do_jobs(compute, jobs, shared, shelf, lambda: time.monotonic() < until and _is_wanted())


def _is_wanted() -> bool:
    """Return whether the task of this thread still has a scheduler and a client.

    Otherwise, after a sweep was killed, the next would compute the same jobs at the same time.
    """
    from distributed import Status, get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    is_up = worker.status in (Status.running, Status.paused)
    return is_up and task is not None and task.state in ("executing", "long-running")
