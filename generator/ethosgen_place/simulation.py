"""Simulates a placement: samples go through the mesh, and elements and links make each other wait.

- An element starts a sample when it has finished the one before, all its inputs have arrived, and
one of its two output buffers is free. It works for the time of the task's cycles.
- An output leaves for its receiver when that has a free buffer (`depths`) for it, in the order of
  samples. Announcing this takes no time.
- Transfers take the links along x, then along y. A link passes one transfer at a time, first come,
  first served, and takes bytes / bandwidth for it. Switching is virtual cut-through: a transfer
  continues to the next link one latency after it started on this one, and waits in the router if
  that is busy.
- The network's inputs enter through ports, each with its own link, and go to their task when it has
a free buffer; its outputs leave through ports, which accept them at any time.
- Sample s enters at s times the least period, so that a rush at the start does not disturb a
placement that reaches it. The mesh may already be full when the simulation begins.

Events are only those whose time is not known in advance. With first come, first served, the time
until which a link is taken is enough; so when a transfer takes its last link, its arrival is known,
and with the last arrival the start and the end of the work. An output buffer is free when the
output has left over its first link, which is known when it starts. So a sample has an event for
each task, and one for each link of a transfer except the first. An event is a callback, not a
process, and a transfer is one object that goes from link to link. A test compares with processes
and resources.
"""

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.values.errors import InternalError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import pieces
from ethosgen.values.watch import Watch
from ethosgen_place.arrays import Floats
from ethosgen_place.bound import bound_of
from ethosgen_place.buffers import LEAST
from ethosgen_place.filling import Filling, empty, full, in_flight
from ethosgen_place.layout import Placement
from ethosgen_place.measurement import Simulated, warm_up

MOST_EVENTS = 5_000_000
"""About 20 s; fewer samples are simulated rather than more events, unless the user asks."""
FEWEST_SAMPLES = 24
"""With fewer, nothing can be measured."""
_LEAST_MEASURED = 200
_SAY_EVERY = 1 << 18
_MOST_TURNS, _LONE_EVENTS = 64, 200_000
"""The most samples whose latency alone is computed, and the most events for that."""
_OUTSIDE = -1
_NORMAL = 1
"""The priority of all events, as simpy counts it."""


def simulate_steadily(layout: Placement, watch: Watch, most_events: int = MOST_EVENTS) -> Simulated:
    """Simulate as many samples as make the mesh's period steady, if that is affordable.

    The mesh is empty at first if it can be filled with so many events, otherwise it starts full.
    """
    flight, most = in_flight(layout), _affordable(layout, most_events)
    most_turns = max(layout.replication.counts)
    wanted = 2 * flight + max(flight, 2 * most_turns, _LEAST_MEASURED)
    start = full(layout) if wanted > most else None
    if start is not None:
        wanted = max(2 * _LEAST_MEASURED, 4 * most_turns)
    while True:
        samples = max(FEWEST_SAMPLES, min(wanted, most))
        watch.say(f"simulating {counted(samples, 'sample')}")
        run = simulate(layout, samples, watch, start)
        if run.is_steady or samples >= most:
            return run
        wanted = 2 * samples


def simulate(
    layout: Placement, samples: int, watch: Watch, start: Filling | None = None
) -> Simulated:
    """Let samples through; each leaves, once and in order, or there is a bug in ethosgen.

    Without `start`, the mesh is empty at first. The measured samples are whole turns of all
    replicas, since each repeats its own pattern. They begin when the mesh is full and its period no
    longer drifts, and end when the first replica lacks inputs: then the others have the links for
    themselves.
    """
    run = _SimulationState(layout, samples, watch, start or empty(layout))
    run.start()
    with _without_collector():
        run.environment.run()
    run.check()
    steps = np.maximum.accumulate(run.steps)
    turn, least = max(layout.replication.counts), bound_of(layout).period_s
    end = int(np.searchsorted(steps, run.runs_out_s))
    first = max(0 if start else in_flight(layout), warm_up(steps[:end]))
    count = end - first
    is_full = count >= _LEAST_MEASURED // 10
    if not is_full:
        first, count = samples // 3, samples - 2 * (samples // 3)
    count -= count % turn if count >= turn else 0
    left, measured = np.maximum.accumulate(run.left[:samples]), slice(first, first + count)
    return Simulated(
        *(run.entered[:samples], left, steps, measured, is_full),
        *(start is not None, least, run.link_busy_s, run.events),
    )


