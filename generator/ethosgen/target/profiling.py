"""Reads what a firmware counted in each step, in the unit of its clock."""

from collections.abc import Sequence

from ethosgen.board import Board
from ethosgen.target.kinds import TargetKind
from ethosgen.target.session import Session
from ethosgen.values.errors import InputError, ProtocolError
from ethosgen.values.profile import Profile, ProgramStep, Unit, make_profile

NANOSECONDS = 1_000_000_000


def unit_of(board: Board, kind: TargetKind, ticks_hz: int) -> Unit:
    """Return the unit of a firmware's clock on a target; it has `ticks_hz` ticks a second."""
    if board.linux is not None:
        return Unit("nanoseconds", ticks_hz / NANOSECONDS)
    if kind.counts_instructions:
        emulated = board.on_qemu
        qemu = emulated.run.qemu if emulated else None
        instruction_ns = qemu.instruction_ns if qemu else 1
        return Unit("instructions", ticks_hz * instruction_ns / NANOSECONDS)
    in_processor = board.counter is not None and board.counter.kind in ("dwt", "systick")
    is_cycles = in_processor or ticks_hz == board.cpu.clock_hz
    return Unit("cycles" if is_cycles else f"ticks at {ticks_hz:,} Hz", 1.0)


def read_profile(
    session: Session, steps: Sequence[ProgramStep], unit: Unit, timeout_s: float
) -> Profile:
    """Return the profile of the last run; InputError if the firmware was not built for it."""
    try:
        reply = session.profile(len(steps), timeout_s)
    except ProtocolError as error:
        raise InputError(
            f"the firmware has no profile ({error}); build it with: ethosgen build DIR --profile"
        ) from None
    hook = reply.hook_ticks / reply.hook_calls
    return make_profile(steps, unit, reply.outside, reply.steps, hook)
