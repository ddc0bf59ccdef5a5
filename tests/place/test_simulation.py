"""The simulation: cases computed by hand, processes and resources of simpy, and its bound."""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import simpy

from ethosgen.values.errors import InternalError
from ethosgen.values.watch import Watch
from ethosgen_place.arrays import Floats
from ethosgen_place.bound import bound_of
from ethosgen_place.command import report_lines
from ethosgen_place.filling import empty, full
from ethosgen_place.layout import Placement
from ethosgen_place.report import report_of
from ethosgen_place.simulation import (
    Simulated,
    _Event,
    _SimulationState,
    simulate,
    simulate_steadily,
)
from ethosgen_place.traffic import link_bytes, route
from tests.support.task_graphs import (
    BYTES_PER_S,
    CLOCK_HZ,
    chain,
    graph,
    layout,
    random_graph,
    system,
    with_ports,
)

QUIET = Watch()
SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


def loads(run: Simulated) -> Floats:
    """Return the share of the time in which the simulation kept each link busy."""
    return run.link_busy_s / run.samples / run.period_s


def test_a_chain_without_contention_by_hand() -> None:
    """a works 10 ms, sends 4 ms over 2 links of 1 ms latency; b works 6 ms."""
    placed = layout(chain([10, 6], 4), system(3, 1, 0.001), [(0, 0), (2, 0)])
    run = simulate(placed, 30, QUIET)
    assert bound_of(placed).limit == "task 'a'"
    assert run.entered_s == pytest.approx(0.010 * np.arange(30))
    assert run.left_s == pytest.approx(0.010 * np.arange(30) + 0.010 + 0.002 + 0.004 + 0.006)
    assert run.period_s == pytest.approx(bound_of(placed).period_s)
    busy = {i: load for i, load in enumerate(loads(run)) if load}
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
    assert loads(run).max() == pytest.approx(1.0)


def test_inputs_and_outputs_take_links_by_hand() -> None:
    """2 ms in over 3 links of 1 ms latency, 10 ms of work, 3 ms out over 1 link; 2 buffers."""
    tasks = with_ports(chain([10], 0), {"a": 2}, {"a": 3})
    mesh = system(4, 1, 0.001, ports={"input": [[0, 0]], "output": "east"})
    near = layout(tasks, mesh, [(2, 0)])
    run = simulate(near, 40, QUIET)
    assert run.entered_s == pytest.approx(0.010 * np.arange(40))
    assert run.left_s - run.entered_s == pytest.approx(0.003 + 0.002 + 0.010 + 0.002 + 0.003)
    busy = {i: load for i, load in enumerate(loads(run)) if load}
    assert busy == pytest.approx({0: 0.2, 4: 0.2, 16: 0.2, 8: 0.3, 17: 0.3})
    sizes = {i: size for i, size in enumerate(near.link_bytes) if size}
    assert sizes == {0: 2, 4: 2, 16: 2, 8: 3, 17: 3}


def test_a_mesh_that_is_not_steady_is_said_to_be_so() -> None:
    """Of 60 samples, those that are measured still fill the buffers: the period changes."""
    places = [(2, 0), (0, 1), (1, 1), (1, 2), (0, 2), (0, 0), (1, 0), (2, 1), (2, 2)]
    placed = layout(chain([24, 38], 39), system(3, 3, 0.0005), places, [4, 5])
    early = report_of(placed, simulate(placed, 60, QUIET))
    assert early.simulated.is_full and not early.simulated.is_steady
    (note,) = (line for line in report_lines(early) if line.startswith("  note"))
    assert "the mesh is not steady: its period still changed by 21 %; --samples sets" in note
    later = report_of(placed, simulate_steadily(placed, QUIET))
    assert later.simulated.is_steady
    assert not any(line.startswith("  note") for line in report_lines(later))
    assert min(later.simulated.period_s, early.simulated.period_s) > early.bound.period_s


@pytest.mark.parametrize(
    ("inputs", "outputs", "limit"),
    [
        (12, 1, "the link input → (0, 0)"),
        (1, 12, "the link (0, 0) → output"),
    ],
)
def test_a_port_that_is_shared_limits(inputs: int, outputs: int, limit: str) -> None:
    """Two replicas of 14 ms could do a sample in 7 ms, but all bytes take one port."""
    ports = {"input": [[0, 0]], "output": [[0, 0]]}
    tasks = with_ports(chain([14], 0), {"a": inputs}, {"a": outputs})
    placed = layout(tasks, system(2, 1, ports=ports), [(0, 0), (1, 0)], [2])
    assert (bound_of(placed).limit, bound_of(placed).is_link) == (limit, False)
    run = simulate(placed, 60, QUIET)
    assert run.period_s == pytest.approx(0.012)
    assert loads(run).max() == pytest.approx(1.0)
    hottest = report_of(placed, run).hottest
    assert hottest is not None
    assert f"the link {hottest[0]}" == limit