def lone_latency_s(layout: Placement) -> float:
    """Return the time that a sample takes that is alone in the mesh, the longest of some samples.

    Only its own transfers then wait for each other, so no measured latency is shorter for these
    samples: replicas take turns, and each may go another way.
    """
    turns = min(math.lcm(*layout.replication.counts), _MOST_TURNS)
    samples = max(1, min(turns, _affordable(layout, _LONE_EVENTS)))
    run = _SimulationState(layout, samples, Watch(), empty(layout))
    graph, link = layout.replication.graph, layout.system.link
    sizes = [edge.bytes for edge in graph.edges]
    sizes += [task.input_bytes + task.output_bytes for task in graph.tasks]
    most = int(layout.hops.max(initial=0)) + 2
    run.period = 2 * sum(link.transfer_s(most, size) for size in sizes) + sum(run.seconds)
    run.start()
    run.environment.run()
    return float((run.left - run.entered).max())


def _affordable(layout: Placement, most_events: int) -> int:
    transfers = float(layout.flows.shares @ layout.hops)
    return int(most_events / (len(layout.replication.graph.tasks) + transfers))


class _Event:
    """An event for simpy: functions to call once, and the mark that it has not failed."""

    __slots__ = ("callbacks", "number", "sample")
    _ok = True

    def __init__(self, callbacks: "_Callbacks", number: int, sample: int) -> None:
        self.callbacks = callbacks
        self.number, self.sample = number, sample


class _Transfer(_Event):
    """A transfer of edge `number`, which reaches `links[hop]` and keeps a link for `seconds`."""

    __slots__ = ("hop", "links", "seconds")

    def __init__(self, edge: int, sample: int, links: Sequence[int], seconds: float) -> None:
        super().__init__((), edge, sample)
        self.hop, self.links, self.seconds = 0, links, seconds


_Callbacks = Sequence[Callable[[Any], object]]


@dataclass(slots=True)
class _Route:
    """The links between two replicas, and the time for which it has kept each busy."""

    links: Sequence[int]
    busy_s: float = 0.0


