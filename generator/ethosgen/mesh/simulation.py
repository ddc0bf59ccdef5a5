"""Simulates a placement: samples go through the mesh, and elements and links make each other wait.

- An element starts a sample when it has finished the one before, all its inputs are there, and one
  of its two output buffers is free. It works for as long as the task's cycles take.
- An output leaves for its receiver when that has a free buffer (`depths`) for it, in the order of
  samples. To say so takes no time.
- Transfers take the links along x, then along y. A link passes one transfer at a time, first come,
  first served, and takes bytes / bandwidth for it. Switching is virtual cut-through: a transfer
  goes on to the next link one latency after it started on this one, and waits in the router if that
  is busy.
- Sample s is let in at s times the least period, so that a placement which reaches it is not
  disturbed by a rush at the start.

What happens is a callback of a simpy event, not a process: a third of the events. A link needs no
simpy.Resource, since for "first come, first served" the time until which it is taken says all. A
test compares with processes and resources.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.mesh.bound import bound_of
from ethosgen.mesh.buffers import LEAST
from ethosgen.mesh.layout import Layout
from ethosgen.mesh.traffic import Floats, hops, route
from ethosgen.values.errors import InternalError
from ethosgen.values.grammar import counted
from ethosgen.values.watch import Watch

_MOST_EVENTS = 5_000_000
"""About 20 s; fewer samples are simulated rather than more events, unless the user asks."""
FEWEST_SAMPLES = 24
"""With fewer, nothing can be measured."""
_LEAST_MEASURED = 200
_SAY_EVERY = 1 << 18


@dataclass(frozen=True)
class Simulated:
    """The result: for each sample, the times in seconds at which it entered and left.

    `measured` are the samples that count: those before fill the mesh, those after keep it full.
    `is_full` says whether there were enough of them for that. `link_busy_s` is the sum over all
    samples.
    """

    entered_s: Floats
    left_s: Floats
    measured: slice
    is_full: bool
    link_busy_s: Floats
    events: int

    @property
    def samples(self) -> int:
        """Their number."""
        return len(self.left_s)

    @property
    def period_s(self) -> float:
        """The mean time between two samples: the slope of the line through when they came out.

        Their latencies vary, which blurs the time between the first and the last one.
        """
        left = self.left_s[self.measured]
        turns = np.arange(len(left)) - (len(left) - 1) / 2
        return float(turns @ (left - left[0]) / (turns @ turns))

    @property
    def latencies_s(self) -> Floats:
        """The time from its start on a first task until all is done, of each that is measured."""
        return (self.left_s - self.entered_s)[self.measured]

    @property
    def link_loads(self) -> Floats:
        """The share of the time in which each link is busy."""
        return self.link_busy_s / self.samples / self.period_s


def default_samples(layout: Layout) -> int:
    """Return the number of samples that fill the mesh, and are then enough to measure."""
    flight = _in_flight(layout)
    wanted = 2 * flight + max(flight // 4, _LEAST_MEASURED)
    return max(FEWEST_SAMPLES, min(wanted, _affordable(layout)))


def simulate(layout: Layout, samples: int, watch: Watch) -> Simulated:
    """Let samples through; each comes out, once and in order, or it is a bug of ours."""
    run = _Run(layout, samples, watch)
    run.start()
    run.environment.run()
    run.check()
    entered, left = run.entered, np.maximum.accumulate(run.left)
    flight = _in_flight(layout)
    is_full = samples - 2 * flight >= _LEAST_MEASURED // 10
    first = flight if is_full else samples // 3
    measured = slice(first, samples - first)
    return Simulated(entered, left, measured, is_full, np.array(run.link_busy), run.events)


def _in_flight(layout: Layout) -> int:
    """Return the number of samples in the mesh at a time, if none has to wait."""
    graph, link = layout.replication.graph, layout.system.link
    seconds = np.zeros(len(graph.tasks))
    np.maximum.at(seconds, layout.replication.task_of, layout.seconds)
    far = int(hops(layout.replication.flows, layout.elements, layout.system.mesh).max(initial=0))
    done = [0.0] * len(graph.tasks)
    for task in graph.order:
        arrivals = (
            done[graph.ends[e][0]] + graph.edges[e].bytes / link.bytes_per_s + far * link.latency_s
            for e in graph.incoming[task]
        )
        done[task] = max(arrivals, default=0.0) + float(seconds[task])
    return int(np.ceil(max(done) / bound_of(layout).period_s)) + 1


def _affordable(layout: Layout) -> int:
    flows = layout.replication.flows
    ways = hops(flows, layout.elements, layout.system.mesh)
    edges = len(layout.replication.graph.edges)
    mean = float(ways.mean()) if len(ways) else 0.0
    return int(_MOST_EVENTS / (len(layout.replication.graph.tasks) + edges * (mean + 1)))


class _Run:
    """The state of a simulation. `turns[r]` is the number of samples that replica r has begun."""

    def __init__(self, layout: Layout, samples: int, watch: Watch) -> None:
        self.environment = _environment()
        self.layout, self.samples, self.watch = layout, samples, watch
        replication, graph = layout.replication, layout.replication.graph
        self.counts, self.first = replication.counts, replication.first
        self.incoming, self.outgoing = graph.incoming, graph.outgoing
        self.ends, self.depths = graph.ends, layout.depths
        self.sizes = [edge.bytes / layout.system.link.bytes_per_s for edge in graph.edges]
        self.latency = layout.system.link.latency_s
        self.period = bound_of(layout).period_s
        self.seconds = layout.seconds.tolist()
        total = replication.total
        self.is_busy, self.turns, self.done = [False] * total, [0] * total, [0] * total
        self.full_outputs = [0] * total
        self.inputs: list[dict[int, int]] = [{} for _ in range(total)]
        self.staying: list[dict[int, int]] = [{} for _ in range(total)]
        self.waiting: list[set[int]] = [set() for _ in graph.edges]
        self.free_at = [0.0] * (4 * layout.system.mesh.elements)
        self.link_busy = [0.0] * len(self.free_at)
        self.routes: dict[tuple[int, int], Sequence[int]] = {}
        self.entered = np.full(samples, np.inf)
        self.left = np.zeros(samples)
        self.events = 0
        self.let_in = [-1] * total
        self.sources = [not edges for edges in graph.incoming]

    def start(self) -> None:
        """Let the first sample of each replica of a first task in."""
        for task, is_source in enumerate(self.sources):
            for number in range(self.counts[task]) if is_source else ():
                if number < self.samples:
                    self.after(number * self.period, self.let, task, number, number)

    def after(self, delay_s: float, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function later."""
        event = self.environment.timeout(max(delay_s, 0.0), (function, arguments))
        event.callbacks.append(_call)
        self.events += 1
        if self.events % _SAY_EVERY == 0:
            out = int(np.count_nonzero(self.left))
            self.watch.say(f"simulating: {out:,} of {counted(self.samples, 'sample')} begun to end")

    def let(self, task: int, number: int, sample: int) -> None:
        """Let a sample in, to a first task."""
        self.let_in[self.first[task] + number] = sample
        self.try_start(task, number)

    def try_start(self, task: int, number: int) -> None:
        """Start a replica's next sample if nothing is lacking."""
        replica = self.first[task] + number
        sample = number + self.turns[replica] * self.counts[task]
        if self.is_busy[replica] or self.full_outputs[replica] >= LEAST or sample >= self.samples:
            return
        if self.sources[task]:
            if self.let_in[replica] < sample:
                return
            self.entered[sample] = min(self.entered[sample], self.environment.now)
            if (following := sample + self.counts[task]) < self.samples:
                delay = following * self.period - self.environment.now
                self.after(delay, self.let, task, number, following)
        elif self.inputs[replica].get(sample, 0) < len(self.incoming[task]):
            return
        else:
            del self.inputs[replica][sample]
        self.is_busy[replica] = True
        self.turns[replica] += 1
        if self.outgoing[task]:
            self.full_outputs[replica] += 1
            self.staying[replica][sample] = len(self.outgoing[task])
        self.after(self.seconds[replica], self.finish, task, number, sample)

    def finish(self, task: int, number: int, sample: int) -> None:
        """End a sample's work: its input buffers are free, its outputs want to leave."""
        replica = self.first[task] + number
        self._check_turn(task, number, sample)
        self.is_busy[replica] = False
        self.done[replica] += 1
        self.left[sample] = max(self.left[sample], self.environment.now)
        for edge in self.incoming[task]:
            allowed = sample + self.depths[edge] * self.counts[task]
            if allowed in self.waiting[edge]:
                self.waiting[edge].remove(allowed)
                self.send(edge, allowed)
        for edge in self.outgoing[task]:
            receiver = self.ends[edge][1]
            turn, other = divmod(sample, self.counts[receiver])
            if turn < self.done[self.first[receiver] + other] + self.depths[edge]:
                self.send(edge, sample)
            else:
                self.waiting[edge].add(sample)
        self.try_start(task, number)

    def send(self, edge: int, sample: int) -> None:
        """Begin the transfer of an output."""
        i, j = self.ends[edge]
        pair = (
            self.first[i] + sample % self.counts[i],
            self.first[j] + sample % self.counts[j],
        )
        links = self.routes.get(pair)
        if links is None:
            one, other = (int(self.layout.elements[replica]) for replica in pair)
            links = self.routes[pair] = route(one, other, self.layout.system.mesh)
        self.pass_on(edge, sample, links, 0)

    def pass_on(self, edge: int, sample: int, links: Sequence[int], hop: int) -> None:
        """Take the next link of a transfer, when it is free."""
        now, size, link = self.environment.now, self.sizes[edge], links[hop]
        start = max(now, self.free_at[link])
        self.free_at[link] = start + size
        self.link_busy[link] += size
        if hop == 0:
            self.after(start + size - now, self.depart, edge, sample)
        if hop + 1 == len(links):
            self.after(start + size + self.latency - now, self.arrive, edge, sample)
        else:
            self.after(start + self.latency - now, self.pass_on, edge, sample, links, hop + 1)

    def depart(self, edge: int, sample: int) -> None:
        """Free the output buffer of a sample when all of it has left."""
        task = self.ends[edge][0]
        number = sample % self.counts[task]
        replica = self.first[task] + number
        self.staying[replica][sample] -= 1
        if not self.staying[replica][sample]:
            del self.staying[replica][sample]
            self.full_outputs[replica] -= 1
            self.try_start(task, number)

    def arrive(self, edge: int, sample: int) -> None:
        """Give an input to the receiver."""
        task = self.ends[edge][1]
        number = sample % self.counts[task]
        inputs = self.inputs[self.first[task] + number]
        inputs[sample] = inputs.get(sample, 0) + 1
        self.try_start(task, number)

    def check(self) -> None:
        """Raise InternalError unless every replica has done all its samples."""
        for task, count in enumerate(self.counts):
            for number in range(count):
                self._check_turn(task, number, number + count * self._share(task, number))

    def _share(self, task: int, number: int) -> int:
        """Return how many samples are a replica's."""
        return max(0, -(-(self.samples - number) // self.counts[task]))

    def _check_turn(self, task: int, number: int, sample: int) -> None:
        """Raise InternalError unless a sample is the next one of a replica: each once, in order."""
        replica = self.first[task] + number
        following = number + self.done[replica] * self.counts[task]
        if sample != following:
            name = self.layout.title(replica)
            raise InternalError(f"{name} came to sample {sample} instead of {following}")


def _call(event: Any) -> None:
    function, arguments = event.value
    function(*arguments)


def _environment() -> Any:
    import simpy

    return simpy.Environment()
