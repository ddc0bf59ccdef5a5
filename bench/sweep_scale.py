"""What many workers ask of dask's scheduler: `python -m bench.sweep_scale 100 400 1000`.

A real scheduler in a process of its own, and as many of dask's workers as asked, in a few event
loops on this machine. A point sleeps instead of computing, so that the machine's cores are left to
scheduler, client and workers. Everything else is what a sweep does.
"""

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from ethosgen_sweep.connection import connected
from ethosgen_sweep.jobs import Batch, Job, Made
from ethosgen_sweep.store import Shelf

_POINT_S = 0.17
"""A cheap point: docs/sweep.md has the measurement."""
_BATCH = 64
_SECONDS = 20.0
"""The work of each worker."""
_PROCESSES = 4
_SCHEDULER = """
import asyncio
from distributed import Scheduler

async def serve():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(serve())
"""
_WORKERS = """
import asyncio, sys
from contextlib import AsyncExitStack
import dask
from distributed import Worker

# What a worker does for itself, all the time, would take both cores of this machine.
dask.config.set({
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
})

async def serve(address, count):
    async with AsyncExitStack() as stack:
        for _ in range(count):
            worker = Worker(address, nthreads=1, host="127.0.0.1", dashboard=False)
            await stack.enter_async_context(worker)
        print("up", flush=True)
        await asyncio.sleep(3600)

asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
"""


@dataclass(frozen=True)
class Sleep:
    """A point that takes its time and no processor."""

    seconds: float

    def __call__(self, shared: object, task: object) -> Made:
        """Return a value of a point's size."""
        time.sleep(self.seconds)
        return Made(b"0" * 600)


@contextmanager
def _started(code: str, *words: str) -> Iterator[tuple[psutil.Process, str]]:
    command = [sys.executable, "-c", code, *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield psutil.Process(process.pid), process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def measure(workers: int, batch: int, point_s: float = _POINT_S) -> dict[str, float]:
    """Return times in seconds, and tasks per second, of a run on so many workers."""
    each = max(round(_SECONDS / (batch * point_s)), 1)
    count = each * workers
    jobs = [Job(f"{number:064x}", number) for number in range(count * batch)]
    batches = [Batch(tuple(jobs[at : at + batch]), None) for at in range(0, len(jobs), batch)]
    with ExitStack() as stack:
        scheduler, address = stack.enter_context(_started(_SCHEDULER))
        for number in range(_PROCESSES):
            share = (workers + number) // _PROCESSES
            stack.enter_context(_started(_WORKERS, address, str(share)))
        cluster = stack.enter_context(connected(address, workers))
        while cluster.workers() < workers:
            time.sleep(0.5)
        client = psutil.Process()
        began, busy, own = time.perf_counter(), _cpu_s(scheduler), _cpu_s(client)
        nowhere = Shelf(Path(tempfile.gettempdir()) / "no-such-store", "")
        done = sum(len(some) for some in cluster.run(Sleep(point_s), batches, nowhere))
        wall = time.perf_counter() - began
        assert done == len(jobs)
        return {
            "workers": workers,
            "points in a batch": batch,
            "tasks": count,
            "s": round(wall, 1),
            "ideal s": round(each * batch * point_s, 1),
            "tasks/s": round(count / wall, 1),
            "scheduler ms/task": round((_cpu_s(scheduler) - busy) / count * 1000, 2),
            "client ms/task": round((_cpu_s(client) - own) / count * 1000, 2),
        }


if __name__ == "__main__":
    # workers import Sleep by this name, not as __main__'s
    measure = importlib.import_module("bench.sweep_scale").measure
    for number in map(int, sys.argv[1:] or ["50", "100", "200", "400"]):
        for size in (_BATCH, 16):
            print(json.dumps(measure(number, size)), flush=True)  # noqa: T201
