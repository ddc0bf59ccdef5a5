"""An orderly end by a signal: temporary folders and shared memory go, children are ended."""

import signal
from types import FrameType

_SIGNALS = ("SIGTERM", "SIGHUP")


class Terminated(BaseException):
    """A signal asked this process to end; it unwinds everything, as KeyboardInterrupt does."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_status(self) -> int:
        """The status that a shell reports for a process which a signal ended."""
        return 128 + self.number


def end_in_order() -> None:
    """Let signals that end this process raise Terminated; those that are ignored stay ignored."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _raise)


def _raise(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one must not cut the clean-up short
    raise Terminated(number)
