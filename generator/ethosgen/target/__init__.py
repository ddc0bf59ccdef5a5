"""Targets: they run a firmware and have a console.

target (QEMU, an FVP, a board) ── console ── session ── inputs there, outputs back
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from ethosgen.host.tools import QEMU
from ethosgen.target.attachment import Attach, NpuModel, SharedMemory
from ethosgen.target.buffers import Place
from ethosgen.target.console import Console
from ethosgen.target.fvp import FvpTarget
from ethosgen.target.native import NativeTarget
from ethosgen.target.qemu import QemuTarget
from ethosgen.target.serial_port import SerialLine, SerialTarget
from ethosgen.target.session import Hello, RestartError, RunReply, Session
from ethosgen.values.errors import InputError, ProtocolError, TargetError
from ethosgen.values.grammar import counted, unknown
from ethosgen.values.model import Tensor
from ethosgen.values.outcome import Arrays, Outcome, Sample
from ethosgen.values.project_info import NetworkInfo, ProjectInfo

__all__ = [
    "STATUS_NAMES",
    "TARGETS",
    "Attach",
    "Firmware",
    "NpuModel",
    "SerialLine",
    "SharedMemory",
    "Target",
    "run",
    "way_of",
]

_LOG = logging.getLogger(__name__)

STATUS_NAMES = {
    1: "ETHOSGEN_NOT_INITIALIZED",
    2: "ETHOSGEN_BAD_BUFFER",
    3: "ETHOSGEN_NPU_NO_RESET",
    4: "ETHOSGEN_NPU_NO_ACCESS",
    5: "ETHOSGEN_NPU_OTHER_PRODUCT",
    6: "ETHOSGEN_NPU_OTHER_MACS",
    7: "ETHOSGEN_NPU_OTHER_VERSION",
    8: "ETHOSGEN_NPU_BUS_FAULT",
    9: "ETHOSGEN_NPU_PARSE_FAULT",
    10: "ETHOSGEN_NPU_WEIGHT_FAULT",
    11: "ETHOSGEN_NPU_ECC_FAULT",
    12: "ETHOSGEN_NPU_STOPPED",
    13: "ETHOSGEN_NPU_TIMEOUT",
    14: "ETHOSGEN_NPU_DRIVER",
    15: "ETHOSGEN_BAD_VALUE",
    16: "ETHOSGEN_NOT_READY",
}
"""enum ethosgen_status of the generated ethosgen_status.h."""
_BAD_VALUE = 15
_NOT_READY = 16
_NPU_FAILURES = frozenset(code for code, name in STATUS_NAMES.items() if "_NPU_" in name)

PMU_EVENTS = {
    17: "cycle",
    32: "npu_idle",
    35: "npu_active",
    48: "mac_active",
    130: "axi0_rd_data_beat_received",
    135: "axi0_wr_data_beat_written",
    386: "axi1_rd_data_beat_received",
    391: "axi1_wr_data_beat_written",
}
"""The events of Arm's enum pmu_event that the generated application counts, and similar ones."""

_NANOSECONDS = 1_000_000_000
_ANSWER_S = 10.0
"""Time limit for all requests but an inference: the firmware answers at once."""


class Target(Protocol):
    """Runs a firmware: entered to start it, left to end it and clean up."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    @property
    def console(self) -> Console:
        """The connection to the firmware."""

    @property
    def last_fault(self) -> Exception | None:
        """The fault at which the NPU model stopped, None if it did not, or if the NPU is real."""

    def check(self) -> None:
        """Raise TargetError, with the target's own output, if the target has died."""

    def settle(self) -> None:
        """Note that the firmware has answered, and so has all that it needs."""

    def buffer(self, place: Place) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
        """Return the firmware's buffer of an input or output; None to use the console."""

    def wait_for_exit(self) -> int | None:
        """Return the firmware's exit status, None if it does not exit."""


@dataclass(frozen=True)
class Firmware:
    """The data a target needs: the ELF, its project, the NPU model, and the line to a board."""

    elf: Path
    info: ProjectInfo
    attach: Attach | None = None
    line: SerialLine | None = None
    cache_seed: int | None = None


