"""Runs of samples through a firmware on a target, in a session on its console."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ethosgen.backend import driver_of, find_accelerator
from ethosgen.backend.protocol import Attach
from ethosgen.project.info import NetworkInfo, ProjectInfo
from ethosgen.samples.fitting import fitting
from ethosgen.targets.buffers import PortIndex
from ethosgen.targets.kinds import (
    Firmware,
    Line,
    Target,
    TargetKind,
    require_target,
)
from ethosgen.targets.profiling import NANOSECONDS, read_profile, unit_of
from ethosgen.targets.security import check_security
from ethosgen.targets.session import Hello, RestartError, RunReply, Session
from ethosgen.targets.slots import describe_refusal
from ethosgen.targets.stack import stack_size
from ethosgen.targets.stack_bounds import StackBounds
from ethosgen.values.device import Device
from ethosgen.values.errors import ProtocolError, TargetError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Tensor
from ethosgen.values.outcome import Arrays, Outcome, Sample
from ethosgen.values.profile import Profile
from ethosgen.values.status import Status

if TYPE_CHECKING:
    from ethosgen.cycles.inference import InferenceCounter

_LOG = logging.getLogger(__name__)

_FAILURES = frozenset(Status) - {Status.OK}
_NPU_FAILURES = frozenset(status for status in Status if status.name.startswith("NPU_"))

_ANSWER_S = 60.0
"""Time limit for all requests but an inference: the firmware answers at once, but QEMU starts late
on a busy machine."""

_COUNTS = 256
"""The firmware reports its numbers of inputs and outputs in one byte each."""
_RESTARTS = 3
"""The number of restarts of a target after which a run fails."""


Progress = Callable[[int, int], None]
"""Called with the number of finished samples, and the total."""


def _silent(done: int, all_: int) -> None:
    """Report nothing: the default watch."""


def run(
    elf: Path,
    info: ProjectInfo,
    samples: Sequence[Arrays],
    *,
    on: str = "qemu",
    order: Sequence[int] = (),
    attach: Attach | None,
    line: Line | None = None,
    timeout_s: float = 120.0,
    progress: Progress = _silent,
    cache_seed: int | None = None,
    profile: bool = False,
    counter: "InferenceCounter | None" = None,
) -> Outcome:
    """Run samples through a firmware and return its outputs, counters and verdict.

    `order` names the network for each sample, by its place in `info.networks`; by default all are
    for the first. `timeout_s` is for one inference. `attach` creates the NPU model that serves the
    firmware's driver, None without an NPU. `line` is the connection to a board. With `cache_seed`,
    QEMU has a data cache that evicts lines, seeded with it (ethosgen.targets.cache). With `profile`
    each sample has the cost of each step, from a firmware that was built for it. A `counter` counts
    the cycles of each inference on QEMU. A target that
    restarts gets all samples again, from the first, because a network may have state. TargetError
    if the firmware or the target fails, NpuFault if the NPU model stopped at a command, ToolError
    if the target's program is missing.
    """
    kind = require_target(on)
    jobs = list(zip(order or [0] * len(samples), samples, strict=True))
    how = _How(kind, timeout_s, StackBounds(elf, info), profile, counter)
    with kind.start(Firmware(elf, info, attach, line, cache_seed, counter)) as target:
        session = Session(target.console, target.check, stack_bytes=stack_size(elf), elf=elf)
        for restarts in range(_RESTARTS + 1):
            try:
                done = _run_session(session, target, info, jobs, how, progress)
                break
            except RestartError as error:
                _LOG.warning("%s; starting again from the first sample", error)
                if restarts == _RESTARTS:
                    raise TargetError(
                        f"the target restarted {counted(restarts + 1, 'time')} while it ran; "
                        "check its power supply, and for a watchdog or debugger that resets it"
                    ) from None
        _end(session, target)
    return Outcome(tuple(done), ended=True)


@contextmanager
def running(
    elf: Path, info: ProjectInfo, *, on: str, attach: Attach | None, timeout_s: float = 120.0
) -> Iterator[Callable[[Sequence[Arrays]], list[Sample]]]:
    """Start a firmware for many sessions; its end is checked on leaving.

    Yields a function that runs samples of the first network in order, from its initial state to
    the end marker. Arguments and errors are those of `run`.
    """
    kind = require_target(on)
    how = _How(kind, timeout_s, StackBounds(elf, info))
    with kind.start(Firmware(elf, info, attach, None, None)) as target:
        session = Session(target.console, target.check, stack_bytes=stack_size(elf), elf=elf)

        def run_samples(samples: Sequence[Arrays]) -> list[Sample]:
            jobs = [(0, sample) for sample in samples]
            return _run_session(session, target, info, jobs, how, _silent)

        yield run_samples
        _end(session, target)


def _end(session: Session, target: Target) -> None:
    """Let the firmware end; TargetError if it then reports a failure."""
    session.bye()
    status = target.wait_for_exit()
    if status:
        raise TargetError(f"the firmware exited with status {status} after its end marker")


@dataclass(frozen=True)
class _How:
    """The setting of a run: the target's kind, the limit per sample, bounds, measurements."""

    kind: TargetKind
    timeout_s: float
    stack: StackBounds
    profile: bool = False
    counter: "InferenceCounter | None" = None