class _SimulationState:
    """The state of a simulation. An edge leads from a task to another one; either may be _OUTSIDE.

    `turns[r]` is the number of samples that replica r has begun, `done[r]` that it has finished.
    `inputs[r]` has, for each sample, the number of missing inputs, and the arrival of the last one.
    `unsent[r]` has, for each sample, the number of outputs that have not begun to leave, and the
    end of the last one; `leaving[r]` are these times for samples whose outputs have all begun to
    leave. `start` is the state at first, and each task then does `samples` more, up to `until`;
    `steps` has for each number the time at which all tasks have done so many.
    """

    def __init__(self, layout: Placement, samples: int, watch: Watch, start: Filling) -> None:
        self.environment = _environment()
        self.schedule = self.environment.schedule
        self.layout, self.samples, self.watch = layout, samples, watch
        replication, graph = layout.replication, layout.replication.graph
        self.counts, self.first = replication.counts, replication.first
        self.task_of = replication.task_of.tolist()
        self.incoming, self.outgoing = [[*edges] for edges in graph.incoming], [*graph.outgoing]
        self.ends, self.depths = [*graph.ends], [*layout.depths]
        sizes = [edge.bytes for edge in graph.edges]
        for task, details in enumerate(graph.tasks):
            if details.input_bytes:
                self.incoming[task] = [*self.incoming[task], len(sizes)]
                self.ends.append((_OUTSIDE, task))
                sizes.append(details.input_bytes)
            if details.output_bytes:
                self.outgoing[task] = [*self.outgoing[task], len(sizes)]
                self.ends.append((task, _OUTSIDE))
                sizes.append(details.output_bytes)
        self.depths += [LEAST] * (len(sizes) - len(self.depths))
        self.sizes = [size / layout.system.link.bytes_per_s for size in sizes]
        self.latency = layout.system.link.latency_s
        self.period = bound_of(layout).period_s
        self.seconds = layout.seconds.tolist()
        self.begins, self.until = start, [done + samples for done in start.done]
        total = replication.total
        self.is_busy = [False] * total
        self.turns, self.done = self._shares(start.begun), self._shares(start.done)
        self.inputs: list[dict[int, list[Any]]] = [{} for _ in range(total)]
        self.unsent: list[dict[int, list[Any]]] = [{} for _ in range(total)]
        self.leaving: list[list[float]] = [[] for _ in range(total)]
        self.waiting: list[set[int]] = [set() for _ in self.ends]
        self.free_at = [0.0] * len(layout.link_bytes)
        self.numbers = list(range(len(self.free_at)))  # one object for each, close in memory
        self.routes: dict[tuple[int, int], _Route] = {}
        latest = max(self.until)
        self.entered = np.full(latest, np.inf)
        self.entered[: max(start.begun)] = [self._turn_s(s) for s in range(max(start.begun))]
        self.left, self.steps = np.full(latest, -np.inf), np.zeros(samples)
        self.runs_out_s = np.inf
        self.events = 0
        self.outputs = 0
        self.on_finish, self.on_retry = (self.finish,), (self.retry,)
        self.on_let = (self.let,)
        self.take_link = self._link_taker()

    def start(self) -> None:
        """Let in the first inputs, and start the first sample of each replica without inputs."""
        begins = self.begins
        for task, (done, begun) in enumerate(zip(begins.done, begins.begun, strict=True)):
            for sample in range(done, begun):
                self._go_on(task, sample)
        for edge, (sender, receiver) in enumerate(self.ends):
            if sender == _OUTSIDE:
                allowed = begins.done[receiver] + LEAST * self.counts[receiver]
                for sample in range(begins.begun[receiver], min(self.until[receiver], allowed)):
                    self.let_in(edge, sample)
            elif receiver != _OUTSIDE:
                for sample in range(begins.begun[receiver], begins.done[sender]):
                    self.expect(edge, sample, self._turn_s(sample) + begins.arrivals_s[edge])
        for replica in range(len(self.turns)):
            self.try_start(replica)

    def _go_on(self, task: int, sample: int) -> None:
        """Let a task go on with a sample that it had begun before."""
        replica = self.first[task] + sample % self.counts[task]
        self.is_busy[replica] = True
        if self.outgoing[task]:
            self.unsent[replica][sample] = [len(self.outgoing[task]), 0.0]
        rest_s = max(0.0, self._turn_s(sample) + self.begins.ends_s[task])
        self.schedule(_Event(self.on_finish, replica, sample), _NORMAL, rest_s)

    def _turn_s(self, sample: int) -> float:
        """Return the time before which a sample may not enter."""
        turns = sample - self.begins.turns
        return turns * (self.begins.period_s if turns < 0 else self.period)

    def let_in(self, edge: int, sample: int) -> None:
        """Send an input as soon as its sample may enter."""
        delay_s = max(0.0, self._turn_s(sample) - self.environment.now)
        self.schedule(_Event(self.on_let, edge, sample), _NORMAL, delay_s)

    def let(self, event: _Event) -> None:
        """Send an input."""
        self._count()
        self.send(event.number, event.sample)

    def try_start(self, replica: int) -> None:
        """Start a replica's next sample as soon as nothing is missing, if that time is known."""
        if self.is_busy[replica]:
            return
        task = self.task_of[replica]
        sample = replica - self.first[task] + self.turns[replica] * self.counts[task]
        if sample >= self.until[task]:
            return
        when = self.environment.now
        if incoming := self.incoming[task]:
            lacking = self.inputs[replica].get(sample)
            if lacking is None or lacking[0]:
                return
            when = max(when, lacking[1])
        else:
            when = max(when, self._turn_s(sample))
        if self.outgoing[task]:
            free = self._output_free(replica)
            if free is None:
                return
            when = max(when, free)
            self.unsent[replica][sample] = [len(self.outgoing[task]), 0.0]
        if incoming:
            del self.inputs[replica][sample]
        else:
            self.entered[sample] = min(self.entered[sample], when)
        self.is_busy[replica] = True
        self.turns[replica] += 1
        if sample + self.counts[task] >= self.until[task]:
            self.runs_out_s = min(self.runs_out_s, when)
        event = _Event(self.on_finish, replica, sample)
        self.schedule(event, _NORMAL, when + self.seconds[replica] - self.environment.now)

    def _output_free(self, replica: int) -> float | None:
        """Return when an output buffer is free, None if that is not known yet.

        A buffer whose output has not begun to leave may be free before one whose output has. So if
        both are in use, this waits for the first event of either.
        """
        unsent, now = len(self.unsent[replica]), self.environment.now
        if not unsent and len(self.leaving[replica]) < LEAST:
            return 0.0
        leaving = self.leaving[replica] = sorted(t for t in self.leaving[replica] if t > now)
        if unsent + len(leaving) < LEAST:
            return 0.0
        if not unsent:
            return leaving[len(leaving) - LEAST]
        if leaving:
            self.schedule(_Event(self.on_retry, replica, 0), _NORMAL, leaving[0] - now)
        return None

    def retry(self, event: _Event) -> None:
        """Try to start a replica whose output buffers were in use."""
        self._count()
        self.try_start(event.number)

    def finish(self, event: _Event) -> None:
        """End a sample's work: its input buffers are free, its outputs are ready to leave."""
        self._count()
        replica, sample = event.number, event.sample
        task = self.task_of[replica]
        self._check_turn(task, replica - self.first[task], sample)
        self.is_busy[replica] = False
        self.done[replica] += 1
        self._note(task, sample, self.environment.now)
        for edge in self.incoming[task]:
            allowed = sample + self.depths[edge] * self.counts[task]
            if self.ends[edge][0] == _OUTSIDE:
                if allowed < self.until[task]:
                    self.let_in(edge, allowed)
            elif allowed in self.waiting[edge]:
                self.waiting[edge].remove(allowed)
                self.send(edge, allowed)
        for edge in self.outgoing[task]:
            receiver = self.ends[edge][1]
            if receiver == _OUTSIDE:
                self.send(edge, sample)
                continue
            turn, other = divmod(sample, self.counts[receiver])
            if turn < self.done[self.first[receiver] + other] + self.depths[edge]:
                self.send(edge, sample)
            else:
                self.waiting[edge].add(sample)
        self.try_start(replica)

    def send(self, edge: int, sample: int) -> None:
        """Begin a transfer, which takes its first link when that is free."""
        i, j = self.ends[edge]
        replica = self.first[i] + sample % self.counts[i] if i != _OUTSIDE else _OUTSIDE
        other = self.first[j] + sample % self.counts[j] if j != _OUTSIDE else _OUTSIDE
        route = self.routes.get((replica, other))
        if route is None:
            route = self.routes[replica, other] = self._route(replica, other)
        route.busy_s += self.sizes[edge]
        self.events += len(route.links) - 1
        start = self.take_link(_Transfer(edge, sample, route.links, self.sizes[edge]))
        if i == _OUTSIDE:
            self.entered[sample] = min(self.entered[sample], start)
            return
        gone = start + self.sizes[edge]
        output = self.unsent[replica][sample]
        output[0] -= 1
        output[1] = max(output[1], gone)
        if not output[0]:
            del self.unsent[replica][sample]
            self.leaving[replica].append(output[1])
            self.try_start(replica)

    def _route(self, sender: int, receiver: int) -> _Route:
        """Return the links between two replicas, or from or to the nearest port."""
        layout = self.layout
        inputs, outputs = layout.gates
        port = 4 * layout.system.mesh.elements
        if sender == _OUTSIDE:
            there = int(layout.elements[receiver])
            nearest = int(inputs.nearest[there])
            here = int(inputs.elements[nearest])
            links = [port + nearest, *layout.routing.route(here, there)]
        elif receiver == _OUTSIDE:
            here = int(layout.elements[sender])
            nearest = int(outputs.nearest[here])
            there = int(outputs.elements[nearest])
            last = port + len(inputs.elements) + nearest
            links = [*layout.routing.route(here, there), last]
        else:
            here, there = int(layout.elements[sender]), int(layout.elements[receiver])
            links = [*layout.routing.route(here, there)]
        return _Route([self.numbers[link] for link in links])

    def _link_taker(self) -> Callable[[_Transfer], float]:
        """Return a function that lets a transfer take its next link, and returns the time.

        Most events are calls of it, so it uses local names, which are faster.
        """
        environment, schedule, expect = self.environment, self.schedule, self.expect
        free_at, latency = self.free_at, self.latency

        def take_link(transfer: _Transfer) -> float:
            links, hop = transfer.links, transfer.hop
            now: float = environment.now
            link = links[hop]
            start = free_at[link]
            if start < now:  # noqa: PLR1730 - max() costs more
                start = now
            free_at[link] = start + transfer.seconds
            hop += 1
            if hop == len(links):
                expect(transfer.number, transfer.sample, start + transfer.seconds + latency)
            else:
                transfer.hop, transfer.callbacks = hop, callbacks
                schedule(transfer, _NORMAL, start + latency - now)
            return start

        callbacks: _Callbacks = (take_link,)
        return take_link

    def expect(self, edge: int, sample: int, arrival: float) -> None:
        """Record the arrival of an input at its receiver, or of an output outside."""
        sender, task = self.ends[edge]
        if task == _OUTSIDE:
            self._note(sender, sample, arrival)
            self.outputs += 1
            return
        replica = self.first[task] + sample % self.counts[task]
        lacking = self.inputs[replica].setdefault(sample, [len(self.incoming[task]), 0.0])
        lacking[0] -= 1
        lacking[1] = max(lacking[1], arrival)
        if not lacking[0]:
            self.try_start(replica)

    def _note(self, task: int, sample: int, time: float) -> None:
        """Record that a task is done with a sample, or that its output has left."""
        self.left[sample] = max(self.left[sample], time)
        step = sample - self.begins.done[task]
        self.steps[step] = max(self.steps[step], time)

    def _count(self) -> None:
        self.events += 1
        if self.events % _SAY_EVERY == 0:
            out = int(np.count_nonzero(self.steps))
            self.watch.say(f"simulating: {out:,} of {counted(self.samples, 'sample')} begun to end")

    @property
    def link_busy_s(self) -> Floats:
        """The time for which each link has been busy."""
        busy_s = np.zeros(len(self.free_at))
        for way in self.routes.values():
            busy_s[way.links] += way.busy_s
        return busy_s

    def check(self) -> None:
        """Raise InternalError unless every replica has done all its samples, and all have left."""
        expected = self.samples * sum(receiver == _OUTSIDE for _, receiver in self.ends)
        if self.outputs != expected:
            raise InternalError(f"{counted(self.outputs, 'output')} came out instead of {expected}")
        for replica, following in enumerate(self._shares(self.until)):
            task = self.task_of[replica]
            number = replica - self.first[task]
            self._check_turn(task, number, number + self.counts[task] * following)

    def _shares(self, samples: Sequence[int]) -> list[int]:
        """Return the number of samples of each replica among the first ones of its task."""
        return [
            max(0, pieces(some - number, count))
            for some, count in zip(samples, self.counts, strict=True)
            for number in range(count)
        ]

    def _check_turn(self, task: int, number: int, sample: int) -> None:
        """Raise InternalError unless a sample is the next one of a replica: each once, in order."""
        replica = self.first[task] + number
        following = number + self.done[replica] * self.counts[task]
        if sample != following:
            name = self.layout.title(replica)
            raise InternalError(f"{name} came to sample {sample} instead of {following}")


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep the garbage collector from scanning millions of events, which form no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _environment() -> Any:
    import simpy

    return simpy.Environment()
