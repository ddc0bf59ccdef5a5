"""The simulation: cases computed by hand, processes and resources of simpy, and its bound."""

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import simpy

from ethosgen.mesh.bound import bound_of
from ethosgen.mesh.layout import Layout
from ethosgen.mesh.report import report_of
from ethosgen.mesh.simulation import _Event, _Run, default_samples, simulate
from ethosgen.mesh.traffic import link_bytes, route
from ethosgen.values.errors import InternalError
from ethosgen.values.watch import Watch
from tests.support.task_graphs import (
    BYTES_PER_S,
    CLOCK_HZ,
    chain,
    graph,
    layout,
    random_graph,
    system,
)

QUIET = Watch()


def test_a_chain_without_contention_by_hand() -> None:
    """a works 10 ms, sends 4 ms over 2 links of 1 ms latency; b works 6 ms."""
    placed = layout(chain([10, 6], 4), system(3, 1, 0.001), [(0, 0), (2, 0)])
    run = simulate(placed, 30, QUIET)
    assert bound_of(placed).limit == "task 'a'"
    assert run.entered_s == pytest.approx(0.010 * np.arange(30))
    assert run.left_s == pytest.approx(0.010 * np.arange(30) + 0.010 + 0.002 + 0.004 + 0.006)
    assert run.period_s == pytest.approx(bound_of(placed).period_s)
    busy = {i: load for i, load in enumerate(run.link_loads) if load}
    assert busy == pytest.approx({0: 0.4, 4: 0.4})  # eastwards from elements 0 and 1


def test_a_link_that_is_shared_limits_and_makes_wait_by_hand() -> None:
    """a and b send 6 ms each over the link from (1, 0) to c, which works 1 ms: 12 ms a sample."""
    tasks = graph({"a": 1, "b": 1, "c": 1}, {("a", "c"): 6, ("b", "c"): 6})
    placed = layout(tasks, system(3, 1), [(0, 0), (1, 0), (2, 0)])
    bound = bound_of(placed)
    assert (bound.limit, bound.period_s) == ("the link (1, 0) → (2, 0)", pytest.approx(0.012))
    run = simulate(placed, 60, QUIET)
    assert run.period_s == pytest.approx(0.012)
    assert run.left_s[0] == pytest.approx(0.001 + 0.012 + 0.001)
    assert run.link_loads.max() == pytest.approx(1.0)


def test_replicas_take_turns_by_hand() -> None:
    """Two replicas of b, 20 ms each, keep up with a, 10 ms; their results come out in turn."""
    placed = layout(chain([10, 20], 1), system(3, 1), [(1, 0), (0, 0), (2, 0)], [1, 2])
    run = simulate(placed, 40, QUIET)
    assert run.period_s == pytest.approx(0.010)
    assert run.left_s == pytest.approx(0.010 * np.arange(40) + 0.010 + 0.001 + 0.020)


def test_a_hand_over_that_is_too_long_for_two_buffers_limits() -> None:
    """One more sample leaves when one is finished: 5 ms on the way and 10 ms of work, for two."""
    tasks = chain([1, 10], 0)
    placed = layout(tasks, system(6, 1, 0.005), [(0, 0), (5, 0)])
    bound = bound_of(placed)
    assert bound.limit == "the hand-over from 'a' to 'b'"
    assert bound.period_s == pytest.approx((5 * 0.005 + 0.010) / 2)
    assert simulate(placed, 60, QUIET).period_s == pytest.approx(bound.period_s)


