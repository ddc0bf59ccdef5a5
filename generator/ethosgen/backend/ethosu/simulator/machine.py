"""The NPU model: execute a command stream on memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import tee
from typing import Protocol, TypeVar

import numpy as np

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator import culprit, effort
from ethosgen.backend.ethosu.simulator.activity import Activity, measure
from ethosgen.backend.ethosu.simulator.generation import (
    PREPARE,
    inner_bytes,
    registers_of,
    target_of,
    weight_format_of,
)
from ethosgen.backend.ethosu.simulator.memory import Bus, Bytes
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    Dma,
    IssuedOperation,
    Operation,
    Ports,
)
from ethosgen.backend.ethosu.simulator.ops.context import DECODED, Action, Context, Shram
from ethosgen.backend.ethosu.simulator.u85.operation import U85Dma
from ethosgen.backend.ethosu.simulator.u85.output import flag_after
from ethosgen.backend.ethosu.simulator.walk import Walk
from ethosgen.values.errors import NpuFault

_MAX_PROGRAMS = 64
LIMIT_S = 2.0
"""Limit of estimated pointless work for one run of a stream; networks of any size have none."""

_Place = tuple[int, int, tuple[int, ...], Ports | None]
"""A stream's address and size, and the base pointers and ports of its regions."""


@dataclass(frozen=True)
class RunReport:
    """The result of a stream. `consumed` is QREAD; `activity` and its cycles are estimates."""

    operations: int
    macs: int
    cycles: int
    commands: int
    consumed: int
    irq_mask: int = 0
    activity: Activity = field(default_factory=Activity, repr=False)


class Observer(Protocol):
    """Observes each operation as it runs; see trace.py."""

    def before(self, context: Context, step: IssuedOperation) -> None:
        """Record the start of an operation."""

    def after(self, context: Context, step: IssuedOperation, macs: int) -> None:
        """Record the end of an operation and its number of multiplications."""


@dataclass(frozen=True)
class _Program:
    """A decoded stream: its operations up to STOP or up to the first invalid command."""

    steps: tuple[IssuedOperation, ...]
    effort_s: tuple[float, ...]
    """Pointless work up to the end of each step."""
    walk: Walk
    activity: Activity
    fault: NpuFault | None


