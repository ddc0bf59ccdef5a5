"""A simulation of a sweep on many workers: `python -m bench.sweep_model`.

A closed queueing network with the times that bench/sweep_scale.py measured: batches go from the
client through the scheduler to the worker with the fewest, and their answers the same way back.
Scheduler and client do one thing at a time; heartbeats take a part of the scheduler's time.
"""

import heapq
import json

_POINT_S = 0.17
_SCHEDULER_S = 0.0036
_CLIENT_S = 0.0024
"""Processor time for a batch: 100 workers with batches of 16 points, docs/sweep.md."""
_HEARTBEATS = 0.00038
"""The part of the scheduler's time that each worker takes."""
_AHEAD = 4
"""Batches that the scheduler has for each worker (ethosgen_sweep/cluster.py)."""


def simulate(workers: int, batch: int, each: int = 12) -> dict[str, float]:
    """Return the time in seconds of a sweep with so many batches for each worker."""
    scheduler_s = _SCHEDULER_S / max(1 - _HEARTBEATS * workers, 0.01)
    work_s, total = batch * _POINT_S, workers * each
    free_at = [0.0] * workers
    held = [(0, worker) for worker in range(workers)]
    queued = [0] * workers
    events: list[tuple[float, int]] = []
    scheduler = client = end = 0.0

    def send(now: float) -> None:
        """Send a batch through the scheduler to the worker with the fewest."""
        nonlocal scheduler
        scheduler = max(scheduler, now) + scheduler_s / 2
        count, worker = heapq.heappop(held)
        while count != queued[worker]:
            count, worker = heapq.heappop(held)
        queued[worker] += 1
        heapq.heappush(held, (queued[worker], worker))
        free_at[worker] = max(free_at[worker], scheduler) + work_s
        heapq.heappush(events, (free_at[worker], worker))

    sent = min(_AHEAD * workers, total)
    for _ in range(sent):
        client += _CLIENT_S / 2
        send(client)
    while events:
        now, worker = heapq.heappop(events)
        queued[worker] -= 1
        heapq.heappush(held, (queued[worker], worker))
        scheduler = max(scheduler, now) + scheduler_s / 2
        client = end = max(client, scheduler) + _CLIENT_S / 2
        if sent < total:
            sent += 1
            client += _CLIENT_S / 2
            send(client)
    ideal = each * work_s
    return {
        "workers": workers,
        "points in a batch": batch,
        "batches": total,
        "s": round(end, 1),
        "ideal s": round(ideal, 1),
        "of the ideal": round(ideal / end, 3),
        "batches/s": round(total / end, 1),
    }


if __name__ == "__main__":
    for count in (100, 400, 1000, 2000):
        for size in (16, 64):
            print(json.dumps(simulate(count, size)))  # noqa: T201