def test_an_input_that_is_too_long_for_two_buffers_limits() -> None:
    tasks = with_ports(chain([10], 0), {"a": 1}, {})
    placed = layout(tasks, system(9, 1, 0.002, ports={"input": "west"}), [(8, 0)])
    assert bound_of(placed).limit == "the input of 'a'"
    assert bound_of(placed).period_s == pytest.approx((9 * 0.002 + 0.001 + 0.010) / 2)
    assert simulate(placed, 60, QUIET).period_s == pytest.approx(bound_of(placed).period_s)


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
    placed = layout(tasks, system(2, 2), SQUARE)
    assert list(placed.depths) == [2, 2, 2, 4]
    assert simulate(placed, 40, QUIET).period_s == pytest.approx(0.010)
    tight = Placement(placed.replication, placed.system, placed.elements, [2, 2, 2, 1])
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
    ports = {"input": [[0, 1], [3, 2]], "output": "east"}
    if seed % 2:
        first, other = rng.sample(range(5), 2)
        tasks = with_ports(tasks, {"t0": 7, f"t{first}": 11}, {"t4": 9, f"t{other}": 3})
    placed = layout(tasks, system(4, 4, 0.00137, ports=ports), places[: sum(counts)], counts)
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
    assert run.period_s >= bound
    flows = placed.replication.flows
    wanted = link_bytes(flows, placed.elements, placed.system.mesh) / BYTES_PER_S
    assert run.link_busy_s[:144] / 400 == pytest.approx(wanted, rel=0.02)
    assert report_of(placed, run).link_loads.max() <= 1 + 1e-9
    assert not run.link_busy_s[144:].any(), "ports"


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
    run = simulate_steadily(placed, QUIET)
    assert run.is_full
    assert (np.diff(run.left_s) >= 0).all()
    assert (run.left_s > run.entered_s).all()


def test_a_full_mesh_goes_on_by_hand() -> None:
    """a works 10 ms, sends 4 ms over 2 links; b works 6 ms. b began sample 0 4 ms ago."""
    placed = layout(chain([10, 6], 4), system(3, 1, 0.001), [(0, 0), (2, 0)])
    start = full(placed)
    assert start is not None
    assert (start.turns, start.done, start.begun) == (2, [1, 0], [2, 1])
    run = simulate(placed, 30, QUIET, start)
    assert run.period_s == pytest.approx(0.010)
    assert run.left_s == pytest.approx(0.010 * np.arange(30) - 0.02 + 0.022)
    assert run.latencies_s == pytest.approx(0.022)


@pytest.mark.parametrize("seed", range(20))
def test_a_mesh_that_starts_full_has_the_period_of_one_that_was_filled(seed: int) -> None:
    rng = random.Random(300 + seed)
    tasks = random_graph(rng, 7)
    if seed % 2:
        tasks = with_ports(tasks, {"t0": 7, "t2": 11}, {"t6": 9, "t3": 3})
    counts = [rng.choice((1, 2, 4)) for _ in tasks.tasks]
    places = [(x, y) for x in range(6) for y in range(6)]
    rng.shuffle(places)
    placed = layout(tasks, system(6, 6, 0.0005), places[: sum(counts)], counts)
    start = full(placed)
    assert start is not None
    filled, run = simulate(placed, 800, QUIET), simulate(placed, 400, QUIET, start)
    assert run.was_full and run.is_full
    assert run.period_s == pytest.approx(filled.period_s, rel=0.01)
    assert run.period_s >= bound_of(placed).period_s


