"""Runs jobs on dask's workers: of a cluster on this machine, or of a scheduler elsewhere."""

import logging
import queue
import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from ethosgen.sweeps.jobs import Answer, Batch, Compute, do_jobs
from ethosgen.sweeps.store import Shelf
from ethosgen.values.errors import InputError, TargetError, ToolError

_NEEDED = ("distributed", "pyarrow")
_CONNECT_S = 20
_LOOK_S = 2.0
"""How often the connection is looked at while no task ends."""
_GATHER_S = 60.0
_LOST = "the connection to dask's scheduler was lost"


def require_dask() -> None:
    """Raise ToolError if a package of the extra is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ToolError(
            f"a sweep needs {' and '.join(missing)}; install them with: "
            "pip install 'ethosgen[sweep]'"
        )


class Cluster:
    """A connection to dask's scheduler."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def dashboard(self) -> str:
        """The address of dask's dashboard."""
        return str(self._client.dashboard_link)

    def workers(self) -> int:
        """Return the number of workers that are connected now."""
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def run(
        self, compute: Compute, batches: Sequence[Batch], shelf: Shelf
    ) -> Generator[list[Answer], None, None]:
        """Yield the answers of each batch as it ends, in any order.

        TargetError if the scheduler goes away. What kills its worker again and again is computed
        alone, and then is an answer with that fault.
        """
        run = _Run(self._client, compute, shelf)
        try:
            for batch in batches:
                run.submit(batch)
            while run.sent:
                future = run.next_done()
                batch = run.sent.pop(future)
                if future.status == "cancelled":  # never by us
                    raise TargetError(_LOST)
                if future.status == "error" and len(batch.jobs) == 1:
                    why = f"its worker failed: {future.exception()}"
                    yield [Answer(batch.jobs[0].key, None, why)]
                elif future.status == "error":
                    for job in batch.jobs:
                        run.submit(Batch((job,), batch.shared))
                elif (answers := _result(future)) is not None:
                    yield answers
                else:
                    run.submit(batch)
        finally:
            run.cancel()


class _Run:
    """The tasks that a scheduler has, each with its batch."""

    def __init__(self, client: Any, compute: Compute, shelf: Shelf) -> None:
        self._client, self._compute, self._shelf = client, compute, shelf
        self._name = uuid.uuid4().hex
        self._shared: dict[int, tuple[Any, Any]] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._count = 0
        self.sent: dict[Any, Batch] = {}

    def submit(self, batch: Batch) -> None:
        """Send a batch. What jobs share is a task: if its worker dies, it is made again."""
        here = id(batch.shared)
        if here not in self._shared:
            task = self._client.submit(_hold, batch.shared, key=f"{self._name}-shared-{here}")
            self._shared[here] = task, batch.shared
        self._count += 1
        shared, _ = self._shared[here]
        future = self._client.submit(
            do_jobs,
            self._compute,
            batch.jobs,
            shared,
            self._shelf,
            key=f"{self._name}-{self._count}",
        )
        self.sent[future] = batch
        future.add_done_callback(self._done.put)

    def next_done(self) -> Any:
        """Wait for a task's end; TargetError if the scheduler goes away."""
        while True:
            try:
                future = self._done.get(timeout=_LOOK_S)
            except queue.Empty:
                if self._client.status not in ("running", "connecting"):
                    raise TargetError(_LOST) from None
                continue
            if future in self.sent:
                return future

    def cancel(self) -> None:
        """Withdraw what is not done."""
        if self._client.status == "running":
            self._client.cancel([*self.sent, *(task for task, _ in self._shared.values())])


def _result(future: Any) -> list[Answer] | None:
    """Return a task's answers; None if they were lost with the worker that had them."""
    from distributed import CancelledError

    if future.status != "finished":
        return None
    try:
        answers: list[Answer] = future.result(timeout=_GATHER_S)
    except (TimeoutError, CancelledError):
        return None
    return answers


def _hold(shared: Any) -> Any:
    return shared


@contextmanager
def connected(scheduler: str | None, workers: int) -> Iterator[Cluster]:
    """Yield a connection to a scheduler by its address, or else to workers on this machine.

    InputError if nobody answers at the address.
    """
    _quieten()
    if scheduler is None:
        with _local(workers) as cluster:
            yield cluster
        return
    from distributed import Client

    try:
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no scheduler of dask answers at '{scheduler}' ({str(error) or type(error).__name__});"
            " start one with 'dask scheduler', and pass the address that it prints"
        ) from None
    with client:
        yield Cluster(client)


def _quieten() -> None:
    """Keep dask's log to itself unless the user asked for logs: a worker's death is no news here.

    Its loggers get a level of their own at the import.
    """
    import distributed

    if not logging.getLogger().isEnabledFor(logging.INFO):
        for name in [one for one in logging.Logger.manager.loggerDict if _is_dask(one)]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        logging.getLogger(distributed.__name__).setLevel(logging.CRITICAL)


def _is_dask(logger: str) -> bool:
    return logger.split(".", maxsplit=1)[0] in ("bokeh", "dask", "distributed", "tornado")


@contextmanager
def _local(workers: int) -> Iterator[Cluster]:
    """Yield workers on this machine, a process each, that nobody else's machine can reach."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield Cluster(client)