def _run_session(
    session: Session,
    target: Target,
    info: ProjectInfo,
    jobs: Sequence[tuple[int, Arrays]],
    how: _How,
    progress: Progress,
) -> list[Sample]:
    """Run all jobs (a network and a sample each), from the greeting to the end marker."""
    hello = session.hello(_ANSWER_S)
    target.settle()
    check_hello(hello, info)
    done = []
    for index, job in enumerate(jobs):
        progress(index, len(jobs))
        if how.counter is not None:
            how.counter.start()
        sample = _run_sample(session, target, hello, info, job, how)
        if how.counter is not None:
            sample = replace(sample, cpu_cycles=how.counter.last())
        if how.profile:
            steps, unit = info.networks[job[0]].steps, unit_of(info.board, how.kind, hello.ticks_hz)
            profile = read_profile(session, steps, unit, _ANSWER_S)
            sample = _profiled(sample, profile.with_cycles(sample.cpu_cycles))
        done.append(sample)
    progress(len(jobs), len(jobs))
    how.stack.compare()
    marker = session.end(_ANSWER_S)
    if (marker.runs, marker.failed) != (len(jobs), 0):
        raise TargetError(
            f"the firmware counted {counted(marker.runs, 'run')} and "
            f"{counted(marker.failed, 'failure')}, but {counted(len(jobs), 'run')} succeeded"
        )
    return done


def _profiled(sample: Sample, profile: Profile) -> Sample:
    """Return a sample with its profile; its own count then also leaves out the hooks' cost."""
    instructions = None if sample.cpu_instructions is None else profile.total
    return replace(sample, profile=profile, cpu_instructions=instructions)


def check_hello(hello: Hello, info: ProjectInfo) -> None:
    """Raise TargetError unless a firmware is the project's, and has started."""
    if hello.digest != info.digest:
        raise TargetError(
            f"the target runs firmware '{hello.name}' {hello.digest}, but the project "
            f"'{', '.join(info.names)}' is {info.digest}; build the project again"
        )
    inputs = sum(len(network.inputs) for network in info.networks)
    outputs = sum(len(network.outputs) for network in info.networks)
    counts = (len(info.networks), inputs % _COUNTS, outputs % _COUNTS)
    if (hello.networks, hello.inputs, hello.outputs) != counts:
        raise ProtocolError("the firmware's inputs or outputs differ from its project's")
    check_security(hello.security, info)
    if hello.init_status != 0:
        why = describe_refusal(hello.init_status, info)
        raise TargetError(f"the firmware could not start: {status_name(hello.init_status)}{why}")


