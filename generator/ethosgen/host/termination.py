"""Ends the process in order on a signal: removes temporary folders, ends children."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = ("SIGTERM", "SIGHUP")


class Terminated(BaseException):
    """A signal asked this process to end; like KeyboardInterrupt, it unwinds everything."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_status(self) -> int:
        """The status that a shell reports for a process ended by this signal."""
        return 128 + self.number


class _Hold:
    """Whether signals are postponed now, and the one that arrived meanwhile."""

    depth = 0
    pending: int | None = None


def end_in_order() -> None:
    """Let signals that end this process raise Terminated; ignored signals stay ignored.

    Ctrl-C raises KeyboardInterrupt, as before.
    """
    for name in _SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _receive)
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _receive)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Postpone signals until the block ends.

    If the exception arrives before subprocess.Popen returns, the program that it has started is
    lost: it is never ended, and keeps writing into a folder that is being removed.
    """
    _Hold.depth += 1
    try:
        yield
    finally:
        _Hold.depth -= 1
        if not _Hold.depth and _Hold.pending is not None:
            number, _Hold.pending = _Hold.pending, None
            _raise(number)


def _receive(number: int, _frame: FrameType | None) -> None:
    if _Hold.depth:
        _Hold.pending = number
    else:
        _raise(number)


def _raise(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the clean-up
    raise Terminated(number)