def test_the_shorter_way_has_buffers_for_the_longer_one() -> None:
    edges = {("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 1, ("a", "d"): 1}
    tasks = graph(dict.fromkeys("abcd", 10), edges)
    placed = layout(tasks, system(2, 2), [(0, 0), (1, 0), (1, 1), (0, 1)])
    assert list(placed.depths) == [2, 2, 2, 4]
    assert simulate(placed, 40, QUIET).period_s == pytest.approx(0.010)
    tight = Layout(placed.replication, placed.system, placed.elements, [2, 2, 2, 1])
    run = simulate(tight, 40, QUIET)
    assert run.period_s > 0.012
    assert report_of(tight, run).short == ("from 'a' to 'd'", 1, 4)
    assert report_of(placed, simulate(placed, 40, QUIET)).short is None


@pytest.mark.parametrize("seed", range(12))
def test_it_equals_processes_and_resources(seed: int) -> None:
    """The same rules, written as simpy's processes, with a Resource for each link and element."""
    rng = random.Random(seed)
    tasks = random_graph(rng, 5)
    counts = [rng.choice((1, 1, 2, 3)) for _ in tasks.tasks]
    places = [(x, y) for x in range(4) for y in range(4)]
    rng.shuffle(places)
    placed = layout(tasks, system(4, 4, 0.00137), places[: sum(counts)], counts)
    run = simulate(placed, 30, QUIET)
    assert run.left_s == pytest.approx(Reference(placed, 30).left(), rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_no_simulation_is_faster_than_the_bound(seed: int) -> None:
    rng = random.Random(100 + seed)
    tasks = random_graph(rng, 7)
    counts = [rng.choice((1, 2, 4)) for _ in tasks.tasks]
    places = [(x, y) for x in range(6) for y in range(6)]
    rng.shuffle(places)
    placed = layout(tasks, system(6, 6, 0.0005), places[: sum(counts)], counts)
    run = simulate(placed, 400, QUIET)
    bound = bound_of(placed).period_s
    blur = float(np.ptp(run.latencies_s)) / (run.measured.stop - run.measured.start)
    assert run.period_s >= bound - 2 * blur - 1e-9
    flows = placed.replication.flows
    loads = link_bytes(flows, placed.elements, placed.system.mesh) / BYTES_PER_S
    assert run.link_busy_s / 400 == pytest.approx(loads, rel=0.02)


@pytest.mark.parametrize("seed", range(6))
def test_the_slowest_stage_alone_decides_where_links_and_buffers_do_not(seed: int) -> None:
    """Throughput is 1 / max(cycles / replicas), and the latency the sum of work and ways."""
    rng = random.Random(seed)
    cycles = [rng.randint(50, 400) for _ in range(5)]
    counts = [rng.randint(1, 4) for _ in cycles]
    places = [(x, y) for x in range(5) for y in range(4)]
    mesh = system(5, 4, 0.0001)
    placed = layout(chain(cycles, 1), mesh, rng.sample(places, sum(counts)), counts)
    run = simulate(placed, 300, QUIET)
    period = max(c / n for c, n in zip(cycles, counts, strict=True)) / CLOCK_HZ
    assert run.period_s == pytest.approx(period, rel=0.005)
    least = sum(cycles) / CLOCK_HZ + 4 / BYTES_PER_S
    assert (run.latencies_s >= least).all()
    assert (run.latencies_s <= least + 4 * 7 * 0.0001 + 0.004).all(), "and hardly any waiting"


def test_every_sample_comes_out_once_and_in_order() -> None:
    rng = random.Random(7)
    tasks = random_graph(rng, 6)
    placed = layout(tasks, system(3, 2), [(x, y) for y in range(2) for x in range(3)])
    run = simulate(placed, default_samples(placed), QUIET)
    assert run.is_full
    assert (np.diff(run.left_s) >= 0).all()
    assert (run.left_s > run.entered_s).all()


@pytest.mark.parametrize("counts", [[1, 1], [1, 3], [4, 2]])
def test_a_sample_that_is_lost_or_doubled_is_a_bug(counts: list[int]) -> None:
    places = [(x, 0) for x in range(sum(counts))]
    placed = layout(chain([1, 1], 1), system(6, 1), places, counts)
    run = _Run(placed, 25, QUIET)
    run.start()
    run.environment.run()
    run.check()
    with pytest.raises(InternalError, match=r"'b'.* came to sample 0 instead of"):
        run.finish(_Event((), counts[0], 0))
    run.done[counts[0]] -= 1
    with pytest.raises(InternalError, match=r"'b'.* came to sample"):
        run.check()


class Reference:
    """The rules of the simulation in simpy's own terms; it shares only the routes."""

    def __init__(self, placed: Layout, samples: int) -> None:
        self.env = simpy.Environment()
        self.placed, self.samples = placed, samples
        self.graph, self.counts = placed.replication.graph, placed.replication.counts
        self.period = bound_of(placed).period_s
        self.links: dict[int, Any] = defaultdict(lambda: simpy.Resource(self.env))
        self.arrived: dict[tuple[int, int], Any] = defaultdict(self.env.event)
        self.slots: dict[tuple[int, int, int], Any] = defaultdict(self.env.event)
        self.done = np.zeros(samples)

    def left(self) -> np.ndarray:
        for edge, depth in enumerate(self.placed.depths):
            receiver = self.graph.ends[edge][1]
            for sample in range(min(self.samples, depth * self.counts[receiver])):
                self.slots[edge, receiver, sample].succeed()
        for task, count in enumerate(self.counts):
            for number in range(count):
                self.env.process(self.element(task, number))
        self.env.run()
        return np.maximum.accumulate(self.done)

    def element(self, task: int, number: int) -> Any:
        count = self.counts[task]
        outputs = simpy.Resource(self.env, 2)
        seconds = self.placed.seconds[self.placed.replication.first[task] + number]
        for sample in range(number, self.samples, count):
            if not self.graph.incoming[task]:
                yield self.env.timeout(max(0.0, sample * self.period - self.env.now))
            for edge in self.graph.incoming[task]:
                yield self.arrived[edge, sample]
            room = outputs.request()
            yield room
            yield self.env.timeout(seconds)
            self.done[sample] = max(self.done[sample], self.env.now)
            for edge in self.graph.incoming[task]:
                later = sample + self.placed.depths[edge] * count
                if later < self.samples:
                    self.slots[edge, task, later].succeed()
            gone = [
                self.env.process(self.transfer(edge, sample)) for edge in self.graph.outgoing[task]
            ]
            self.env.process(self.release(outputs, room, gone))

    def release(self, outputs: Any, room: Any, gone: list[Any]) -> Any:
        yield from gone
        outputs.release(room)

    def transfer(self, edge: int, sample: int) -> Any:
        """End when all has left the sender; the head goes on from link to link."""
        sender, receiver = self.graph.ends[edge]
        first, elements = self.placed.replication.first, self.placed.elements
        one = elements[first[sender] + sample % self.counts[sender]]
        other = elements[first[receiver] + sample % self.counts[receiver]]
        yield self.slots[edge, receiver, sample]
        size = self.graph.edges[edge].bytes / BYTES_PER_S
        links = route(int(one), int(other), self.placed.system.mesh)
        gone = self.env.event()
        self.env.process(self.head(edge, sample, links, size, gone))
        yield gone

    def head(self, edge: int, sample: int, links: list[int], size: float, gone: Any) -> Any:
        latency = self.placed.system.link.latency_s
        for number, link in enumerate(links):
            turn = self.links[link].request()
            yield turn
            self.env.process(self.body(link, turn, size, gone if number == 0 else None))
            yield self.env.timeout(latency)
        yield self.env.timeout(size)
        self.arrived[edge, sample].succeed()

    def body(self, link: int, turn: Any, size: float, gone: Any) -> Any:
        yield self.env.timeout(size)
        self.links[link].release(turn)
        if gone is not None:
            gone.succeed()
