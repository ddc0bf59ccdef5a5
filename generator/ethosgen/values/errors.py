"""The one tree of errors that a user may see.

An EthosgenError is an answer: one sentence that says what is wrong, where, and what to do. The
command line prints it and exits with `exit_status`. Anything else that escapes is a bug of ours:
the command line says so in one sentence, keeps the traceback in a file, and exits with BUG_STATUS.
"""

from collections.abc import Mapping
from pathlib import Path

BUG_STATUS = 70
"""Exit status of an internal error, EX_SOFTWARE of sysexits.h: not that of a FAIL, which is 1."""


class InternalError(Exception):
    """A bug of ours that is known by the operator where it shows; its cause is __cause__."""


class EthosgenError(Exception):
    """Base of every error that is the user's to mend."""

    exit_status = 1


class InputError(EthosgenError):
    """A file, an option or an array that cannot be used."""

    exit_status = 2


def cannot_write(path: Path, error: OSError) -> InputError:
    """Return the error of a file or folder that the system does not let us write."""
    return InputError(
        f"cannot write '{path}': {error.strerror or error}; choose a place that you may write to "
        "and that has room"
    )


class UnsupportedError(InputError):
    """A well-formed network that this version cannot compile."""


class RefusalError(UnsupportedError):
    """A network that Vela refuses as a whole, perhaps for one operator; `why` are its words."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(message)
        self.why = why


class CapacityError(InputError):
    """A network that does not fit the board's memories.

    `overflows` are memories and the bytes that they lack, where the linker found it.
    """

    def __init__(self, message: str, overflows: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.overflows = dict(overflows or {})


class ToolError(EthosgenError):
    """An external program that is missing or unusable."""

    exit_status = 3


class BuildError(EthosgenError):
    """The compiler or linker refused the generated project."""

    exit_status = 4


class TargetError(EthosgenError):
    """A target that died, hung or answered nonsense."""

    exit_status = 5


class ProtocolError(TargetError):
    """A console conversation that could not be repaired by retrying."""


class NpuFault(EthosgenError):  # noqa: N818 - the manual's word, not ours
    """A fault of the NPU model: what the command stream did wrong, and where.

    `kind` is the STATUS bit that reports it: "bus" (bus_status), "parse" (cmd_parse_error),
    "weights" (wd_fault, of the weight decoder), or "timeout" (the model's own limit). `offset` is
    the byte offset of the command in its stream, `command` its name in Arm's register description.
    """

    exit_status = 6

    def __init__(self, kind: str, message: str, offset: int = 0, command: str = "?") -> None:
        super().__init__(f"NPU fault at stream offset 0x{offset:x} ({command}): {message}")
        self.kind = kind
        self.offset = offset
        self.command = command
        self.reason = message