def _start_qemu(firmware: Firmware) -> Target:
    info = firmware.info
    return QemuTarget(
        QEMU.find(), firmware.elf, info.board, firmware.attach, info, firmware.cache_seed
    )


def _start_native(firmware: Firmware) -> Target:
    return NativeTarget(firmware.elf)


def _start_fvp(firmware: Firmware) -> Target:
    return FvpTarget(firmware.elf, firmware.info.board, firmware.info.npu)


def _start_serial(firmware: Firmware) -> Target:
    return SerialTarget(firmware.info.board, firmware.line)


TARGETS: Mapping[str, Callable[[Firmware], Target]] = {
    "qemu": _start_qemu,
    "fvp": _start_fvp,
    "serial": _start_serial,
    "native": _start_native,
}
"""The targets of `run`, by name; each entry makes a target for a firmware."""

_COUNTS_INSTRUCTIONS = ("qemu", "native")
_COUNTS = 256
"""The firmware reports its numbers of inputs and outputs in one byte each."""
_RESTARTS = 3
"""The number of restarts of a target before we give up."""


def way_of(on: str) -> str:
    """Return the build variant for a target: an FVP runs the board's variant."""
    return "board" if on in ("fvp", "serial") else on


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
    line: SerialLine | None = None,
    timeout_s: float = 120.0,
    progress: Progress = _silent,
    cache_seed: int | None = None,
) -> Outcome:
    """Run samples through a firmware and return its outputs, counters and verdict.

    `order` names the network for each sample, by its place in `info.networks`; by default all are
    for the first. `timeout_s` is for one inference. `attach` creates the NPU model that serves the
    firmware's driver, None without an NPU. `line` is the connection to a board. With `cache_seed`,
    QEMU has a data cache that evicts lines, seeded with it (ethosgen.target.cache). A target that
    restarts gets all samples again, from the first, because a network may have state. TargetError
    if the firmware or the target fails, NpuFault if the NPU model stopped at a command, ToolError
    if the target's program is missing.
    """
    if on not in TARGETS:
        raise InputError(unknown("target", on, TARGETS))
    counts = on in _COUNTS_INSTRUCTIONS
    jobs = list(zip(order or [0] * len(samples), samples, strict=True))
    with TARGETS[on](Firmware(elf, info, attach, line, cache_seed)) as target:
        session = Session(target.console, target.check)
        for restarts in range(_RESTARTS + 1):
            try:
                done = _run_session(session, target, info, jobs, timeout_s, progress, counts)
                break
            except RestartError as error:
                _LOG.warning("%s; starting again from the first sample", error)
                if restarts == _RESTARTS:
                    raise TargetError(
                        f"the target restarted {counted(restarts + 1, 'time')} while it ran; "
                        "check its power supply, and for a watchdog or debugger that resets it"
                    ) from None
        session.bye()
        status = target.wait_for_exit()
        if status:
            raise TargetError(f"the firmware exited with status {status} after its end marker")
    return Outcome(tuple(done), ended=True)


def _run_session(
    session: Session,
    target: Target,
    info: ProjectInfo,
    jobs: Sequence[tuple[int, Arrays]],
    timeout_s: float,
    progress: Progress,
    counts: bool,
) -> list[Sample]:
    """Run all jobs (a network and a sample each), from the greeting to the end marker."""
    hello = session.hello(_ANSWER_S)
    target.settle()
    _check_hello(hello, info)
    done = []
    for index, job in enumerate(jobs):
        progress(index, len(jobs))
        done.append(_run_sample(session, target, hello, info, job, timeout_s, counts))
    progress(len(jobs), len(jobs))
    marker = session.end(_ANSWER_S)
    if (marker.runs, marker.failed) != (len(jobs), 0):
        raise TargetError(
            f"the firmware counted {counted(marker.runs, 'run')} and "
            f"{counted(marker.failed, 'failure')}, but {counted(len(jobs), 'run')} succeeded"
        )
    return done


