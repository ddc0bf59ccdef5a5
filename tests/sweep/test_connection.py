"""A scheduler elsewhere, in a process of its own: it dies, lacks workers, or is none."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ethosgen.host import extras
from ethosgen.values.errors import InputError, TargetError, ToolError
from ethosgen_sweep import connection as module
from ethosgen_sweep.cluster import Cluster
from ethosgen_sweep.connection import connected
from ethosgen_sweep.jobs import Batch, Job, Made, UnfitWorkerError
from ethosgen_sweep.store import Store
from tests.support.needs import needs_extra
from tests.support.time_limit import time_limit

pytestmark = needs_extra("sweep")

ROOT = Path(__file__).parents[2]
UNFIT = "ETHOSGEN_TEST_UNFIT"
SERVER = """
import asyncio, sys
from distributed import Scheduler, Worker

async def serve(address):
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        address = address or scheduler.address
        async with Worker(address, nthreads=1, host="127.0.0.1", dashboard=False) as worker:
            print(address, worker.address, flush=True)
            await asyncio.sleep(120)

asyncio.run(serve(sys.argv[1]))
"""
"""A scheduler with a worker in one process, or a worker for another scheduler."""


@contextmanager
def server(scheduler: str = "", **env: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Yield the process, the scheduler's address, and the worker's."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "generator")])
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, scheduler],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **env},
    )
    try:
        assert process.stdout is not None
        address, worker = process.stdout.readline().split()
        yield process, address, worker
    finally:
        process.kill()
        process.communicate()


class Toy:
    """Notes each computation as a line in a file; some processes are unfit."""

    def check(self) -> None:
        if os.environ.get(UNFIT):
            raise UnfitWorkerError("a worker has another version")

    def __call__(self, shared: Path, task: str) -> Made:
        with shared.open("a") as file:
            file.write(f"{task}\n")
        time.sleep(0.02)
        return Made(task.encode())


def jobs(count: int, notes: Path) -> list[Batch]:
    """Return batches of three jobs each."""
    numbered = [Job(f"{number:064x}", f"job{number}") for number in range(count)]
    return [Batch(tuple(numbered[at : at + 3]), notes) for at in range(0, count, 3)]


def test_a_killed_scheduler_ends_the_run_and_the_next_goes_on(tmp_path: Path) -> None:
    notes, store = tmp_path / "notes", Store.make(tmp_path / "store")
    batches = jobs(30, notes)
    keys = [job.key for batch in batches for job in batch.jobs]
    with time_limit(120):
        with server() as (process, address, _), connected(address, 1) as cluster:
            said = "the connection to dask's scheduler was lost"
            with pytest.raises(TargetError, match=said):
                for answers in cluster.run(Toy(), batches, store.shelf()):
                    if answers:
                        os.kill(process.pid, signal.SIGKILL)
        kept = sum(store.get(key) is not None for key in keys)
        assert 3 <= kept < 30
        with server() as (_, address, _), connected(address, 1) as cluster:
            assert cluster.address == address and cluster.workers() == 1
            answers = [
                answer for some in cluster.run(Toy(), batches, store.shelf()) for answer in some
            ]
    assert sorted(answer.key for answer in answers) == keys
    assert sum(answer.was_there for answer in answers) == kept
    computed = notes.read_text().split()
    assert set(computed) == {f"job{number}" for number in range(30)}
    assert len(computed) - 30 <= 1, "only the job in work is computed again"


def test_an_unfit_worker_is_left_out_and_named(tmp_path: Path) -> None:
    batches, store = jobs(12, tmp_path / "notes"), Store.make(tmp_path / "store")
    with (
        time_limit(120),
        server() as (_, address, _),
        server(address, **{UNFIT: "1"}) as (_, _, bad),
        connected(address, 1) as cluster,
    ):
        assert cluster.workers() == 2
        answers = [answer for some in cluster.run(Toy(), batches, store.shelf()) for answer in some]
        assert [answer.fault for answer in answers] == [""] * 12
        assert cluster.unfit in ({}, {bad: "a worker has another version"})
        cluster.look_for_unfit(Toy())
        assert cluster.unfit == {bad: "a worker has another version"}
        assert cluster.places()["allow_other_workers"] is True
        assert bad not in cluster.places()["workers"]


def test_a_run_ends_if_no_worker_is_fit(tmp_path: Path) -> None:
    store = Store.make(tmp_path / "store")
    with (
        time_limit(120),
        server(**{UNFIT: "1"}) as (_, address, _),
        connected(address, 1) as cluster,
        pytest.raises(ToolError, match=r"none of 1 worker at tcp://.* another version"),
    ):
        list(cluster.run(Toy(), jobs(3, tmp_path / "notes"), store.shelf()))
    assert not (tmp_path / "notes").exists()


class Idle:
    """A client whose scheduler gets its first worker after a while."""

    status = "running"

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        count = self.counts.pop(0)
        return {"n_workers": count, "workers": {f"tcp://{number}": {} for number in range(count)}}


def test_workers_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ethosgen_sweep.cluster._COUNT_S", 0.0)
    client = Idle([0, 0, 0, 0, 3])
    Cluster(client, "tcp://somewhere").wait_for_workers()
    assert not client.counts
    client = Idle([0, 0])
    client.status = "closed"
    with pytest.raises(TargetError, match="the connection to dask's scheduler was lost"):
        Cluster(client, "tcp://somewhere").wait_for_workers()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("tcp://127.0.0.1:1", "(within|after) 1 s"),
        ("localhost", "missing port number"),
        ("nonsense://x:1", "unknown address scheme"),
        ("tls://127.0.0.1:1", "TLS expects"),
        ("", "missing port number"),
    ],
)
def test_an_address_without_a_scheduler_is_an_input_error(
    address: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CONNECT_S", 1)
    said = f"no scheduler of dask answers at '{address}' .*{why}.*start one with 'dask scheduler'"
    with time_limit(60), pytest.raises(InputError, match=said), connected(address, 1):
        pass


def test_another_program_at_the_port_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as other, time_limit(60):
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(InputError, match=r"(within|after) 1 s"), connected(address, 1):
            pass


def test_a_worker_is_not_taken_for_a_scheduler() -> None:
    said = "it is a worker of dask's"
    with (
        time_limit(60),
        server() as (_, _, worker),
        pytest.raises(InputError, match=said),
        connected(worker, 1),
    ):
        pass


def test_missing_packages_are_named_with_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_here", lambda _: False)
    with pytest.raises(ToolError, match=r"distributed and pyarrow; install them .*\[sweep\]'"):
        module.require_dask()