def _run_sample(
    session: Session,
    target: Target,
    hello: Hello,
    info: ProjectInfo,
    job: tuple[int, Arrays],
    how: _How,
) -> Sample:
    index, sample = job
    kind = how.kind
    network = info.networks[index]
    for port, tensor in enumerate(network.inputs):
        content = fitting(sample, tensor).tobytes()
        memory = target.buffer(PortIndex(index, False, port))
        if memory is not None:
            memory[:] = np.frombuffer(content, np.uint8)
        else:
            session.write_input(port, content, _ANSWER_S, index)
    reply = session.run(how.timeout_s, index)
    is_whole = reply.status == Status.OK
    stack = how.stack.check(index, reply.run_stack_bytes, is_whole=is_whole)
    if reply.status not in (Status.OK, Status.NOT_READY):
        raise _explain(reply, target, network, info.devices)
    outputs = {}
    for port, tensor in enumerate(network.outputs if reply.status == 0 else ()):
        memory = target.buffer(PortIndex(index, True, port))
        if memory is not None:
            data = memory.tobytes()
        else:
            data = session.read_output(port, tensor.bytes, _ANSWER_S, index)
        outputs[tensor.name] = _output_array(data, tensor)
    if info.board.linux is not None:
        tick_ns = NANOSECONDS // hello.ticks_hz
        return Sample(outputs=outputs, run_ns=reply.cpu_ticks * tick_ns)
    if not kind.has_clock:  # its stack is not the board's either
        return Sample(outputs=outputs)
    if not kind.counts_instructions:  # on hardware the counter measures time
        return Sample(outputs=outputs, stack_bytes=reply.stack_bytes, run_stack=stack)
    ticks_per_instruction = unit_of(info.board, kind, hello.ticks_hz).ticks
    return Sample(
        outputs=outputs,
        cpu_instructions=round(reply.cpu_ticks / ticks_per_instruction),
        init_instructions=round(hello.init_ticks / ticks_per_instruction),
        stack_bytes=reply.stack_bytes,
        run_stack=stack,
        slice_instructions=round(reply.slice_ticks / ticks_per_instruction) or None,
        npu_pmu=_pmu_figures(reply, info.npu),
    )


def _output_array(data: bytes, tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.frombuffer(data, tensor.dtype).reshape(tensor.shape).copy()


def _pmu_figures(reply: RunReply, npu: str) -> dict[str, int] | None:
    """Return the PMU's figures by name; None if it did not count, for example without an NPU."""
    if not reply.npu_cycles:
        return None
    accelerator = find_accelerator(npu)
    events = driver_of(accelerator).events(accelerator)
    named = {events.get(e, f"event_{e}"): count for e, count in reply.npu_events.items()}
    return {"cycles": reply.npu_cycles, **named}


def _explain(
    reply: RunReply, target: Target, network: NetworkInfo, devices: Sequence[Device] = ()
) -> Exception:
    """Return the reason of a failed inference; the NPU's registers matter only if it failed."""
    if target.last_fault is not None:
        return target.last_fault
    what = f"the inference of '{network.name}' failed with {status_name(reply.status)}"
    if reply.status == Status.BAD_VALUE:
        return TargetError(
            f"{what}: an operator refuses an input value, such as an index outside its table "
            "or a divisor of 0; pass inputs that the network accepts with --input"
        )
    names = " or ".join(f"'{device.label}'" for device in devices)
    if reply.status == Status.DEVICE_TIMEOUT:
        return TargetError(
            f"{what}: device {names} did not finish what its driver waits for; look at the "
            f"register that the driver waits for, and at what sets it{target.device_notes(True)}"
        )
    if reply.status not in _FAILURES and devices:
        what += f", which the driver of {names} returned{target.device_notes(False)}"
    if reply.status in _NPU_FAILURES:
        what += f": NPU STATUS 0x{reply.npu_status:08x}, QREAD {reply.npu_qread}"
    return TargetError(what)


def status_name(status: int) -> str:
    """Return the C name of an inference's status."""
    return Status(status).c_name if status in _FAILURES else f"status {status}"
