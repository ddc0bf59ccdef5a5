"""Reads a firmware's counts of each step, in the unit of its clock."""

from collections.abc import Sequence

from ethosgen.board import Board
from ethosgen.targets.kinds import TargetKind
from ethosgen.targets.session import Session
from ethosgen.values.errors import InputError, ProtocolError, TargetError
from ethosgen.values.profile import Profile, ProgramStep, Unit, make_profile

NANOSECONDS = 1_000_000_000


def unit_of(board: Board, kind: TargetKind, ticks_hz: int) -> Unit:
    """Return the unit of a firmware's clock on a target.

    `ticks_hz` is its rate in the firmware. On QEMU the board file decides: for some of QEMU's
    machines Zephyr names another rate, or reads another clock.
    """
    if board.linux is not None:
        return Unit("nanoseconds", ticks_hz / NANOSECONDS)
    if kind.counts_instructions:
        emulated = board.on_qemu
        qemu = emulated.run.qemu if emulated else None
        instruction_ns = qemu.instruction_ns if qemu else 1
        counter = emulated.counter if emulated else None
        if ticks_hz * instruction_ns == NANOSECONDS:
            return Unit("instructions", 1.0)  # the firmware divides itself: see board_ticks()
        is_zephyrs = any(ticks_hz == known.counter_hz for known in board.run.zephyr)
        hz = ticks_hz if is_zephyrs or counter is None else counter.hz
        return Unit("instructions", hz * instruction_ns / NANOSECONDS)
    counter = board.counter
    # An operating system may use another clock than the board file's counter.
    in_processor = counter and counter.kind in ("dwt", "systick") and counter.hz == ticks_hz
    is_cycles = in_processor or ticks_hz == board.cpu.clock_hz
    return Unit("cycles" if is_cycles else f"ticks at {ticks_hz:,} Hz", 1.0)


def read_profile(
    session: Session, steps: Sequence[ProgramStep], unit: Unit, timeout_s: float
) -> Profile:
    """Return the profile of the last run.

    InputError if the firmware was not built for it, TargetError if its counter does not advance.
    """
    try:
        reply = session.profile(len(steps), timeout_s)
    except ProtocolError as error:
        raise InputError(
            f"the firmware has no profile ({error}); build it with: ethosgen build DIR --profile"
        ) from None
    if not reply.hook_ticks and not any(count.ticks for count in (reply.outside, *reply.steps)):
        raise TargetError(
            "the firmware's counter does not advance: the processor may lack it (not every DWT "
            "counts cycles), or a debugger has stopped it; choose another [counter] in the "
            "board file"
        )
    hook = reply.hook_ticks / reply.hook_calls
    return make_profile(steps, unit, reply.outside, reply.steps, hook)