def _check_hello(hello: Hello, info: ProjectInfo) -> None:
    if hello.digest != info.digest:
        raise TargetError(
            f"the target runs firmware '{hello.name}' {hello.digest}, but the project "
            f"'{', '.join(info.names)}' is {info.digest}; build the project again"
        )
    inputs = sum(len(network.inputs) for network in info.networks) % _COUNTS
    outputs = sum(len(network.outputs) for network in info.networks) % _COUNTS
    counts = (len(info.networks), inputs % 256, outputs % 256)  # hello has a byte for each
    if (hello.networks, hello.inputs, hello.outputs) != counts:
        raise ProtocolError("the firmware's inputs or outputs differ from its project's")
    if hello.init_status != 0:
        raise TargetError(f"the firmware could not start: {_status_name(hello.init_status)}")


def _run_sample(
    session: Session,
    target: Target,
    hello: Hello,
    info: ProjectInfo,
    job: tuple[int, Arrays],
    timeout_s: float,
    counts: bool,
) -> Sample:
    index, sample = job
    network = info.networks[index]
    for port, tensor in enumerate(network.inputs):
        given, memory = _input_bytes(sample, tensor), target.buffer(Place(index, False, port))
        if memory is not None:
            memory[:] = np.frombuffer(given, np.uint8)
        else:
            session.write_input(port, given, _ANSWER_S, index)
    reply = session.run(timeout_s, index)
    if reply.status not in (0, _NOT_READY):
        raise _explain(reply, target, network)
    outputs = {}
    for port, tensor in enumerate(network.outputs if reply.status == 0 else ()):
        memory = target.buffer(Place(index, True, port))
        if memory is not None:
            data = memory.tobytes()
        else:
            data = session.read_output(port, tensor.bytes, _ANSWER_S, index)
        outputs[tensor.name] = _output_array(data, tensor)
    if not counts:  # on hardware the counter measures time
        return Sample(outputs=outputs, stack_bytes=reply.stack_bytes)
    instruction_ns = info.board.run.qemu.instruction_ns if info.board.run.qemu else 1
    ticks_per_instruction = hello.ticks_hz * instruction_ns / _NANOSECONDS
    return Sample(
        outputs=outputs,
        cpu_instructions=round(reply.cpu_ticks / ticks_per_instruction),
        init_instructions=round(hello.init_ticks / ticks_per_instruction),
        stack_bytes=reply.stack_bytes,
        npu_pmu=_pmu_figures(reply),
    )


def _input_bytes(sample: Arrays, tensor: Tensor) -> bytes:
    array = sample.get(tensor.name)
    if array is None:
        raise InputError(f"input '{tensor.name}' is missing; found: {', '.join(sample)}")
    if array.shape != tensor.shape or array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"input '{tensor.name}' is {array.dtype} {array.shape}, but the network expects "
            f"{tensor.dtype} {tensor.shape}"
        )
    return np.ascontiguousarray(array).tobytes()


def _output_array(data: bytes, tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.frombuffer(data, tensor.dtype).reshape(tensor.shape).copy()


def _pmu_figures(reply: RunReply) -> dict[str, int] | None:
    """Return the PMU's figures by name; None if it did not count, for example without an NPU."""
    if not reply.npu_cycles:
        return None
    named = {PMU_EVENTS.get(e, f"event_{e}"): count for e, count in reply.npu_events.items()}
    return {"cycles": reply.npu_cycles, **named}


def _explain(reply: RunReply, target: Target, network: NetworkInfo) -> Exception:
    """Return the reason of a failed inference; the NPU's registers matter only if it failed."""
    if target.last_fault is not None:
        return target.last_fault
    what = f"the inference of '{network.name}' failed with {_status_name(reply.status)}"
    if reply.status == _BAD_VALUE:
        return TargetError(
            f"{what}: an operator refuses an input value, such as an index outside its table "
            "or a divisor of 0; pass inputs that the network accepts with --input"
        )
    if reply.status in _NPU_FAILURES:
        what += f": NPU STATUS 0x{reply.npu_status:08x}, QREAD {reply.npu_qread}"
    return TargetError(what)


def _status_name(status: int) -> str:
    return STATUS_NAMES.get(status, f"status {status}")
