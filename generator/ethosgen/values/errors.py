"""The tree of all errors that a user may see.

An EthosgenError is an answer: one sentence with the error, its place, and the remedy. The command
line prints it and exits with `exit_status`; `ethosgen explain` describes each `code`. Any other
exception that escapes is a bug: the command line says so in one sentence, keeps the traceback in a
file, and exits with BUG_STATUS.
"""

from collections.abc import Mapping
from pathlib import Path

BUG_STATUS, BUG_CODE = 70, "bug"
"""Exit status of an internal error: EX_SOFTWARE of sysexits.h, distinct from 1 for FAIL."""


class InternalError(Exception):
    """A bug in ethosgen, located at the operator where it appears; __cause__ has the cause."""


class EthosgenError(Exception):
    """Base of every error that the user can fix."""

    code = "error"
    exit_status = 1


class InputError(EthosgenError):
    """An unusable file, option or array."""

    code = "input"
    exit_status = 2


def cannot_write(path: Path, error: OSError) -> InputError:
    """Return the error for a file or folder that cannot be written."""
    return InputError(
        f"cannot write '{path}': {error.strerror or error}; choose a writable place that has room"
    )


def reason_of(error: Exception) -> str:
    """Return why a file cannot be read, without the number of the system's error."""
    return getattr(error, "strerror", None) or str(error)


class UnsupportedError(InputError):
    """A well-formed network that this version cannot compile."""

    code = "unsupported"


class RefusalError(UnsupportedError):
    """A network that a compiler refuses as a whole, perhaps for one operator; `why` quotes it."""

    code = "refused"

    def __init__(self, message: str, why: str) -> None:
        super().__init__(message)
        self.why = why


class CapacityError(InputError):
    """A network that does not fit the board's memories.

    `overflows` maps memories to the bytes that they lack, if the linker found it.
    """

    code = "capacity"

    def __init__(self, message: str, overflows: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.overflows = dict(overflows or {})


class ToolError(EthosgenError):
    """A missing or unusable external program."""

    code = "tool"
    exit_status = 3


class BuildError(EthosgenError):
    """The compiler or linker refused the generated project."""

    code = "build"
    exit_status = 4


class TargetError(EthosgenError):
    """A target that crashed, hung or gave invalid answers."""

    code = "target"
    exit_status = 5


class ProtocolError(TargetError):
    """A console conversation that retries could not repair."""

    code = "protocol"


class NpuFault(EthosgenError):  # noqa: N818 - the term of Arm's manual
    """A fault of the NPU model: the command stream's error, and its place.

    `kind` is the STATUS bit that reports it: "bus" (bus_status), "parse" (cmd_parse_error),
    "weights" (wd_fault, the weight decoder's), "branch" (U85's branch_fault); or it is the model's
    own: "timeout", or "bool" (a value other than 0 and 1 for the CPU, which no STATUS bit reports).
    `offset` is the byte offset of the command in its stream, `command` its name in Arm's register
    description.
    """

    code = "npu-fault"
    exit_status = 6

    def __init__(self, kind: str, message: str, offset: int = 0, command: str = "?") -> None:
        super().__init__(f"NPU fault at stream offset 0x{offset:x} ({command}): {message}")
        self.kind = kind
        self.offset = offset
        self.command = command
        self.reason = message


class AcceleratorFault(EthosgenError):  # noqa: N818 - as NpuFault
    """A wrapped accelerator that crashed, hung or returned a status on this machine."""

    code = "accelerator-fault"
    exit_status = 6


class DeviceFault(EthosgenError):  # noqa: N818 - as NpuFault
    """A fault of the functional model of a user's device.

    `kind` is "memory" or "register" (an access outside), "raised", "died", "late" (no answer),
    or "silent" (no interrupt).
    """

    code = "device-fault"
    exit_status = 6

    def __init__(self, device: str, kind: str, reason: str) -> None:
        super().__init__(f"the model of device '{device}' failed: {reason}")
        self.device = device
        self.kind = kind
        self.reason = reason
