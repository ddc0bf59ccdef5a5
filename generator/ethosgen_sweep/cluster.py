"""Runs jobs on the workers of dask's scheduler."""

import queue
import time
import uuid
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ethosgen.values.errors import TargetError, ToolError
from ethosgen.values.grammar import counted
from ethosgen_sweep.jobs import Batch, Compute, JobAnswer, UnfitWorkerError, check_worker
from ethosgen_sweep.store import Shelf
from ethosgen_sweep.worker import do_batch

_AHEAD = 4
"""Batches that the scheduler has for each worker, so that none waits for the next."""
_LEAST_AHEAD = 64
"""Batches that it has even so: the number tells a cluster that grows how many workers it needs."""
_LOOK_S = 2.0
"""How often the connection is looked at while no task ends."""
_COUNT_S = 1.0
"""The age at which the number of workers is asked again: that is a message to the scheduler."""
_GATHER_S = 20.0
"""The time to fetch answers; if their worker dies meanwhile, their batch is sent again."""
_ATTEMPTS = 3
"""Times that a batch may fail in workers that are fit."""
_LOST = "the connection to dask's scheduler was lost"


class Cluster:
    """A connection to dask's scheduler at `address`.

    `unfit` has the addresses of workers that cannot compute, each with the reason.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self.address = address
        self.unfit: dict[str, str] = {}
        self._count, self._counted = 0, float("-inf")
        self._some_fit = False

    @property
    def dashboard(self) -> str:
        """The address of dask's dashboard."""
        return str(self._client.dashboard_link)

    def workers(self) -> int:
        """Return the number of connected workers, at most a second old."""
        if time.monotonic() - self._counted > _COUNT_S:
            self._count = int(self._client.scheduler_info(n_workers=0)["n_workers"])
            self._counted = time.monotonic()
        return self._count

    def wait_for_workers(self) -> None:
        """Return when a worker is connected that may be fit.

        TargetError if the scheduler goes away before.
        """
        while self.workers() <= len(self.unfit) and not self._fit():
            self.require_connection()
            time.sleep(_COUNT_S / 2)

    def require_connection(self) -> None:
        """Raise TargetError if the scheduler has gone away."""
        if self._client.status not in ("running", "connecting"):
            raise TargetError(_LOST)

    def run(
        self, compute: Compute, batches: Iterable[Batch], shelf: Shelf
    ) -> Generator[list[JobAnswer], None, None]:
        """Yield the answers of each batch as it ends, in any order, and none while none ends.

        TargetError if the scheduler goes away; ToolError if no worker can compute. A job that kills
        its worker repeatedly is computed alone, and then becomes an answer with that fault. Batches
        are taken when workers need them, since the scheduler keeps everything that it is sent.
        """
        run = _SubmittedTasks(self, self._client, compute, shelf)
        waiting = iter(batches)
        try:
            while True:
                ahead = max(_AHEAD * self.workers(), _LEAST_AHEAD)
                for batch in islice(waiting, max(ahead - len(run.sent), 0)):
                    run.submit(_Sent(batch))
                if not run.sent and not run.submit_suspect():
                    break
                yield run.next_answers()
        except OSError:
            raise TargetError(_LOST) from None
        finally:
            run.cancel()

    def look_for_unfit(self, compute: Compute) -> bool:
        """Ask all workers whether they can compute; return whether the answers name a new one.

        ToolError if none can, and none ever could.
        """
        before = set(self.unfit)
        answers = self._client.run(check_worker, compute, on_error="return")
        self.unfit = {worker: _reason(why) for worker, why in answers.items() if _is_unfit(why)}
        self._some_fit |= len(self.unfit) < len(answers)
        if self.unfit and not self._some_fit:
            raise ToolError(
                f"none of {counted(len(answers), 'worker')} at {self.address} can compute: "
                f"{next(iter(self.unfit.values()))}"
            )
        return bool(set(self.unfit) - before)

    def places(self) -> dict[str, Any]:
        """Return dask's options that prefer workers which are fit; none if all are."""
        fit = self._fit() if self.unfit else []
        return {"workers": fit, "allow_other_workers": True} if fit else {}

    def _fit(self) -> list[str]:
        """Return the addresses of workers that are not known to be unfit."""
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        return [worker for worker in known if worker not in self.unfit]


def _is_unfit(answer: object) -> bool:
    """Return whether a worker said that it cannot compute, and is not merely gone."""
    return isinstance(answer, Exception) and not isinstance(answer, OSError)