class Machine:
    """An Ethos-U55 or U65 on a bus."""

    def __init__(
        self,
        accelerator: EthosU,
        bus: Bus,
        observer: Observer | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        """Store the bus, the observer, and the limit of pointless work for a run; see effort.py."""
        self.accelerator = accelerator
        self.bus = bus
        self.observer = observer
        self._limit_s = limit_s
        self._cache = DECODED
        self._programs: dict[tuple[bytes, Ports | None], _Program] = {}
        self._runs: dict[_Place, _PreparedProgram] = {}
        self._latest: tuple[_Place, _PreparedProgram | None] = (0, 0, (), None), None
        """The last run: its address and its prepared operations."""
        self._shram = Shram(inner_bytes(accelerator))

    def run(
        self,
        stream_addr: int,
        stream_bytes: int,
        bases: Sequence[int],
        ports: Ports | None = None,
    ) -> RunReport:
        """Run the register commands at `stream_addr` until NPU_OP_STOP.

        `bases[i]` is BASEPi; `ports`, if known, matter only to the estimate of cycles. Operations
        run sequentially in stream order, one of the orders that the waits and BLOCKDEP of a correct
        stream allow. Raises NpuFault with the offset and name of the command; results of earlier
        operations remain.
        """
        where, run = self._latest
        if where != (stream_addr, stream_bytes, bases, ports):
            run = None
        if run is None or run.has_changed():
            run = self._find(stream_addr, stream_bytes, tuple(bases), ports)
            if isinstance(bases, tuple):  # immutable
                self._latest = (stream_addr, stream_bytes, bases, ports), run
        if run.has_branches:
            return self._branching(run)
        if self.observer is not None or not run.is_prepared:
            self._step_by_step(run)
        elif run.is_quiet:
            run.replay()
        else:
            with np.errstate(all="ignore"):
                run.replay()
        return run.report

    def check_accesses(self, stream_addr: int, stream_bytes: int, bases: Sequence[int]) -> None:
        """Raise NpuFault for the first operation with an access out of bounds, without running."""
        program = self._decode(self.bus.view(stream_addr, stream_bytes))
        for step in program.steps:
            refused = culprit.refusal(self.bus, bases, step.operation)
            if refused is not None:
                raise _located(refused[2], step.offset, step.command)
        if program.fault is not None:
            raise program.fault

    def _find(
        self, stream_addr: int, stream_bytes: int, bases: tuple[int, ...], ports: Ports | None
    ) -> "_PreparedProgram":
        key = (stream_addr, stream_bytes, bases, ports)
        run = self._runs.get(key)
        if run is None or run.has_changed():
            memory = self.bus.view(stream_addr, stream_bytes)
            is_constant = self.bus.is_constant(stream_addr, stream_bytes)
            weights = weight_format_of(self.accelerator)
            context = Context(
                self.accelerator, self.bus, bases, self._shram, self._cache, given_format=weights
            )
            run = _PreparedProgram(self._decode(memory, ports), context, memory, is_constant, ports)
            _keep(self._runs, key, run)
        return run

    def _decode(self, memory: Bytes, ports: Ports | None = None) -> _Program:
        stream = memory.tobytes()
        program = self._programs.get((stream, ports))
        if program is None:
            program = load(stream, self.accelerator, ports)
            _keep(self._programs, (stream, ports), program)
        return program

    def _step_by_step(self, run: "_PreparedProgram") -> None:
        """Run with all checks and with the observer, and prepare operations on first use."""
        program = self._decode(run.memory, run.ports)
        for index, (step, effort_s) in enumerate(zip(program.steps, program.effort_s, strict=True)):
            self._execute(run.context, step, effort_s, run.actions, index)
        if program.fault is not None:
            raise program.fault
        run.is_prepared = True
        if run.stream is None and self.observer is None:
            self._programs.clear()  # not needed again: they are larger than the prepared operations

    def _branching(self, run: "_PreparedProgram") -> RunReport:
        """Run a stream with branches: only the results determine the next command."""
        walk = Walk(run.memory.tobytes(), registers_of(self.accelerator), follows=True)
        executed, ahead = tee(walk.steps())
        done: list[IssuedOperation] = []
        for step, effort_s in zip(executed, effort.futile(ahead), strict=True):
            self._execute(run.context, step, effort_s, [], 0)
            walk.flag = flag_after(run.context, step.operation, walk.flag)
            done.append(step)
        return _report(done, walk, measure(self.accelerator, done, run.ports))

    def _execute(
        self,
        context: Context,
        step: IssuedOperation,
        effort_s: float,
        actions: list[Action],
        index: int,
    ) -> None:
        """Execute actions[index], prepared now if necessary, with all checks and the observer."""
        try:
            if self.observer is not None:
                self.observer.before(context, step)
            with np.errstate(all="ignore"):  # integers wrap silently, as in hardware
                if index == len(actions):
                    actions.append(prepare(context, step.operation))
                if effort_s > self._limit_s:  # faults that need no work come first
                    raise NpuFault("timeout", "the stream keeps requesting pointless work")
                actions[index]()
        except NpuFault as fault:
            raise _located(fault, step.offset, step.command) from None
        if self.observer is not None:
            self.observer.after(context, step, step.operation.macs)


class _PreparedProgram:
    """A program at its address; each operation is prepared when it first runs.

    `stream` is the decoded stream, None if its memory is constant.
    """

    __slots__ = (
        "actions",
        "context",
        "has_branches",
        "is_prepared",
        "is_quiet",
        "marks",
        "memory",
        "ports",
        "report",
        "stream",
    )

    def __init__(
        self,
        program: _Program,
        context: Context,
        memory: Bytes,
        is_constant: bool,
        ports: Ports | None,
    ) -> None:
        self.context = context
        self.memory = memory
        self.ports = ports
        self.stream = None if is_constant else memory.tobytes()
        self.marks = [(step.offset, step.command) for step in program.steps]
        self.actions: list[Action] = []
        self.is_prepared = False
        operations = [step.operation for step in program.steps]
        self.is_quiet = all(
            isinstance(operation, Convolution | Dma | U85Dma) for operation in operations
        )
        """Whether numpy reports no overflow in any operation."""
        self.has_branches = program.walk.has_branches
        self.report = _report(program.steps, program.walk, program.activity)

    def has_changed(self) -> bool:
        """Return whether the commands in the stream's memory have changed."""
        return self.stream is not None and self.memory.tobytes() != self.stream

    def replay(self) -> None:
        """Execute all operations again."""
        done = iter(self.actions)
        try:
            for action in done:
                action()
        except NpuFault as fault:  # the weights have since become invalid
            left = sum(1 for _ in done)
            raise _located(fault, *self.marks[len(self.actions) - left - 1]) from None


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def _keep(kept: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Add to a cache; evict the oldest entry if it is full."""
    if len(kept) >= _MAX_PROGRAMS and key not in kept:
        kept.pop(next(iter(kept)))
    kept[key] = value


def _located(fault: NpuFault, offset: int, command: str) -> NpuFault:
    return NpuFault(fault.kind, fault.reason, offset, command)


def _report(steps: Sequence[IssuedOperation], walk: Walk, activity: Activity) -> RunReport:
    return RunReport(
        len(steps),
        sum(step.operation.macs for step in steps),
        activity.cycles,
        walk.commands,
        walk.consumed,
        walk.irq_mask,
        activity,
    )


def prepare(context: Context, operation: Operation) -> Action:
    """Return a function that executes one operation; NpuFault if the operation is invalid."""
    return PREPARE[type(operation)](context, operation, target_of(context, operation.ofm))


def load(stream: bytes, accelerator: EthosU, ports: Ports | None = None) -> _Program:
    """Decode a stream into operations; a fault is stored, and raised when execution reaches it.

    Each command comes once, whatever the branches. The estimate of cycles infers the regions' ports
    from the stream if they are unknown.
    """
    walk = Walk(stream, registers_of(accelerator), follows=False)
    steps: list[IssuedOperation] = []
    activity, stored = Activity(), None
    try:
        steps.extend(walk.steps())
        activity = measure(accelerator, steps, ports)
    except NpuFault as fault:
        stored = fault
    return _Program(tuple(steps), tuple(effort.futile(steps)), walk, activity, stored)