def test_a_mesh_short_of_buffers_starts_with_a_longer_period() -> None:
    edges = {("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 1, ("a", "d"): 1}
    placed = layout(graph(dict.fromkeys("abcd", 10), edges), system(2, 2), SQUARE)
    tight = Placement(placed.replication, placed.system, placed.elements, [2, 2, 2, 1])
    usual, start = full(placed), full(tight)
    assert usual is not None and start is not None
    assert usual.period_s == pytest.approx(0.010) and start.period_s > 0.012
    filled, run = simulate(tight, 200, QUIET), simulate(tight, 200, QUIET, start)
    assert run.period_s == pytest.approx(filled.period_s, rel=0.01)


def test_a_mesh_that_takes_too_long_to_fill_starts_full() -> None:
    placed = layout(chain([10] * 4, 1), system(2, 2), SQUARE)
    assert not simulate_steadily(placed, QUIET).was_full
    short = simulate_steadily(placed, QUIET, most_events=200)
    assert short.was_full and short.is_full
    assert any(
        "was full when the simulation began" in s for s in report_lines(report_of(placed, short))
    )
    assert short.period_s == pytest.approx(bound_of(placed).period_s)


@pytest.mark.parametrize("counts", [[1, 1], [1, 3], [4, 2]])
def test_a_sample_that_is_lost_or_doubled_is_a_bug(counts: list[int]) -> None:
    places = [(x, 0) for x in range(sum(counts))]
    placed = layout(chain([1, 1], 1), system(6, 1), places, counts)
    run = _SimulationState(placed, 25, QUIET, empty(placed))
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

    def __init__(self, placed: Placement, samples: int) -> None:
        self.env = simpy.Environment()
        self.placed, self.samples = placed, samples
        self.graph, self.counts = placed.replication.graph, placed.replication.counts
        self.period = bound_of(placed).period_s
        self.links: dict[Any, Any] = defaultdict(lambda: simpy.Resource(self.env))
        self.arrived: dict[Any, Any] = defaultdict(self.env.event)
        self.slots: dict[Any, Any] = defaultdict(self.env.event)
        self.done = np.zeros(samples)

    def left(self) -> np.ndarray:
        for edge, depth in enumerate(self.placed.depths):
            receiver = self.graph.ends[edge][1]
            for sample in range(min(self.samples, depth * self.counts[receiver])):
                self.slots[edge, receiver, sample].succeed()
        for task, count in enumerate(self.counts):
            for sample in range(self.samples if self.graph.tasks[task].input_bytes else 0):
                if sample < 2 * count:
                    self.slots["in", task, sample].succeed()
                self.env.process(self.input(task, sample))
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
            if self.graph.tasks[task].input_bytes:
                yield self.arrived["in", sample, task]
            elif not self.graph.incoming[task]:
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
            if self.graph.tasks[task].input_bytes and sample + 2 * count < self.samples:
                self.slots["in", task, sample + 2 * count].succeed()
            gone = [
                self.env.process(self.transfer(edge, sample)) for edge in self.graph.outgoing[task]
            ]
            if self.graph.tasks[task].output_bytes:
                gone.append(self.env.process(self.output(task, sample)))
            self.env.process(self.release(outputs, room, gone))

    def release(self, outputs: Any, room: Any, gone: list[Any]) -> Any:
        yield from gone
        outputs.release(room)

    def transfer(self, edge: int, sample: int) -> Any:
        """End when all has left the sender; the head goes on from link to link."""
        sender, receiver = self.graph.ends[edge]
        first, elements = self.placed.replication.first, self.placed.elements
        source = elements[first[sender] + sample % self.counts[sender]]
        other = elements[first[receiver] + sample % self.counts[receiver]]
        yield self.slots[edge, receiver, sample]
        size = self.graph.edges[edge].bytes / BYTES_PER_S
        links = route(int(source), int(other), self.placed.system.mesh)
        gone = self.env.event()
        self.env.process(self.head(edge, sample, links, size, gone))
        yield gone

    def input(self, task: int, sample: int) -> Any:
        """Come by the nearest of the ports."""
        yield self.slots["in", task, sample]
        yield self.env.timeout(max(0.0, sample * self.period - self.env.now))
        there = self.element_of(task, sample)
        here = min((4, 11), key=lambda port: len(route(port, there, self.placed.system.mesh)))
        links = [("in", here), *route(here, there, self.placed.system.mesh)]
        size = self.graph.tasks[task].input_bytes / BYTES_PER_S
        arrived = self.env.process(self.head(None, sample, links, size, self.env.event()))
        yield arrived
        self.arrived["in", sample, task].succeed()

    def output(self, task: int, sample: int) -> Any:
        """Leave by the port in the east of the row."""
        here = self.element_of(task, sample)
        there = here // 4 * 4 + 3
        links = [*route(here, there, self.placed.system.mesh), ("out", there)]
        gone = self.env.event()
        size = self.graph.tasks[task].output_bytes / BYTES_PER_S
        self.env.process(self.head(None, sample, links, size, gone))
        yield gone

    def element_of(self, task: int, sample: int) -> int:
        first = self.placed.replication.first[task]
        return int(self.placed.elements[first + sample % self.counts[task]])

    def head(
        self, edge: int | None, sample: int, links: Sequence[Any], size: float, gone: Any
    ) -> Any:
        latency = self.placed.system.link.latency_s
        for number, link in enumerate(links):
            turn = self.links[link].request()
            yield turn
            self.env.process(self.body(link, turn, size, gone if number == 0 else None))
            yield self.env.timeout(latency)
        yield self.env.timeout(size)
        if edge is not None:
            self.arrived[edge, sample].succeed()
        elif isinstance(links[-1], tuple) and links[-1][0] == "out":
            self.done[sample] = max(self.done[sample], self.env.now)

    def body(self, link: int, turn: Any, size: float, gone: Any) -> Any:
        yield self.env.timeout(size)
        self.links[link].release(turn)
        if gone is not None:
            gone.succeed()