def _reason(error: object) -> str:
    if isinstance(error, UnfitWorkerError):
        return str(error)
    return f"a worker cannot run this ethosgen ({error}); install the same on all"


@dataclass
class _Sent:
    """A batch, and how often it failed in workers that seemed fit.

    `is_alone` if the scheduler has no other, so a worker's death is this batch's fault.
    """

    batch: Batch
    failures: int = 0
    is_alone: bool = False


@dataclass
class _Shared:
    """The task that holds the jobs' shared value, for the batches that need it."""

    task: Any
    users: int = 0


class _SubmittedTasks:
    """The tasks that a scheduler has, each with its batch."""

    def __init__(self, cluster: Cluster, client: Any, compute: Compute, shelf: Shelf) -> None:
        self._cluster, self._client = cluster, client
        self._compute, self._shelf = compute, shelf
        self._name = uuid.uuid4().hex
        self._shared: dict[int, _Shared] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._count = 0
        self._suspects: list[Batch] = []
        self.sent: dict[Any, _Sent] = {}

    def submit(self, sent: _Sent) -> None:
        """Send a batch. The shared value is a task: if its worker dies, it is computed again."""
        self._cluster.require_connection()
        places = self._cluster.places()
        batch, here = sent.batch, id(sent.batch.shared)
        self._count += 1
        if here not in self._shared:
            key = f"network-{self._name}-{self._count}"
            self._shared[here] = _Shared(self._client.submit(_hold, batch.shared, key=key))
        shared = self._shared[here]
        shared.users += 1
        future = self._client.submit(
            do_batch,
            self._compute,
            batch.jobs,
            shared.task,
            self._shelf,
            key=f"sweep-{self._name}-{self._count}",
            **places,
        )
        self.sent[future] = sent
        future.add_done_callback(self._done.put)

    def submit_suspect(self) -> bool:
        """Send one job that dask blames for deaths of workers; return whether there was one.

        dask also blames the tasks that were next in a dead worker's queue. So a suspect is computed
        again when nothing else is left that could kill its worker.
        """
        if not self._suspects:
            return False
        self.submit(_Sent(self._suspects.pop(), is_alone=True))
        return True

    def _take(self, future: Any) -> _Sent | None:
        """Return the batch of a task that ended; forget the value that only it shared."""
        sent = self.sent.pop(future, None)
        if sent is not None:
            here = id(sent.batch.shared)
            self._shared[here].users -= 1
            if not self._shared[here].users:
                del self._shared[here]
        return sent

    def next_answers(self) -> list[JobAnswer]:
        """Wait for a task's end, or a moment; TargetError if the scheduler goes away."""
        try:
            future = self._done.get(timeout=_LOOK_S)
        except queue.Empty:
            self._cluster.require_connection()
            return []
        sent = self._take(future)
        if sent is None:
            return []
        if future.status == "cancelled":  # never by us
            raise TargetError(_LOST)
        if future.status == "error":
            return self._retry(sent, future.exception())
        answers = _result(future)
        done = {answer.key for answer in answers}
        left = tuple(job for job in sent.batch.jobs if job.key not in done)
        if left:
            self.submit(_Sent(Batch(left, sent.batch.shared)))
        return answers

    def _retry(self, sent: _Sent, error: Any) -> list[JobAnswer]:
        """Send a batch again that failed as a whole; return the fault of a job that is alone."""
        from distributed import KilledWorker

        if not isinstance(error, KilledWorker):
            sent.failures += not self._cluster.look_for_unfit(self._compute)
            if sent.failures < _ATTEMPTS:
                self._cluster.wait_for_workers()
                self.submit(sent)
                return []
        batch = sent.batch
        if len(batch.jobs) > 1:
            for job in batch.jobs:
                self.submit(_Sent(Batch((job,), batch.shared)))
        elif isinstance(error, KilledWorker) and not sent.is_alone:
            self._suspects.append(batch)
        else:
            return [JobAnswer(batch.jobs[0].key, None, f"its worker failed: {error}")]
        return []

    def cancel(self) -> None:
        """Cancel all unfinished batches."""
        if self._client.status == "running":
            self._client.cancel([*self.sent, *(shared.task for shared in self._shared.values())])


def _result(future: Any) -> list[JobAnswer]:
    """Return a task's answers; none if they were lost with the worker that had them."""
    from distributed import CancelledError, KilledWorker

    if future.status != "finished":
        return []
    try:
        answers: list[JobAnswer] = future.result(timeout=_GATHER_S)
    except (OSError, CancelledError, KilledWorker):  # also TimeoutError
        return []
    return answers


def _hold(shared: Any) -> Any:
    return shared
